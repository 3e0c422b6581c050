#include <weir/crc32c.hpp>
#include <weir/cursor.hpp>

#include "seeds.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

using weir::check_source;
using weir::cursor;
using weir::errc;
using weir::parse_cursor;
using weir::to_text;

namespace {

constexpr std::int64_t highest = std::int64_t{1} << 62;

cursor some_cursor() {
  return {.store = 0x00C0FFEE12345678, .topic = "orders/eu", .epoch = 3, .offsets = {17, -1, 0}};
}

/// A text with the checksum that it should have.
std::string checked(std::string text) {
  std::array<char, 16> sum{};
  static_cast<void>(std::snprintf(sum.data(), sum.size(), ":%08x", weir::crc32c(text)));
  return text + sum.data();
}

/// The part that a refusal names, with its sentence; "accepted" if there is none.
std::string verdict(std::string_view text) {
  const auto parsed = parse_cursor(text);
  if (parsed)
    return "accepted";
  CHECK(parsed.error() == errc::invalid_cursor);
  return std::string{parsed.error().fact_of("part")} + ": " + parsed.error().sentence();
}

cursor random_cursor(core_tests::random_source& random) {
  static const std::vector<std::string> pieces{
    "a", "Z", "0", "-", ".", "_", "~", "%", ":", ",", "/", " ", "\n", "%41", "\x7F", "\xC3\xA9", "\xF0\x9F\x98\x80"};
  static const std::vector<std::uint64_t> numbers{0, 1, 9, 10, 0xABCDEF, std::numeric_limits<std::uint64_t>::max()};
  cursor at{.store = random.chance(50) ? random.pick(numbers) : random.next(), .epoch = random.pick(numbers)};
  for (auto left = random.between(1, 10); left > 0; --left)
    at.topic += random.pick(pieces);
  for (auto left = random.between(1, 9); left > 0; --left)
    at.offsets.push_back(random.chance(30) ? -1 : static_cast<std::int64_t>(random.next() >> random.between(2, 63)));
  return at;
}

} // namespace

TEST_SUITE("cursor") {
  TEST_CASE("the text form is what is documented") {
    CHECK(to_text(some_cursor()) == "w1:00c0ffee12345678:orders%2Feu:3:17,-1,0:63c447f9");
    CHECK(to_text(some_cursor()) == checked("w1:00c0ffee12345678:orders%2Feu:3:17,-1,0"));
    const cursor other{.store = 0, .topic = "Az09-._~%:\xC3\xA9", .epoch = 18446744073709551615u, .offsets = {highest}};
    CHECK(to_text(other) == checked("w1:0000000000000000:Az09-._%7E%25%3A%C3%A9:18446744073709551615:4611686018427387904"));
  }

  TEST_CASE("a cursor comes back from its text, and the text from its cursor") {
    for (const auto seed : core_tests::seeds(2'000)) {
      INFO(core_tests::replay(seed));
      core_tests::random_source random{seed};
      const auto at = random_cursor(random);
      const auto text = to_text(at);
      CAPTURE(text);
      REQUIRE(std::ranges::all_of(text, [](char one) {
        return (one >= 'a' && one <= 'z') || (one >= 'A' && one <= 'Z') || (one >= '0' && one <= '9')
               || std::string_view{"-._%:,"}.find(one) != std::string_view::npos;
      }));
      const auto parsed = parse_cursor(text);
      REQUIRE(parsed);
      REQUIRE(parsed.value() == at);
      REQUIRE(to_text(parsed.value()) == text);
    }
  }

  TEST_CASE("every text with one bit turned is refused") {
    for (const auto seed : core_tests::seeds(20)) {
      INFO(core_tests::replay(seed));
      core_tests::random_source random{seed};
      const auto text = to_text(random_cursor(random));
      for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
        auto bent = text;
        bent[bit / 8] = static_cast<char>(bent[bit / 8] ^ 1 << bit % 8);
        const auto parsed = parse_cursor(bent);
        CAPTURE(bent);
        REQUIRE(!parsed);
        REQUIRE(parsed.error() == errc::invalid_cursor);
      }
    }
  }

  TEST_CASE("every text that is cut at its end or its beginning, or goes on, is refused") {
    const auto text = to_text(some_cursor());
    for (std::size_t size = 0; size < text.size(); ++size) {
      CHECK(verdict(text.substr(0, size)) != "accepted");
      CHECK(verdict(text.substr(text.size() - size)) != "accepted");
    }
    for (int one = 0; one < 256; ++one) {
      CHECK(verdict(text + static_cast<char>(one)) != "accepted");
      CHECK(verdict(static_cast<char>(one) + text) != "accepted");
    }
  }

  TEST_CASE("a refusal names the part that is wrong") {
    CHECK(verdict("") == "version: the text is no cursor of a version that is known here");
    CHECK(verdict("hello") == "version: the text is no cursor of a version that is known here");
    CHECK(
      verdict(checked("w2:00c0ffee12345678:orders:3:17")) == "version: the text is no cursor of a version that is known here");
    CHECK(verdict("w1") == "version: the cursor is cut short");
    CHECK(verdict("w1:00c0ffee12345678:orders:3") == "epoch: the cursor is cut short");
    CHECK(verdict("w1:00c0ffee12345678:orders:3:17") == "offsets: the cursor is cut short");
    CHECK(verdict(checked("w1:00c0ffee12345678:orders:3:17:5")) == "check: the cursor goes on behind its checksum");
    CHECK(
      verdict("w1:00c0ffee12345678:orders:3:17:00000000") == "check: the checksum does not fit: the cursor was cut or changed");
    CHECK(verdict(checked("w1:store:orders:3:17")) == "store: the store's id is not 16 hexadecimal digits");
    CHECK(verdict(checked("w1::orders:3:17")) == "store: the store's id is not 16 hexadecimal digits");
    CHECK(verdict(checked("w1:100c0ffee12345678:orders:3:17")) == "store: the store's id is not 16 hexadecimal digits");
    CHECK(verdict(checked("w1:00c0ffee12345678::3:17")) == "topic: a topic's name is not empty");
    CHECK(verdict(checked("w1:00c0ffee12345678:a%00:3:17")) == "topic: a topic's name has no NUL in it");
    CHECK(verdict(checked("w1:00c0ffee12345678:a%FF:3:17")) == "topic: a topic's name is well-formed UTF-8");
    CHECK(verdict(checked("w1:00c0ffee12345678:a%2:3:17")) == "topic: the topic has a % without two hexadecimal digits");
    CHECK(verdict(checked("w1:00c0ffee12345678:a%:3:17")) == "topic: the topic has a % without two hexadecimal digits");
    CHECK(verdict(checked("w1:00c0ffee12345678:orders:-3:17")) == "epoch: the epoch is not a number from 0 to 2^64-1");
    CHECK(verdict(checked("w1:00c0ffee12345678:orders:18446744073709551616:17"))
          == "epoch: the epoch is not a number from 0 to 2^64-1");
    for (const auto* offsets :
      {"", ",", "1,", ",1", "1,,2", "-2", "4611686018427387905", "9223372036854775808", "1 ", "+1", "0x1", "--1"})
      CHECK_MESSAGE(verdict(checked(std::string{"w1:00c0ffee12345678:orders:3:"} + offsets))
                      == "offsets: an offset is not a number from -1 to 2^62",
        offsets);
  }

  TEST_CASE("a second way to write a cursor is refused, though its checksum fits") {
    const auto refused_with = [](std::string_view text, std::string_view part, std::string_view given,
                                std::string_view expected) {
      const auto parsed = parse_cursor(checked(std::string{text}));
      REQUIRE(!parsed);
      CHECK(parsed.error() == errc::invalid_cursor);
      CHECK(parsed.error().sentence() == "a cursor is written in one way only");
      CHECK(parsed.error().fact_of("part") == part);
      CHECK(parsed.error().fact_of("given") == given);
      CHECK(parsed.error().fact_of("expected") == expected);
    };
    refused_with("w1:00C0FFEE12345678:orders:3:17", "store", "00C0FFEE12345678", "00c0ffee12345678");
    refused_with("w1:c0ffee12345678:orders:3:17", "store", "c0ffee12345678", "00c0ffee12345678");
    refused_with("w1:00c0ffee12345678:a%2f:3:17", "topic", "a%2f", "a%2F");
    refused_with("w1:00c0ffee12345678:a%41:3:17", "topic", "a%41", "aA");
    refused_with("w1:00c0ffee12345678:a/b:3:17", "topic", "a/b", "a%2Fb");
    refused_with("w1:00c0ffee12345678:~:3:17", "topic", "~", "%7E");
    refused_with("w1:00c0ffee12345678:orders:03:17", "epoch", "03", "3");
    refused_with("w1:00c0ffee12345678:orders:3:017", "offsets", "017", "17");
    refused_with("w1:00c0ffee12345678:orders:3:-0", "offsets", "-0", "0");
    refused_with("w1:00c0ffee12345678:orders:3:5,-01", "offsets", "5,-01", "5,-1");
    auto capital = to_text(some_cursor());
    std::ranges::transform(capital.end() - 8, capital.end(), capital.end() - 8,
      [](char one) { return static_cast<char>(one >= 'a' && one <= 'f' ? one - 'a' + 'A' : one); });
    REQUIRE(capital != to_text(some_cursor()));
    CHECK(verdict(capital) == "check: the checksum does not fit: the cursor was cut or changed");
  }

  TEST_CASE("the largest cursor comes back, and one more shard is refused") {
    cursor at{.store = ~std::uint64_t{0}, .topic = std::string(249, '/'), .epoch = ~std::uint64_t{0}};
    at.offsets.assign(4096, highest);
    const auto text = to_text(at);
    CHECK(text.size() <= cursor::max_text);
    REQUIRE(parse_cursor(text));
    CHECK(parse_cursor(text).value() == at);
    at.offsets.push_back(0);
    const auto refused = parse_cursor(to_text(at));
    REQUIRE(!refused);
    CHECK(refused.error().fact_of("shards") == "4097");
  }

  TEST_CASE("what is outside the limits has a text that is refused") {
    auto at = some_cursor();
    at.offsets.clear();
    CHECK(verdict(to_text(at)) == "offsets: an offset is not a number from -1 to 2^62");
    at.offsets = {-2};
    CHECK(verdict(to_text(at)) == "offsets: an offset is not a number from -1 to 2^62");
    at.offsets = {highest + 1};
    CHECK(verdict(to_text(at)) == "offsets: an offset is not a number from -1 to 2^62");
    at = some_cursor();
    at.topic = std::string(250, 'x');
    CHECK(verdict(to_text(at)) == "topic: a topic's name has at most 249 bytes");
  }

  TEST_CASE("a text of any size is refused without being repeated in full") {
    for (const auto& text : {std::string(cursor::max_text + 1, ','), std::string(1 << 20, 'x'),
           "w1:" + std::string(90'000, ':'), "w1:" + std::string(90'000, '0') + ":a:1:1:00000000", std::string(1000, '\n')}) {
      const auto parsed = parse_cursor(text);
      REQUIRE(!parsed);
      CHECK(parsed.error() == errc::invalid_cursor);
      CHECK(parsed.error().to_string().size() < 400);
      CHECK(parsed.error().to_string().find('\n') == std::string::npos);
    }
    CHECK(parse_cursor(std::string(1 << 20, 'x')).error().fact_of("size") == "1048576");
  }

  TEST_CASE("an offset that is refused is named with its shard") {
    const auto parsed = parse_cursor(checked("w1:00c0ffee12345678:orders:3:1,2,x"));
    REQUIRE(!parsed);
    CHECK(parsed.error().fact_of("shard") == "2");
    CHECK(parsed.error().fact_of("given") == "x");
  }

  TEST_CASE("a cursor is used where it came from, and elsewhere the error says what is another") {
    const auto there = some_cursor();
    auto given = there;
    given.offsets = {5, 5, 5};
    CHECK(check_source(given, there));

    const auto refused = [&](const cursor& other) { return check_source(other, there).error(); };
    given = there;
    given.store = 1;
    CHECK(refused(given) == errc::wrong_source);
    CHECK(refused(given).fact_of("given") == "0000000000000001");
    CHECK(refused(given).fact_of("expected") == "00c0ffee12345678");
    given = there;
    given.topic = "Orders/eu";
    CHECK(refused(given) == errc::wrong_source);
    CHECK(refused(given).fact_of("given") == "Orders/eu");
    CHECK(refused(given).fact_of("expected") == "orders/eu");
    for (const std::uint64_t epoch : {2u, 4u}) {
      given = there;
      given.epoch = epoch;
      CHECK(refused(given) == errc::stale_epoch);
      CHECK(refused(given).fact_of("given") == std::to_string(epoch));
      CHECK(refused(given).fact_of("expected") == "3");
    }
    given = there;
    given.offsets.pop_back();
    CHECK(refused(given) == errc::layout_mismatch);
    CHECK(refused(given).fact_of("given") == "2");
    CHECK(refused(given).fact_of("expected") == "3");
  }

  TEST_CASE(
    "where several things differ, the store comes before the topic, the topic before the epoch, the epoch before the shards") {
    const auto there = some_cursor();
    cursor given{.store = 1, .topic = "other", .epoch = 9, .offsets = {1}};
    CHECK(check_source(given, there).error().sentence() == "the cursor is of another store");
    given.store = there.store;
    CHECK(check_source(given, there).error().sentence() == "the cursor is of another topic");
    given.topic = there.topic;
    CHECK(check_source(given, there).error() == errc::stale_epoch);
    given.epoch = there.epoch;
    CHECK(check_source(given, there).error() == errc::layout_mismatch);
  }
}
