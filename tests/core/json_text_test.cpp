#include <weir/base64.hpp>
#include <weir/json_text.hpp>
#include <weir/utf8.hpp>

#include "seeds.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <utility>

using namespace std::string_view_literals;

namespace {

/// A code point as UTF-8, made the slow way.
std::string encode(std::uint32_t point) {
  std::string bytes;
  if (point < 0x80)
    return std::string(1, static_cast<char>(point));
  const auto count = point < 0x800 ? 1U : point < 0x10000 ? 2U : 3U;
  constexpr std::array<unsigned, 4> marks{0, 0xC0, 0xE0, 0xF0};
  bytes += static_cast<char>(marks.at(count) | point >> (6 * count));
  for (auto left = count; left-- > 0;)
    bytes += static_cast<char>(0x80U | (point >> (6 * left) & 0x3FU));
  return bytes;
}

std::string escaped(std::string_view text) {
  std::string out;
  weir::append_json_string(out, text);
  return out;
}

std::string base64(std::string_view bytes) {
  std::string out;
  weir::append_base64(out, bytes);
  return out;
}

/// What the fault says about a text that is no JSON value; "" if it is one.
std::string fault_of(std::string_view text) {
  weir::json_cursor cursor{text};
  if (cursor.skip_value())
    return cursor.at_end() ? "" : "something behind it";
  return std::to_string(cursor.fault().at) + ": " + std::string{cursor.fault().expected};
}

std::string random_bytes(core_tests::random_source& random, std::size_t most) {
  std::string bytes;
  for (auto left = random.below(most + 1); left > 0; --left)
    bytes += static_cast<char>(random.below(256));
  return bytes;
}

} // namespace

TEST_CASE("every code point is UTF-8, and nothing else of three bytes or fewer") {
  // All strings of one to three bytes, against the set of encodings.
  std::vector<bool> is_encoding(1U << 24U);
  const auto number_of = [](std::string_view bytes) {
    std::size_t number = 0;
    for (const auto one : bytes)
      number = number << 8U | static_cast<unsigned char>(one);
    return number;
  };
  for (std::uint32_t point = 0; point <= 0x10FFFF; ++point) {
    if (point >= 0xD800 && point <= 0xDFFF)
      continue;
    const auto bytes = encode(point);
    if (weir::utf8_length(bytes) != bytes.size() || !weir::is_utf8(bytes))
      FAIL("U+" << point);
    if (bytes.size() <= 3)
      is_encoding[number_of(bytes)] = true;
  }
  std::size_t wrong = 0;
  for (std::uint32_t number = 0; number < 1U << 24U; ++number) {
    const std::array<char, 3> bytes{
      static_cast<char>(number >> 16U), static_cast<char>(number >> 8U), static_cast<char>(number)};
    // With a first byte below 0x80 this is one byte and two others; those are covered by the shorter strings.
    if (static_cast<unsigned char>(bytes[0]) < 0xE0)
      continue;
    wrong += (weir::utf8_length({bytes.data(), 3}) == 3) != is_encoding[number];
    wrong += weir::is_utf8({bytes.data(), 3}) != is_encoding[number];
  }
  for (std::uint32_t number = 0x8000; number < 1U << 16U; ++number) {
    const std::array<char, 2> bytes{static_cast<char>(number >> 8U), static_cast<char>(number)};
    wrong += weir::is_utf8({bytes.data(), 2}) != is_encoding[number];
  }
  CHECK(wrong == 0);
  CHECK_FALSE(weir::is_utf8("\xF4\x90\x80\x80"));     // above U+10FFFF
  CHECK_FALSE(weir::is_utf8("\xF0\x8F\xBF\xBF"));     // overlong
  CHECK_FALSE(weir::is_utf8("eight byte\xC3"));       // broken off behind a fast stretch
  CHECK(weir::is_utf8("eight bytes, then \xC3\xA9")); // and whole
  CHECK(weir::is_utf8(""));
}

TEST_CASE("strings are escaped as JSON wants, and only there") {
  CHECK(escaped("") == "\"\"");
  CHECK(escaped("plain text, longer than eight bytes") == "\"plain text, longer than eight bytes\"");
  CHECK(escaped("a\"b\\c/d") == R"("a\"b\\c/d")");
  CHECK(escaped("\b\f\n\r\t\x01\x1f\x7f"sv) == "\"\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\"");
  CHECK(escaped("\0"sv) == "\"\\u0000\"");
  CHECK(escaped("gr\xC3\xBC\xC3\x9F \xF0\x9F\x8C\x8A") == "\"gr\xC3\xBC\xC3\x9F \xF0\x9F\x8C\x8A\"");
  CHECK(escaped("a\xFF\xC3") == "\"a\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

TEST_CASE("strings are read as they were written, wherever the special byte stands") {
  for (std::uint32_t point = 0; point < 0x300; ++point)
    for (std::size_t before = 0; before < 18; ++before) {
      const auto text = std::string(before, 'x') + encode(point) + "yz";
      const auto written = escaped(text) + "\"";
      weir::json_cursor cursor{written};
      std::string read;
      REQUIRE(cursor.read_string(read));
      REQUIRE(read == text);
      REQUIRE(cursor.offset() == written.size() - 1);
    }
}

TEST_CASE("escapes are decoded") {
  const std::array<std::pair<std::string_view, std::string_view>, 6> samples{{
    {R"("\"\\\/\b\f\n\r\t")", "\"\\/\b\f\n\r\t"},
    {R"("\u0041\u00e9\u20AC")", "A\xC3\xA9\xE2\x82\xAC"},
    {R"("\uD83C\uDF0A")", "\xF0\x9F\x8C\x8A"},
    {R"("\ud800\udc00\udbff\udfff")", "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"},
    {R"("\u0000")", "\0"sv},
    {R"("u0041\\u0041")", "u0041\\u0041"},
  }};
  for (const auto& [written, text] : samples) {
    CAPTURE(written);
    weir::json_cursor cursor{written};
    std::string read = "what was there before";
    REQUIRE(cursor.read_string(read));
    CHECK(read == text);
    CHECK(cursor.at_end());
  }
}

TEST_CASE("values are stepped over, and a fault says where and what") {
  for (const auto* value : {"0", "-0", "12.5e-3", "1E+9", "true", "false", "null", "\"\"", "[]", "{}", "[ ]", "{ }",
         "[1,[2,{}],\"]\"]", R"({"a":{"b":[]},"a":1})", "[[[[]]]]", " 1"}) {
    CAPTURE(value);
    weir::json_cursor cursor{value};
    cursor.skip_space();
    CHECK(cursor.skip_value());
    CHECK(cursor.at_end());
  }
  CHECK(fault_of("") == "0: a JSON value");
  CHECK(fault_of("tru") == "0: a JSON value");
  CHECK(fault_of("-") == "1: a digit");
  CHECK(fault_of("1.") == "2: a digit after the decimal point");
  CHECK(fault_of("1e") == "2: a digit in the exponent");
  CHECK(fault_of("01") == "something behind it");
  CHECK(fault_of("[1,]") == "3: a JSON value");
  CHECK(fault_of("[,1]") == "1: a JSON value");
  CHECK(fault_of("[1 2]") == "3: a comma or ]");
  CHECK(fault_of("[1}") == "2: a comma or ]");
  CHECK(fault_of("{\"a\" 1}") == "5: a colon after the member's name");
  CHECK(fault_of("{\"a\":1,}") == "7: a member's name in quotes");
  CHECK(fault_of("{a:1}") == "1: a member's name in quotes");
  CHECK(fault_of("{\"a\":}") == "5: a JSON value");
  CHECK(fault_of("{\"a\":1]") == "6: a comma or }");
  CHECK(fault_of("\"abc") == "4: the quote that ends the string");
  CHECK(fault_of("\"a\nb\"") == "2: no control character in a string");
  CHECK(fault_of("\"a\xC3\"") == "2: well-formed UTF-8");
  CHECK(fault_of(R"("\x")") == "2: one of \" \\ / b f n r t u after a backslash");
  CHECK(fault_of(R"("\u12g4")") == "2: four hexadecimal digits after \\u");
  CHECK(fault_of(R"("\udc00")") == "2: no low surrogate without a high one before it");
  CHECK(fault_of(R"("\ud800x")") == "7: a low surrogate after a high one");
  CHECK(fault_of(R"("\ud800\u0041")") == "7: a low surrogate after a high one");
}

TEST_CASE("depth is bounded, and where it ends is where values nest too deeply") {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  CHECK(fault_of(nested(weir::json_cursor::max_depth)).empty());
  CHECK(fault_of(nested(weir::json_cursor::max_depth + 1)) == "256: no more than 256 arrays and objects inside one another");
  // Which of them are objects is remembered at every depth.
  std::string mixed;
  std::string ends;
  for (std::size_t depth = 0; depth < weir::json_cursor::max_depth; ++depth) {
    mixed += depth % 3 == 0 ? "{\"k\":" : "[";
    ends.insert(0, depth % 3 == 0 ? "}" : "]");
  }
  CHECK(fault_of(mixed + "0" + ends).empty());
  CHECK_FALSE(fault_of(mixed + "0" + ends.substr(0, 100) + (ends[100] == ']' ? "}" : "]")).empty());
}

TEST_CASE("whole numbers are read up to 2^64 - 1") {
  const auto read = [](std::string_view text) -> std::optional<std::uint64_t> {
    weir::json_cursor cursor{text};
    std::uint64_t number = 0;
    if (!cursor.read_number(number))
      return std::nullopt;
    return number;
  };
  CHECK(read("0") == 0);
  CHECK(read("18446744073709551615") == 18446744073709551615U);
  CHECK(read("7,") == 7);
  CHECK(read("18446744073709551616") == std::nullopt);
  CHECK(read("-1") == std::nullopt);
  CHECK(read("1.0") == std::nullopt);
  CHECK(read("1e3") == std::nullopt);
  CHECK(read("\"1\"") == std::nullopt);
}

TEST_CASE("a payload is JSON on one line when nothing is around it and no line break is in it") {
  CHECK(weir::is_json_on_one_line("{\"a\": [1, 2]}"));
  CHECK(weir::is_json_on_one_line("\"a\\nb\""));
  for (const auto text :
    {""sv, " 1"sv, "1 "sv, "{\n}"sv, "[1,\r2]"sv, "1\n"sv, "1 2"sv, "nul"sv, "\"\xFF\""sv, "\0"sv, "1\0"sv})
    CHECK_FALSE(weir::is_json_on_one_line(text));
}

TEST_CASE("base64 is that of RFC 4648, read strictly") {
  // Section 10 of the RFC.
  const std::array<std::pair<std::string_view, std::string_view>, 7> vectors{{{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="},
    {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}}};
  for (const auto& [bytes, text] : vectors) {
    CHECK(base64(bytes) == text);
    CHECK(weir::decode_base64(text) == bytes);
  }
  CHECK(base64("\xFB\xFF\xBF") == "+/+/");
  for (const auto* text : {"Zg", "Zg=", "Zg===", "=g==", "Z===", "Zh==", "Zm9=", "Zm 9", "Zm9-", "Zg==Zg==", "====", "Zm9v\n"})
    CHECK_MESSAGE(!weir::decode_base64(text), text);
  for (const auto seed : core_tests::seeds(4)) {
    CAPTURE(core_tests::replay(seed));
    core_tests::random_source random{seed};
    for (int round = 0; round < 50; ++round) {
      const auto bytes = random_bytes(random, 100);
      REQUIRE(weir::decode_base64(base64(bytes)) == bytes);
    }
  }
}
