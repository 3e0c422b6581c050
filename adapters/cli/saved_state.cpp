#include <weir/cli/plain_text.hpp>
#include <weir/cli/saved_state.hpp>

#include <boost/crc.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace weir::cli {

namespace {

namespace json = boost::json;

constexpr std::uint64_t newest_format = 1;

/// CRC-32 over the serialised object; it is the same for a file that an editor has only re-indented.
std::string checksum_of(const json::object& state) {
  const auto text = json::serialize(state);
  boost::crc_32_type crc;
  crc.process_bytes(text.data(), text.size());
  return fmt::format("{:08x}", crc.checksum());
}

std::string hex(std::string_view bytes) {
  std::string text;
  for (const auto byte : bytes)
    text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

std::optional<std::string> unhex(std::string_view text) {
  const auto digit = [](char one) -> int {
    if (one >= '0' && one <= '9')
      return one - '0';
    return one >= 'a' && one <= 'f' ? one - 'a' + 10 : -1;
  };
  if (text.size() % 2 != 0)
    return std::nullopt;
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); at += 2) {
    const auto high = digit(text[at]);
    const auto low = digit(text[at + 1]);
    if (high < 0 || low < 0)
      return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

/// Reads members by name and kind, and remembers the first that was not what it should be.
class member_reader {
public:
  explicit member_reader(const json::object& from) : from_{from} {}

  const json::object* object(std::string_view name) {
    const auto* found = find(name);
    return found != nullptr && found->is_object() ? &found->get_object() : nothing<const json::object*>(name);
  }

  std::string text(std::string_view name) {
    const auto* found = find(name);
    return found != nullptr && found->is_string() ? std::string{found->get_string()} : nothing<std::string>(name);
  }

  template <class Number>
  Number number(std::string_view name) {
    const auto* found = find(name);
    json::error_code failure;
    const auto value = found != nullptr && found->is_number() ? found->to_number<Number>(failure) : nothing<Number>(name);
    return failure ? nothing<Number>(name) : value;
  }

  bool flag(std::string_view name) {
    const auto* found = find(name);
    return found != nullptr && found->is_bool() ? found->get_bool() : nothing<bool>(name);
  }

  const std::optional<std::string>& wrong() const { return wrong_; }

private:
  const json::value* find(std::string_view name) const { return from_.if_contains(name); }

  template <class T>
  T nothing(std::string_view name) {
    if (!wrong_)
      wrong_ = name;
    return T{};
  }

  const json::object& from_;
  std::optional<std::string> wrong_;
};

error damaged(std::string_view how) {
  return error{errc::corrupt, std::string{how}};
}

error damaged_at(std::string_view name) {
  return damaged(fmt::format("{} is missing or not what it should be", in_quotes(name)));
}

json::object to_object(const position& at) {
  return {{"epoch", at.epoch}, {"seq", at.seq}, {"stamp", hex(at.stamp.bytes())}, {"time", at.time},
    {"ends_transaction", at.ends_transaction}};
}

result<position> parse_position(const json::object& from) {
  member_reader reader{from};
  position at;
  at.epoch = reader.number<std::uint64_t>("epoch");
  at.seq = reader.number<std::uint64_t>("seq");
  at.time = reader.number<std::int64_t>("time");
  at.ends_transaction = reader.flag("ends_transaction");
  const auto bytes = unhex(reader.text("stamp"));
  if (reader.wrong())
    return damaged_at(*reader.wrong());
  if (!bytes)
    return damaged_at("stamp");
  auto made = stamp::from(*bytes);
  if (!made)
    return damaged_at("stamp");
  at.stamp = made.value();
  return at;
}

result<saved_state> parse_state(const json::object& from) {
  member_reader reader{from};
  saved_state saved;
  saved.owner.pipeline = reader.text("pipeline");
  const auto* source = reader.object("source");
  const auto* confirmed = reader.object("confirmed");
  if (reader.wrong())
    return damaged_at(*reader.wrong());
  for (const auto& [name, value] : *source) {
    if (!value.is_string())
      return damaged_at("source");
    saved.owner.source.emplace_back(name, std::string{value.get_string()});
  }
  auto at = parse_position(*confirmed);
  if (!at)
    return std::move(at).error();
  saved.confirmed = at.value();
  return saved;
}

/// As the file can hold it: JSON has no bytes.
state_owner as_kept(const state_owner& owner) {
  state_owner kept{escaped_utf8(owner.pipeline), {}};
  for (const auto& [name, value] : owner.source)
    kept.source.emplace_back(name, escaped_utf8(value));
  return kept;
}

} // namespace

std::string to_json(const saved_state& saved) {
  const auto kept = as_kept(saved.owner);
  json::object source;
  for (const auto& [name, value] : kept.source)
    source[name] = value;
  json::object state{{"pipeline", kept.pipeline}, {"source", std::move(source)}, {"confirmed", to_object(saved.confirmed)}};
  auto checksum = checksum_of(state);
  return json::serialize(json::object{{"format", newest_format}, {"state", std::move(state)}, {"checksum", checksum}}) + "\n";
}

result<saved_state> parse_saved_state(std::string_view text) {
  if (text.empty())
    return damaged("it is empty");
  json::error_code failure;
  const auto parsed = json::parse(text, failure);
  if (failure || !parsed.is_object())
    return damaged("it is not JSON");
  member_reader reader{parsed.get_object()};
  const auto format = reader.number<std::uint64_t>("format");
  if (reader.wrong() || format == 0)
    return damaged_at("format");
  if (format > newest_format)
    return error{errc::unsupported, fmt::format("it has format {}, and this program reads up to {}", format, newest_format),
      {{"format", std::to_string(format)}}};
  const auto* state = reader.object("state");
  const auto checksum = reader.text("checksum");
  if (reader.wrong())
    return damaged_at(*reader.wrong());
  if (checksum != checksum_of(*state))
    return damaged("its checksum does not match");
  return parse_state(*state);
}

result<void> expect_owner(const state_owner& kept, const state_owner& wanted) {
  const auto refused = [](std::string_view what, std::string_view there, std::string_view here) {
    return error{errc::wrong_owner, fmt::format("it was kept for {} {}, not for {}", what, in_quotes(there), in_quotes(here)),
      {{"kept", std::string{there}}, {"wanted", std::string{here}}}};
  };
  const auto here = as_kept(wanted);
  if (kept.pipeline != here.pipeline)
    return refused("the pipeline", kept.pipeline, here.pipeline);
  for (const auto& [name, value] : here.source) {
    const auto found = std::ranges::find(kept.source, name, &std::pair<std::string, std::string>::first);
    const auto there = found == kept.source.end() ? std::string{} : found->second;
    if (there != value)
      return refused("a source whose " + name + " is", there, value);
  }
  if (kept.source.size() != here.source.size())
    return refused("a source described by other facts:", fmt::format("{} of them", kept.source.size()),
      fmt::format("{}", here.source.size()));
  return success();
}

} // namespace weir::cli
