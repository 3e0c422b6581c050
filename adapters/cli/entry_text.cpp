#include <weir/base64.hpp>
#include <weir/cli/entry_text.hpp>
#include <weir/cli/json_members.hpp>
#include <weir/cli/nearest_name.hpp>
#include <weir/cli/plain_text.hpp>
#include <weir/json_text.hpp>

#include <boost/outcome/try.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <ctime>
#include <limits>

namespace weir::cli {

namespace {

constexpr std::array<std::string_view, 10> members{
  "payload", "payload_base64", "key", "key_base64", "dedupe", "dedupe_base64", "shard", "offset", "time", "cursor"};
constexpr std::array<std::string_view, 3> passed_over{"offset", "time", "cursor"};

/// Reads one line, member by member.
class entry_line {
public:
  explicit entry_line(std::string_view line) noexcept : at_{line} {}

  result<std::optional<new_entry>> read() {
    at_.skip_space();
    if (at_.at_end())
      return std::optional<new_entry>{};
    if (!at_.take('{', "an object, which begins with {"))
      return no_json();
    for (bool is_first = true;; is_first = false) {
      at_.skip_space();
      if (is_first && at_.peek() == '}')
        break;
      BOOST_OUTCOME_TRY(read_member());
      at_.skip_space();
      if (at_.peek() != ',')
        break;
      (void)at_.take(',', "");
    }
    if (!at_.take('}', "a comma or }"))
      return no_json();
    at_.skip_space();
    if (!at_.at_end())
      return refused(fmt::format("something follows the object, at byte {}", at_.offset()));
    if (!has_payload_)
      return refused("it has no payload");
    return std::optional{std::move(read_)};
  }

private:
  static error refused(std::string sentence) { return error{errc::bad_record, std::move(sentence)}; }

  error no_json() const {
    return refused(fmt::format("it is no JSON at byte {}; expected {}", at_.fault().at, at_.fault().expected));
  }

  result<void> read_member() {
    std::string name;
    if (!at_.read_string(name))
      return no_json();
    at_.skip_space();
    if (!at_.take(':', "a colon"))
      return no_json();
    at_.skip_space();
    if (std::ranges::find(members, name) == members.end()) {
      const auto nearest = nearest_name(name, members);
      return refused(fmt::format("it has a member {}, and there is none of that name; {}", in_quotes(name),
        nearest ? fmt::format("did you mean {}?", in_quotes(*nearest)) : fmt::format("expected {}", one_of(members))));
    }
    if (std::ranges::find(passed_over, name) != passed_over.end())
      return at_.skip_value() ? result<void>{success()} : no_json();
    return name == "shard" ? read_shard() : read_bytes(name);
  }

  result<void> read_shard() {
    std::uint64_t number = 0;
    const bool is_number = at_.read_number(number);
    if (!is_number || number > std::numeric_limits<std::uint32_t>::max() || read_.shard)
      return refused(read_.shard ? "it has two members \"shard\"" : "its shard is no whole number from 0 to 4095");
    read_.shard = static_cast<std::uint32_t>(number);
    return success();
  }

  result<void> read_bytes(std::string_view name) {
    if (at_.peek() != '"')
      return refused(fmt::format("its {} is no text", name));
    std::string text;
    if (!at_.read_string(text))
      return no_json();
    constexpr std::string_view suffix{"_base64"};
    const auto plain = name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : name;
    if (plain.size() != name.size()) {
      auto bytes = decode_base64(text);
      if (!bytes)
        return refused(fmt::format("its {} is no base64 with padding", name));
      text = std::move(*bytes);
    }
    auto& had = plain == "payload" ? has_payload_ : plain == "key" ? has_key_ : has_dedupe_;
    if (had)
      return refused(fmt::format("it has two members \"{}\"", plain));
    had = true;
    (plain == "payload" ? read_.payload : plain == "key" ? read_.key : read_.dedupe) = std::move(text);
    return success();
  }

  json_cursor at_;
  new_entry read_;
  bool has_payload_ = false;
  bool has_key_ = false;
  bool has_dedupe_ = false;
};

} // namespace

std::string nanosecond_time(std::int64_t time) {
  constexpr std::int64_t second = 1'000'000'000;
  auto whole = time / second;
  auto rest = time % second;
  if (rest < 0) { // before 1970: towards the past
    rest += second;
    --whole;
  }
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:09}Z", fmt::gmtime(static_cast<std::time_t>(whole)), rest);
}

void append_entry(std::string& out, std::uint32_t shard, const entry& one, const cursor& at) {
  out += '{';
  append_member(out, "shard", std::int64_t{shard});
  append_member(out, "offset", one.offset);
  append_member(out, "time", nanosecond_time(one.time));
  if (!one.key.empty())
    append_bytes_member(out, "key", one.key);
  if (!one.dedupe.empty())
    append_bytes_member(out, "dedupe", one.dedupe);
  append_bytes_member(out, "payload", one.payload);
  append_member(out, "cursor", to_text(at));
  out += "}\n";
}

result<std::optional<new_entry>> read_entry(std::string_view line) {
  return entry_line{line}.read();
}

result<std::vector<std::int64_t>> place_in(const cursor& origin, std::string_view text) {
  std::int64_t offset = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), offset);
  const bool is_number = end == text.data() + text.size() && !text.empty() && failure != std::errc::invalid_argument;
  if (is_number && origin.offsets.size() != 1)
    return error{errc::invalid_cursor,
      fmt::format("the topic {} has {} shards, and {} says a place in one of them; a cursor says one in each",
        in_quotes(origin.topic), origin.offsets.size(), text)};
  if (is_number && (failure != std::errc{} || offset < -1 || offset > cursor::max_offset))
    return error{errc::invalid_cursor, fmt::format("an offset is a number from -1 to 2^62, and {} is none", text)};
  if (is_number)
    return std::vector{offset};
  BOOST_OUTCOME_TRY(auto given, parse_cursor(text));
  BOOST_OUTCOME_TRY(check_source(given, origin));
  return std::move(given.offsets);
}

} // namespace weir::cli
