#include <weir/base85.hpp>
#include <weir/bus_text.hpp>

#include "excerpt.hpp"
#include "hex_text.hpp"

#include <algorithm>
#include <charconv>

namespace weir {

namespace {

constexpr std::string_view magic = "W1";
constexpr std::string_view nothing = ".";

static_assert(base85_size(max_bus_topic) + base85_size(max_hint_bytes) + 2 * std::size_t{20} + 200 < max_bus_text);

void add_text(std::string& out, std::string_view bytes) {
  out += ' ';
  if (bytes.empty())
    out += nothing;
  else
    append_base85(out, bytes);
}

void add(std::string& out, std::uint64_t number) {
  out += ' ' + std::to_string(number);
}

void add_time(std::string& out, std::int64_t at) {
  out += ' ' + std::to_string(at);
}

void add(std::string& out, bus_id id) {
  out += ' ';
  detail::append_hex(out, id.number, 16);
}

std::string begin(char kind) {
  return std::string{magic} + kind;
}

/// Reads fields one behind the other; what is not as it was written makes it fail.
class reader {
public:
  explicit reader(std::string_view text) noexcept : rest_{text} {}

  bool has_failed() const noexcept { return has_failed_; }
  bool is_at_end() const noexcept { return rest_.empty(); }

  std::string_view field() {
    if (rest_.size() < 2 || rest_[0] != ' ' || rest_[1] == ' ') {
      has_failed_ = true;
      return {};
    }
    rest_.remove_prefix(1);
    const auto taken = rest_.substr(0, rest_.find(' '));
    rest_.remove_prefix(taken.size());
    return taken;
  }

  std::uint64_t number() { return number_in<std::uint64_t>(field()); }
  std::int64_t time() { return number_in<std::int64_t>(field()); }

  bus_id id() {
    const auto digits = field();
    bus_id read;
    if (digits.size() != 16)
      has_failed_ = true;
    for (const auto one : digits) {
      const auto value = detail::hex_value(one);
      if (value < 0 || (one >= 'A' && one <= 'F'))
        has_failed_ = true;
      read.number = read.number << 4U | static_cast<std::uint64_t>(value < 0 ? 0 : value);
    }
    return read;
  }

  std::string bytes() { return bytes_in(field()); }

  std::string bytes_in(std::string_view text) {
    if (text == nothing)
      return {};
    auto read = decode_base85(text);
    if (!read || read->empty())
      has_failed_ = true;
    return read ? std::move(*read) : std::string{};
  }

  template <class T>
  T number_in(std::string_view digits) {
    T read{};
    const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), read);
    if (failure != std::errc{} || end != digits.data() + digits.size() || std::to_string(read) != digits)
      has_failed_ = true;
    return read;
  }

  void fail() noexcept { has_failed_ = true; }

private:
  std::string_view rest_;
  bool has_failed_ = false;
};

hint_text read_hint(reader& from) {
  hint_text one;
  one.topic = from.bytes();
  if (!check_bus_topic(one.topic))
    from.fail();
  one.at.publisher = from.id();
  one.at.number = from.number();
  one.at.on_topic = from.number();
  one.at.published_at = from.time();
  if (one.at.on_topic == 0 || one.at.on_topic > one.at.number)
    from.fail();
  one.key = from.field();
  one.payload = from.field();
  return one;
}

bus_beacon read_beacon(reader& from) {
  bus_beacon one;
  one.publisher = from.id();
  one.number = from.number();
  const auto interval = from.time();
  constexpr std::int64_t longest = 3'600'000;
  if (interval < 1 || interval > longest)
    from.fail();
  one.interval = std::chrono::milliseconds{interval};
  one.at = from.time();
  return one;
}

bus_ask read_ask(reader& from) {
  bus_ask one;
  one.asker = from.id();
  one.number = from.number();
  one.publisher = from.id();
  one.since = from.number();
  return one;
}

bus_answer read_answer(reader& from) {
  bus_answer one;
  one.publisher = from.id();
  one.number = from.number();
  one.since = from.number();
  auto parts = from.field();
  one.has_forgotten = parts.ends_with('x');
  parts.remove_suffix(one.has_forgotten ? 1 : 0);
  const auto slash = std::min(parts.find('/'), parts.size());
  one.part = from.number_in<std::uint32_t>(parts.substr(0, slash));
  one.parts = from.number_in<std::uint32_t>(parts.substr(std::min(slash + 1, parts.size())));
  if (one.part >= one.parts)
    from.fail();
  while (!from.is_at_end() && !from.has_failed()) {
    const auto both = from.field();
    const auto colon = both.find(':');
    if (colon == std::string_view::npos) {
      from.fail();
      break;
    }
    auto topic = from.bytes_in(both.substr(0, colon));
    const auto number = from.number_in<std::uint64_t>(both.substr(colon + 1));
    if (!check_bus_topic(topic) || number == 0)
      from.fail();
    one.topics.emplace_back(std::move(topic), number);
  }
  return one;
}

bus_leave read_leave(reader& from) {
  bus_leave one;
  one.publisher = from.id();
  one.number = from.number();
  one.at = from.time();
  return one;
}

error corrupt(std::string_view text) {
  return error{errc::corrupt, "that is nothing that a bus says", {{"text", detail::excerpt(text)}}};
}

} // namespace

std::string encode_hint(std::string_view topic, std::string_view key, std::string_view payload, const hint_place& at) {
  auto out = begin('h');
  out.reserve(base85_size(topic.size()) + base85_size(key.size()) + base85_size(payload.size()) + 100);
  add_text(out, topic);
  add(out, at.publisher);
  add(out, at.number);
  add(out, at.on_topic);
  add_time(out, at.published_at);
  add_text(out, key);
  add_text(out, payload);
  return out;
}

std::string encode(const bus_beacon& one) {
  auto out = begin('b');
  add(out, one.publisher);
  add(out, one.number);
  add_time(out, one.interval.count());
  add_time(out, one.at);
  return out;
}

std::string encode(const bus_ask& one) {
  auto out = begin('a');
  add(out, one.asker);
  add(out, one.number);
  add(out, one.publisher);
  add(out, one.since);
  return out;
}

std::string encode(const bus_leave& one) {
  auto out = begin('l');
  add(out, one.publisher);
  add(out, one.number);
  add_time(out, one.at);
  return out;
}

std::vector<std::string> encode(const bus_answer& whole) {
  constexpr std::size_t reserved = 100; // for what stands in front
  std::vector<std::string> lists(1);
  for (const auto& [topic, number] : whole.topics) {
    std::string both;
    add_text(both, topic);
    both += ':' + std::to_string(number);
    if (lists.back().size() + both.size() + reserved > max_bus_text)
      lists.emplace_back();
    lists.back() += both;
  }
  std::vector<std::string> parts;
  for (const auto& one : lists) {
    auto out = begin('s');
    add(out, whole.publisher);
    add(out, whole.number);
    add(out, whole.since);
    out += ' ' + std::to_string(parts.size()) + '/' + std::to_string(lists.size());
    if (whole.has_forgotten)
      out += 'x';
    parts.push_back(out + one);
  }
  return parts;
}

result<bus_text> parse_bus_text(std::string_view text) {
  if (text.size() < 4 || text.size() > max_bus_text || text[0] != magic[0] || text[1] < '1' || text[1] > '9')
    return corrupt(text);
  if (text[1] != magic[1])
    return error{errc::newer_format, "said by a later version of Weir", {{"version", std::string(1, text[1])}}};
  reader from{text.substr(3)};
  bus_text read;
  switch (text[2]) {
  case 'h': read = read_hint(from); break;
  case 'b': read = read_beacon(from); break;
  case 'a': read = read_ask(from); break;
  case 's': read = read_answer(from); break;
  case 'l': read = read_leave(from); break;
  default: return corrupt(text);
  }
  if (from.has_failed() || !from.is_at_end())
    return corrupt(text);
  return read;
}

result<hint> decode(const hint_text& one) {
  reader from{{}};
  auto key = from.bytes_in(one.key);
  auto payload = from.bytes_in(one.payload);
  if (from.has_failed() || !check_hint_size(key, payload))
    return corrupt(one.payload);
  return hint{one.topic, std::move(key), std::move(payload), one.at};
}

} // namespace weir
