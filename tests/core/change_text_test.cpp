#include <weir/change_text.hpp>

#include "seeds.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <tuple>

using namespace std::string_literals;
using weir::envelope;
using weir::operation;
using weir::position;
using weir::read_change;
using weir::read_log_line;

namespace {

weir::stamp stamp_of(std::string_view bytes) {
  return weir::stamp::from(bytes).value();
}

envelope upsert(std::string key, std::string payload) {
  return {"files", std::move(key), operation::upsert, std::move(payload), {}};
}

std::string line_of(
  const envelope& change, const position& at = {1, 12, {}, 0, true}, std::uint64_t index = 0, std::string_view pipeline = {}) {
  std::string line;
  weir::append_change(line, at, index, change, pipeline);
  return line;
}

std::string time_of(std::int64_t time) {
  std::string text;
  weir::append_time(text, time);
  return text;
}

bool are_same(const envelope& left, const envelope& right) {
  return left.collection == right.collection && left.key == right.key && left.operation == right.operation
         && left.payload == right.payload && left.headers == right.headers;
}

/// What is expected at which byte of a line that is no change.
std::string fault_of(std::string_view line) {
  const auto read = read_change(line);
  if (!read.fault)
    return read.change ? "a change" : "no change";
  return std::to_string(read.fault->at) + ": " + std::string{read.fault->expected};
}

std::string random_bytes(core_tests::random_source& random, std::size_t most) {
  static constexpr std::string_view pieces[] = {
    "\n", "\r", "\"", "\\", "{", "}", "[1]", "\xC3\xA9", "\xFF", "\x80", " ", "a", "\t", "\\u00e9", "null", ","};
  std::string bytes;
  for (auto left = random.below(most + 1); left > 0; --left)
    if (random.chance(70))
      bytes += pieces[random.below(std::size(pieces))];
    else
      bytes += static_cast<char>(random.below(256));
  return bytes;
}

} // namespace

TEST_CASE("the line of a change has the documented members in the documented order") {
  const position at{1, 12, stamp_of("\x01\xAB"), 1'700'000'000'500'000'000, true};
  CHECK(
    line_of(upsert("README.md", R"({"mode":"100644"})"), at, 3)
    == R"({"epoch":1,"seq":12,"index":3,"stamp":"01ab","time":"2023-11-14T22:13:20.500Z","collection":"files","key":"README.md","op":"upsert","payload":{"mode":"100644"},"ends_transaction":true})"
       "\n");
  CHECK(line_of({"files", "a", operation::erase, std::nullopt, {}})
        == R"({"epoch":1,"seq":12,"index":0,"stamp":"","collection":"files","key":"a","op":"delete","ends_transaction":true})"
           "\n");
  auto with_headers = upsert("a", "1");
  with_headers.headers = {{"trace", "7\n"}, {"x", ""}};
  CHECK(
    line_of(with_headers)
    == R"({"epoch":1,"seq":12,"index":0,"stamp":"","collection":"files","key":"a","op":"upsert","payload":1,"headers":{"trace":"7\n","x":""},"ends_transaction":true})"
       "\n");
  CHECK(
    line_of({"fi\xFFles", "\x80", operation::upsert, "not JSON", {}})
    == R"({"epoch":1,"seq":12,"index":0,"stamp":"","collection_base64":"Zmn/bGVz","key_base64":"gA==","op":"upsert","payload_base64":"bm90IEpTT04=","ends_transaction":true})"
       "\n");
  std::string owned;
  weir::append_change(owned, {1, 12, {}, 0, false}, 0, {"files", "a", operation::erase, std::nullopt, {}}, "the \"first\"");
  CHECK(
    owned
    == R"({"epoch":1,"seq":12,"index":0,"stamp":"","pipeline":"the \"first\"","collection":"files","key":"a","op":"delete"})"
       "\n");
  std::string event;
  weir::append_event(event, weir::log_event::epoch, {2, 7, stamp_of("x"), 0, false});
  CHECK(event == "{\"epoch\":2,\"seq\":7,\"event\":\"epoch\",\"stamp\":\"78\"}\n");
  event.clear();
  weir::append_event(event, weir::log_event::position, {2, 7, stamp_of("x"), 0, true}, "p");
  CHECK(
    event == "{\"epoch\":2,\"seq\":7,\"event\":\"position\",\"stamp\":\"78\",\"pipeline\":\"p\",\"ends_transaction\":true}\n");
}

TEST_CASE("times are RFC 3339 with as many decimals as they need") {
  CHECK(time_of(0) == "1970-01-01T00:00:00Z");
  CHECK(time_of(1) == "1970-01-01T00:00:00.000000001Z");
  CHECK(time_of(-1) == "1969-12-31T23:59:59.999999999Z");
  CHECK(time_of(951'782'400'000'001'000) == "2000-02-29T00:00:00.000001Z");
  CHECK(time_of(1'000'000'000'120'000'000) == "2001-09-09T01:46:40.120Z");
  CHECK(time_of(std::numeric_limits<std::int64_t>::max()) == "2262-04-11T23:47:16.854775807Z");
  CHECK(time_of(std::numeric_limits<std::int64_t>::min()) == "1677-09-21T00:12:43.145224192Z");
}

TEST_CASE("what is written is read back byte for byte") {
  for (const auto seed : core_tests::seeds(4)) {
    CAPTURE(core_tests::replay(seed));
    core_tests::random_source random{seed};
    for (int round = 0; round < 200; ++round) {
      envelope change{"c" + random_bytes(random, 6), random_bytes(random, 30), operation::upsert, random_bytes(random, 60), {}};
      if (random.chance(20)) {
        change.operation = operation::erase;
        change.payload.reset();
      }
      if (random.chance(30))
        change.headers = {{"name", "value\n"}, {"", "\xC3\xA9"}};
      const position at{random.next(), random.next(), stamp_of(random_bytes(random, 3)),
        static_cast<std::int64_t>(random.next()), random.chance(50)};
      const auto index = random.next();
      const std::string pipeline{random.chance(50) ? "p\"1\n" : ""};
      const auto line = line_of(change, at, index, pipeline);
      REQUIRE(line.find('\n') == line.size() - 1);
      const auto read = read_change(line);
      REQUIRE(read.change);
      REQUIRE(are_same(*read.change, change));

      const auto logged = read_log_line(std::string_view{line}.substr(0, line.size() - 1));
      REQUIRE(logged);
      REQUIRE(logged->place == weir::change_place{at.epoch, at.seq, index});
      REQUIRE(logged->at == at);
      REQUIRE(logged->at.stamp == at.stamp);
      REQUIRE(logged->at.ends_transaction == at.ends_transaction);
      REQUIRE(logged->pipeline == pipeline);
    }
  }
}

TEST_CASE("a line that is broken off anywhere is no line of a log") {
  for (const auto& whole : {line_of(upsert("a\"b", R"({"a":[1,"}"]})"), {1, 12, stamp_of("xy"), 5, true}, 7),
         line_of({"files", "\xFF", operation::erase, std::nullopt, {{"a", "b"}}})}) {
    for (std::size_t size = 0; size < whole.size() - 1; ++size)
      REQUIRE_FALSE(read_log_line(std::string_view{whole}.substr(0, size)));
    REQUIRE(read_log_line(std::string_view{whole}.substr(0, whole.size() - 1)));
  }
  constexpr auto behind_all = std::numeric_limits<std::uint64_t>::max();
  using index = std::optional<std::uint64_t>;
  for (const auto& [what, ends, place] :
    {std::tuple{weir::log_event::epoch, true, index{}}, {weir::log_event::epoch, false, index{}},
      {weir::log_event::position, true, index{behind_all}}, {weir::log_event::position, false, index{}}}) {
    std::string event;
    weir::append_event(event, what, {2, 7, {}, 1, ends});
    for (std::size_t size = 0; size < event.size() - 1; ++size)
      REQUIRE_FALSE(read_log_line(std::string_view{event}.substr(0, size)));
    const auto read = read_log_line(std::string_view{event}.substr(0, event.size() - 1));
    REQUIRE(read);
    CHECK(read->place == weir::change_place{2, 7, place});
    CHECK(read->at.ends_transaction == ends);
  }
}

TEST_CASE("lines of something else are no lines of a log") {
  for (const auto* line : {"", "{}", R"({"level":"info"})", R"({"epoch":1})", R"({"epoch":1,"seq":2})",
         R"({"epoch":-1,"seq":2,"index":0})", R"({"epoch":1,"seq":2,"index":0} )",
         R"({"epoch":1,"seq":2,"index":0,"event":"epoch"})", R"({"epoch":1,"seq":2.5,"index":0})",
         R"({"epoch":1,"seq":2,"index":0,"stamp":"abc"})", R"({"epoch":1,"seq":2,"index":0,"stamp":"zz"})",
         R"({"epoch":1,"seq":2,"event":"other"})", R"({"epoch":1,"seq":2,"event":1})", R"({"seq":2,"epoch":1,"index":0})"})
    CHECK_MESSAGE(!read_log_line(line), line);
}

TEST_CASE("the event of an epoch comes before all changes of its seq") {
  CHECK(weir::change_place{2, 7, std::nullopt} < weir::change_place{2, 7, 0});
  CHECK(weir::change_place{2, 7, std::nullopt} > weir::change_place{2, 6, 9});
  CHECK(weir::change_place{1, 9, 9} < weir::change_place{2, 0, std::nullopt});
  CHECK(weir::change_place{1, 1, 9} < weir::change_place{1, 1, 10});
}

TEST_CASE("a line of input needs no more than collection, key, op and payload") {
  const auto plain = read_change(R"({"collection":"files","key":"a","op":"upsert","payload":{"x": [1,  2.50]}})");
  REQUIRE(plain.change);
  CHECK(are_same(*plain.change, upsert("a", R"({"x": [1,  2.50]})"))); // the very bytes of the value
  const auto spaced =
    read_change(" { \"op\" : \"upsert\" ,\t\"payload\" : \"\\u00e9\" , \"key\":\"\",\"collection\":\"c\" } \r\n");
  REQUIRE(spaced.change);
  CHECK(are_same(*spaced.change, {"c", "", operation::upsert, R"("\u00e9")", {}}));
  const auto deleted = read_change(R"({"collection":"c","key":"a\u0000b","op":"delete","payload":null})");
  REQUIRE(deleted.change);
  CHECK(are_same(*deleted.change, {"c", "a\0b"s, operation::erase, std::nullopt, {}}));
  const auto bytes =
    read_change(R"({"collection":"c","key_base64":"/w==","op":"upsert","payload_base64":"","extra":{"key":[]},"extra":1})");
  REQUIRE(bytes.change);
  CHECK(are_same(*bytes.change, {"c", "\xFF", operation::upsert, "", {}}));
  const auto null = read_change(R"({"collection":"c","key":"a","op":"upsert","payload":null})");
  REQUIRE(null.change);
  CHECK(null.change->payload == "null");
}

TEST_CASE("blank lines and events carry no change") {
  CHECK(fault_of("") == "no change");
  CHECK(fault_of(" \t\r\n") == "no change");
  CHECK(fault_of(R"({"epoch":2,"seq":7,"event":"epoch","stamp":""})") == "no change");
  CHECK(fault_of(R"({"event":"x","collection":"c","key":"a","op":"delete","ends_transaction":true})") == "a change");
}

TEST_CASE("a bad line says what was expected and where") {
  CHECK(fault_of("hello") == "0: a JSON object");
  CHECK(fault_of("[1]") == "0: a JSON object");
  CHECK(fault_of("{}") == "1: a member \"collection\"");
  CHECK(fault_of(R"({"collection":"c"})") == "17: a member \"key\" or \"key_base64\"");
  CHECK(fault_of(R"({"collection":"c","key":"k"})") == "27: a member \"op\"");
  CHECK(
    fault_of(R"({"collection":"c","key":"k","op":"upsert"})") == "41: a member \"payload\" or \"payload_base64\" on an upsert");
  CHECK(fault_of(R"({"collection":"c","key":"k","op":"update","payload":1})") == "33: \"upsert\" or \"delete\"");
  CHECK(fault_of(R"({"collection":"c","key":"k","op":"delete","payload":1})") == "53: no payload on a delete");
  CHECK(fault_of(R"({"collection":1})") == "14: a string");
  CHECK(fault_of(R"({"collection":""})") == "15: a collection's name that is not empty");
  CHECK(fault_of(R"({"key":7})") == "7: a string");
  CHECK(fault_of(R"({"key":"a","key_base64":"YQ=="})") == "24: no second key");
  CHECK(fault_of(R"({"payload":1,"payload":2})") == "23: no second payload");
  CHECK(fault_of(R"({"key_base64":"YQ"})") == "14: standard base64 with padding");
  CHECK(fault_of(R"({"headers":[]})") == "11: a JSON object");
  CHECK(fault_of(R"({"headers":{"a":1}})") == "16: a string");
  CHECK(fault_of(R"({"payload":})") == "11: a JSON value");
  CHECK(fault_of(R"({"a":1} x)") == "8: nothing after the object");
  CHECK(fault_of(R"({"a":1)") == "6: a comma or }");
  CHECK(fault_of("{\"a\":\"\xFF\"}") == "6: well-formed UTF-8");
}
