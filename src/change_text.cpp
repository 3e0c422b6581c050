#include <weir/base64.hpp>
#include <weir/change_text.hpp>
#include <weir/utf8.hpp>

#include <array>
#include <charconv>
#include <chrono>
#include <limits>
#include <utility>

namespace weir {

namespace {

std::optional<log_event> read_event(std::string_view name) {
  if (name == "epoch")
    return log_event::epoch;
  if (name == "position")
    return log_event::position;
  return std::nullopt;
}

void append_number(std::string& out, std::uint64_t number) {
  std::array<char, 20> digits{};
  const auto [end, failure] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  static_cast<void>(failure); // twenty digits are enough for any
  out.append(digits.data(), end);
}

void append_hex(std::string& out, std::string_view bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  for (const auto one : bytes) {
    out += digits[static_cast<unsigned char>(one) >> 4U];
    out += digits[static_cast<unsigned char>(one) & 0xFU];
  }
}

/// The stamp that append_hex wrote; absent if it is none.
std::optional<stamp> read_stamp(std::string_view digits) {
  if (digits.size() % 2 != 0 || digits.size() > 2 * stamp::max_size)
    return std::nullopt;
  std::string bytes;
  for (std::size_t at = 0; at < digits.size(); at += 2) {
    unsigned value = 0;
    const auto [end, failure] = std::from_chars(digits.data() + at, digits.data() + at + 2, value, 16);
    if (failure != std::errc{} || end != digits.data() + at + 2)
      return std::nullopt;
    bytes += static_cast<char>(value);
  }
  return stamp::from(bytes).value();
}

/// `number` with leading zeros, `width` digits wide.
void append_padded(std::string& out, std::uint64_t number, std::size_t width) {
  out.append(width, '0');
  for (auto at = out.size(); number != 0; number /= 10)
    out[--at] = static_cast<char>('0' + number % 10);
}

/// A member of bytes: as a string if they are UTF-8, else as base64 under its other name.
void append_bytes(std::string& out, std::string_view name, std::string_view bytes) {
  out += ",\"";
  out += name;
  if (is_utf8(bytes)) {
    out += "\":";
    append_json_string(out, bytes);
  } else {
    out += "_base64\":\"";
    append_base64(out, bytes);
    out += '"';
  }
}

void append_payload(std::string& out, std::string_view payload) {
  if (is_json_on_one_line(payload)) {
    out += ",\"payload\":";
    out += payload;
  } else {
    out += ",\"payload_base64\":\"";
    append_base64(out, payload);
    out += '"';
  }
}

void append_headers(std::string& out, const envelope& change) {
  out += ",\"headers\":";
  auto separator = '{';
  for (const auto& [name, value] : change.headers) {
    out += separator;
    append_json_string(out, name);
    out += ':';
    append_json_string(out, value);
    separator = ',';
  }
  out += '}';
}

void append_start(std::string& out, const position& at) {
  out += log_line_start;
  append_number(out, at.epoch);
  out += ",\"seq\":";
  append_number(out, at.seq);
}

void append_origin(std::string& out, const position& at, std::string_view pipeline) {
  out += ",\"stamp\":\"";
  append_hex(out, at.stamp.bytes());
  out += '"';
  if (at.time != 0) {
    out += ",\"time\":\"";
    append_time(out, at.time);
    out += '"';
  }
  if (!pipeline.empty()) {
    out += ",\"pipeline\":";
    append_json_string(out, pipeline);
  }
}

void append_end(std::string& out, const position& at) {
  out += at.ends_transaction ? ",\"ends_transaction\":true}\n" : "}\n";
}

/// Reads the object that begins here, member by member. `read(name)` steps over the member's value and returns whether it
/// could.
template <class F>
bool read_members(json_cursor& cursor, std::string& name, F&& read) {
  if (!cursor.take('{', "a JSON object"))
    return false;
  cursor.skip_space();
  if (cursor.peek() == '}')
    return cursor.take('}', "}");
  for (;;) {
    if (!cursor.read_string(name))
      return false;
    cursor.skip_space();
    if (!cursor.take(':', "a colon after the member's name"))
      return false;
    cursor.skip_space();
    if (!read(name))
      return false;
    cursor.skip_space();
    if (cursor.peek() == '}')
      return cursor.take('}', "}");
    if (!cursor.take(',', "a comma or }"))
      return false;
    cursor.skip_space();
  }
}

/// Gathers the members of one input line.
class change_reader {
public:
  explicit change_reader(std::string_view line) noexcept : cursor_{line} {}

  change_line read() {
    cursor_.skip_space();
    if (cursor_.at_end())
      return {};
    if (!read_members(cursor_, name_, [this](std::string_view name) { return read_member(name); }))
      return faulty(fault_ ? *fault_ : cursor_.fault());
    const auto end = cursor_.offset();
    cursor_.skip_space();
    if (!cursor_.at_end())
      return faulty({cursor_.offset(), "nothing after the object"});
    if (has_event_ && !operation_)
      return {};
    if (const auto missing = what_is_missing(); !missing.empty())
      return faulty({end - 1, missing});
    change_.operation = *operation_;
    if (*operation_ == operation::erase) {
      if (change_.payload && *change_.payload != "null")
        return faulty({end - 1, "no payload on a delete"});
      change_.payload.reset();
    }
    return {std::move(change_), std::nullopt};
  }

private:
  static change_line faulty(json_fault fault) { return {std::nullopt, fault}; }

  bool fail(std::size_t at, std::string_view expected) noexcept {
    fault_ = {at, expected};
    return false;
  }

  std::string_view what_is_missing() const noexcept {
    if (!has_collection_)
      return "a member \"collection\"";
    if (!has_key_)
      return "a member \"key\" or \"key_base64\"";
    if (!operation_)
      return "a member \"op\"";
    if (*operation_ == operation::upsert && !change_.payload)
      return "a member \"payload\" or \"payload_base64\" on an upsert";
    return {};
  }

  bool read_member(std::string_view name) {
    if (name == "collection")
      return read_text(change_.collection, has_collection_, "no second collection") && check_collection();
    if (name == "collection_base64")
      return read_base64(change_.collection, has_collection_, "no second collection") && check_collection();
    if (name == "key")
      return read_text(change_.key, has_key_, "no second key");
    if (name == "key_base64")
      return read_base64(change_.key, has_key_, "no second key");
    if (name == "op")
      return read_operation();
    if (name == "payload")
      return read_payload();
    if (name == "payload_base64")
      return read_base64(change_.payload.emplace(), has_payload_, "no second payload");
    if (name == "headers")
      return read_headers();
    if (name == "event")
      has_event_ = true;
    return cursor_.skip_value();
  }

  bool check_collection() noexcept {
    return !change_.collection.empty() || fail(cursor_.offset() - 1, "a collection's name that is not empty");
  }

  bool note(bool& has_it, std::string_view no_second) noexcept {
    return !std::exchange(has_it, true) || fail(cursor_.offset(), no_second);
  }

  bool read_text(std::string& into, bool& has_it, std::string_view no_second) {
    return note(has_it, no_second) && cursor_.read_string(into);
  }

  bool read_base64(std::string& into, bool& has_it, std::string_view no_second) {
    const auto begin = cursor_.offset();
    if (!read_text(into, has_it, no_second))
      return false;
    auto bytes = decode_base64(into);
    if (!bytes)
      return fail(begin, "standard base64 with padding");
    into = std::move(*bytes);
    return true;
  }

  bool read_operation() {
    const auto begin = cursor_.offset();
    std::string text;
    if (!read_text(text, has_operation_, "no second op"))
      return false;
    if (text == "upsert")
      operation_ = operation::upsert;
    else if (text == "delete")
      operation_ = operation::erase;
    else
      return fail(begin, "\"upsert\" or \"delete\"");
    return true;
  }

  bool read_payload() {
    const auto begin = cursor_.offset();
    if (!note(has_payload_, "no second payload") || !cursor_.skip_value())
      return false;
    change_.payload = cursor_.between(begin, cursor_.offset());
    return true;
  }

  bool read_headers() {
    if (!note(has_headers_, "no second headers"))
      return false;
    std::string name;
    return read_members(cursor_, name, [&](const std::string& header) {
      auto& [header_name, value] = change_.headers.emplace_back(header, std::string{});
      return cursor_.read_string(value);
    });
  }

  json_cursor cursor_;
  std::string name_;
  std::optional<json_fault> fault_;
  envelope change_;
  std::optional<operation> operation_;
  bool has_collection_ = false;
  bool has_key_ = false;
  bool has_operation_ = false;
  bool has_payload_ = false;
  bool has_headers_ = false;
  bool has_event_ = false;
};

} // namespace

void append_time(std::string& out, std::int64_t time) {
  using namespace std::chrono;
  const auto whole = floor<seconds>(nanoseconds{time});
  const auto day = floor<days>(whole);
  const year_month_day date{sys_days{day}};
  const hh_mm_ss clock{whole - day};
  append_padded(out, static_cast<std::uint64_t>(static_cast<int>(date.year())), 4); // 1677 to 2262
  const auto append_part = [&](char separator, std::uint64_t number) {
    out += separator;
    append_padded(out, number, 2);
  };
  append_part('-', static_cast<unsigned>(date.month()));
  append_part('-', static_cast<unsigned>(date.day()));
  append_part('T', static_cast<std::uint64_t>(clock.hours().count()));
  append_part(':', static_cast<std::uint64_t>(clock.minutes().count()));
  append_part(':', static_cast<std::uint64_t>(clock.seconds().count()));
  constexpr std::int64_t second = 1'000'000'000;
  const auto fraction = static_cast<std::uint64_t>((time % second + second) % second);
  if (fraction != 0) {
    out += '.';
    if (fraction % 1'000'000 == 0)
      append_padded(out, fraction / 1'000'000, 3);
    else if (fraction % 1'000 == 0)
      append_padded(out, fraction / 1'000, 6);
    else
      append_padded(out, fraction, 9);
  }
  out += 'Z';
}

void append_change(
  std::string& out, const position& at, std::uint64_t index, const envelope& change, std::string_view pipeline) {
  append_start(out, at);
  out += ",\"index\":";
  append_number(out, index);
  append_origin(out, at, pipeline);
  append_bytes(out, "collection", change.collection);
  append_bytes(out, "key", change.key);
  out += change.operation == operation::upsert ? ",\"op\":\"upsert\"" : ",\"op\":\"delete\"";
  if (change.operation == operation::upsert && change.payload)
    append_payload(out, *change.payload);
  if (!change.headers.empty())
    append_headers(out, change);
  append_end(out, at);
}

change_place place_of(log_event what, const position& at) noexcept {
  change_place place{at.epoch, at.seq, std::nullopt};
  if (what == log_event::position && at.ends_transaction)
    place.index = std::numeric_limits<std::uint64_t>::max();
  return place;
}

void append_event(std::string& out, log_event what, const position& at, std::string_view pipeline) {
  append_start(out, at);
  out += what == log_event::epoch ? ",\"event\":\"epoch\"" : ",\"event\":\"position\"";
  append_origin(out, at, pipeline);
  append_end(out, at);
}

std::optional<log_line> read_log_line(std::string_view line) {
  if (!line.starts_with(log_line_start))
    return std::nullopt;
  json_cursor cursor{line};
  log_line found;
  auto has_seq = false;
  std::optional<log_event> event;
  std::string name;
  std::string text;
  found.at.ends_transaction = false;
  const auto is_read = read_members(cursor, name, [&](std::string_view member) {
    if (member == "epoch")
      return cursor.read_number(found.at.epoch);
    if (member == "seq")
      return has_seq = cursor.read_number(found.at.seq);
    if (member == "index")
      return cursor.read_number(found.place.index.emplace());
    if (member == "stamp") {
      const auto stamp = cursor.read_string(text) ? read_stamp(text) : std::nullopt;
      found.at.stamp = stamp.value_or(weir::stamp{});
      return stamp.has_value();
    }
    if (member == "event")
      return cursor.read_string(text) && (event = read_event(text));
    if (member == "pipeline")
      return cursor.read_string(found.pipeline);
    found.at.ends_transaction = found.at.ends_transaction || member == "ends_transaction";
    return cursor.skip_value();
  });
  if (!is_read || !cursor.at_end() || !has_seq || event.has_value() == found.place.index.has_value())
    return std::nullopt;
  found.place = event ? place_of(*event, found.at) : change_place{found.at.epoch, found.at.seq, found.place.index};
  return found;
}

change_line read_change(std::string_view line) {
  return change_reader{line}.read();
}

} // namespace weir
