#include "syntax_error.hpp"

#include <weir/cli/plain_text.hpp>

#include "table_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>

namespace weir::cli {

namespace {

using std::string_view_literals::operator""sv;

/// The parser's sentence: "Error while parsing PART: expected EXPECTED, saw REASON", or "Error while parsing PART: REASON".
struct description {
  std::string_view part;
  std::string_view expected;
  std::string_view reason;
};

description taken_apart(std::string_view text) {
  constexpr auto prefix = "Error while parsing "sv;
  constexpr auto expected = "expected "sv;
  constexpr auto saw = ", saw "sv;
  description found;
  if (const auto colon = text.find(": "); text.starts_with(prefix) && colon != std::string_view::npos) {
    found.part = text.substr(prefix.size(), colon - prefix.size());
    text.remove_prefix(colon + 2);
  }
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  if (const auto comma = text.find(saw); text.starts_with(expected) && comma != std::string_view::npos) {
    found.expected = text.substr(expected.size(), comma - expected.size());
    if (found.expected.starts_with(expected)) // toml++ 3.3 says it twice for a sign without digits
      found.expected.remove_prefix(expected.size());
    text.remove_prefix(comma + 2);
  }
  found.reason = text;
  return found;
}

bool holds_one_of(std::string_view text, std::span<const std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view one) { return text.find(one) != std::string_view::npos; });
}

constexpr std::array too_large{"not representable"sv, "exceeds length limit"sv};

/// The parser has read the whole number when it says so.
constexpr std::array of_whole_numbers{
  "not representable"sv, "exceeds length limit"sv, "value too long"sv, "not be interpreted"sv, "leading zeroes"sv};

constexpr std::array value_parts{"value"sv, "boolean"sv, "floating-point"sv, "hexadecimal floating-point"sv, "date"sv, "time"sv,
  "date-time"sv, "date-time offset"sv};

struct remedy {
  std::string_view reason;
  std::string_view expected;
};

constexpr std::array remedies{
  remedy{"cannot redefine", "each key and each table once"},
  remedy{"cannot insert", "each key and each table once"},
  remedy{"unknown escape sequence", R"(\\ for a backslash)"},
  remedy{"utf-8", "text in UTF-8"},
  remedy{"nested", "fewer brackets inside of each other"},
};

std::string expected_by(const description& from) {
  const bool is_integer = from.part.ends_with("integer");
  if (is_integer && holds_one_of(from.reason, too_large))
    return fmt::format(
      "a whole number from {} to {}", std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
  for (const auto& [reason, expected] : remedies)
    if (from.reason.find(reason) != std::string_view::npos)
      return std::string{expected};
  // By far the most common slip: a bare word, or a size without quotes.
  if (is_integer || from.expected == "value" || std::ranges::find(value_parts, from.part) != value_parts.end())
    return "a number, true or false, or text in quotes, such as \"16MiB\"";
  if (!from.expected.empty())
    return printable(from.expected);
  if (from.reason.find("end-of-file") != std::string_view::npos && !from.part.empty())
    return fmt::format("the rest of the {}", from.part);
  return "what TOML allows there";
}

/// Where the number begins that ends at the place, or holds it.
location begin_of_number(std::string_view text, location place) {
  if (text.starts_with("\xEF\xBB\xBF"))
    text.remove_prefix(3);
  for (auto line = place.line; line > 1 && !text.empty(); --line)
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  std::size_t at = 0;
  const auto is_inside = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80; }; // of a character
  for (auto column = place.column; column > 1 && at < text.size(); --column)
    while (++at < text.size() && is_inside(text[at])) {
    }
  constexpr auto characters = "0123456789abcdefABCDEFxob_.+-"sv;
  for (; at > 0 && place.column > 1 && characters.find(text[at - 1]) != std::string_view::npos; --at)
    --place.column;
  return place;
}

} // namespace

config_error syntax_error(const toml::parse_error& failure, std::string_view text) {
  const auto found = taken_apart(failure.description());
  auto place = location_of(failure.source().begin);
  if (holds_one_of(found.reason, of_whole_numbers))
    place = begin_of_number(text, place);
  config_error one{place, {}, "not valid TOML: " + printable(found.reason), expected_by(found)};
  if (!found.part.empty())
    one.wrong += fmt::format(" (in the {})", found.part);
  return one;
}

} // namespace weir::cli
