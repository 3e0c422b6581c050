#include <weir/change_text.hpp>
#include <weir/json_text.hpp>

#include "../core/seeds.hpp"

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include <string>

// An independent parser as the oracle: Boost.JSON.

namespace {

bool is_json_to_boost(std::string_view text, boost::json::value* value = nullptr) {
  boost::json::parse_options options;
  options.max_depth = 300;
  boost::system::error_code failure;
  auto parsed = boost::json::parse({text.data(), text.size()}, failure, {}, options);
  if (!failure && value != nullptr)
    *value = std::move(parsed);
  return !failure;
}

bool is_json_to_us(std::string_view text) {
  weir::json_cursor cursor{text};
  cursor.skip_space();
  if (!cursor.skip_value())
    return false;
  cursor.skip_space();
  return cursor.at_end();
}

/// A JSON text, mostly.
std::string random_text(core_tests::random_source& random, int depth) {
  static constexpr std::string_view scalars[] = {"0", "-1", "1.5", "1e5", "-0.0E-2", "true", "false", "null", "\"\"",
    "\"a\\n\"", "\"\\u00e9\"", "\"\\ud83c\\udf0a\"", "\"\xC3\xA9\"", "\"\xF0\x9F\x8C\x8A\"", "01", ".5", "+1", "\"\\ud800\"",
    "\"\x01\"", "\"\xC0\x80\"", "nul", "'a'"};
  const auto space = [&] { return std::string{random.chance(20) ? (random.chance(50) ? " " : "\n\t\r") : ""}; };
  if (depth == 0 || random.chance(40))
    return space() + std::string{scalars[random.below(random.chance(90) ? 14 : std::size(scalars))]} + space();
  const auto is_object = random.chance(50);
  std::string text = space() + (is_object ? "{" : "[");
  for (auto left = random.below(4); left > 0; --left) {
    if (is_object)
      text += space() + "\"k" + std::to_string(random.below(3)) + "\"" + space() + ":";
    text += random_text(random, depth - 1);
    if (left > 1)
      text += ",";
  }
  return text + space() + (is_object ? "}" : "]") + space();
}

} // namespace

TEST_CASE("what is JSON to us is JSON to another parser, and the reverse") {
  std::size_t valid = 0;
  std::size_t invalid = 0;
  for (const auto seed : core_tests::seeds(4)) {
    CAPTURE(core_tests::replay(seed));
    core_tests::random_source random{seed};
    for (int count = 0; count < 10'000; ++count) {
      auto text = random_text(random, 4);
      for (auto changes = random.chance(50) ? random.below(3) : 0; changes > 0 && !text.empty(); --changes) {
        const auto where = random.below(text.size());
        if (random.chance(50))
          text.erase(where, 1);
        else
          text[where] = "{}[],:\"\\0a \n\x80"[random.below(13)];
      }
      CAPTURE(text);
      const auto is_json = is_json_to_us(text);
      REQUIRE(is_json == is_json_to_boost(text));
      ++(is_json ? valid : invalid);
    }
  }
  CHECK(valid > 1000);
  CHECK(invalid > 1000);
}

TEST_CASE("a change's line is read alike by another parser") {
  for (const auto seed : core_tests::seeds(4)) {
    CAPTURE(core_tests::replay(seed));
    core_tests::random_source random{seed};
    for (int round = 0; round < 100; ++round) {
      std::string key;
      for (auto left = random.below(20); left > 0; --left)
        key += static_cast<char>(random.below(128));
      const auto payload = random_text(random, 3);
      std::string line;
      weir::append_change(line, {1, random.next(), {}, 0, true}, 0, {"c", key, weir::operation::upsert, payload, {}});
      boost::json::value parsed;
      CAPTURE(line);
      REQUIRE(is_json_to_boost(line, &parsed));
      const auto& object = parsed.as_object();
      REQUIRE(std::string_view{object.at("key").as_string()} == key);
      if (object.contains("payload")) {
        boost::json::value alone;
        REQUIRE(is_json_to_boost(payload, &alone));
        REQUIRE(object.at("payload") == alone);
      } else {
        REQUIRE_FALSE(weir::is_json_on_one_line(payload));
      }
    }
  }
}
