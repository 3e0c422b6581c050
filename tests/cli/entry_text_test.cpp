#include <weir/cli/entry_text.hpp>

#include "../core/seeds.hpp"

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include <string>

namespace {

using namespace weir;
using namespace weir::cli;
namespace json = boost::json;

const cursor somewhere{0x0123456789abcdef, "main", 1, {4, -1}};

new_entry accepted(std::string_view line) {
  auto read = read_entry(line);
  REQUIRE_MESSAGE(read.has_value(), (read ? std::string{} : read.error().to_string()));
  REQUIRE(read.value());
  return *read.value();
}

std::string refused(std::string_view line) {
  const auto read = read_entry(line);
  REQUIRE_FALSE(read);
  CHECK(read.error() == errc::bad_record);
  return read.error().sentence();
}

TEST_CASE("a time has nine decimals, always") {
  CHECK(nanosecond_time(0) == "1970-01-01T00:00:00.000000000Z");
  CHECK(nanosecond_time(1'767'312'245'678'901'234) == "2026-01-02T00:04:05.678901234Z");
  CHECK(nanosecond_time(-1) == "1969-12-31T23:59:59.999999999Z");
  CHECK(nanosecond_time(INT64_MIN) == "1677-09-21T00:12:43.145224192Z");
  CHECK(nanosecond_time(INT64_MAX) == "2262-04-11T23:47:16.854775807Z");
}

TEST_CASE("an entry is one line of JSON") {
  std::string text;
  append_entry(text, 1, {7, "k", "d", "say \"hi\"\n", 1'500'000'000, {}}, somewhere);
  CHECK(text
        == "{\"shard\":1,\"offset\":7,\"time\":\"1970-01-01T00:00:01.500000000Z\",\"key\":\"k\",\"dedupe\":\"d\","
           "\"payload\":\"say \\\"hi\\\"\\n\",\"cursor\":\""
             + to_text(somewhere) + "\"}\n");
  text.clear();
  append_entry(text, 0, {0, "", "", "\xff", 0, {}}, somewhere);
  CHECK(text
        == "{\"shard\":0,\"offset\":0,\"time\":\"1970-01-01T00:00:00.000000000Z\",\"payload_base64\":\"/w==\",\"cursor\":\""
             + to_text(somewhere) + "\"}\n");
}

TEST_CASE("what one command prints the other reads, byte for byte") {
  for (const auto seed : core_tests::seeds(300)) {
    core_tests::random_source random{seed};
    const auto bytes = [&](std::uint64_t most) {
      std::string made;
      const bool is_text = random.chance(50);
      for (auto size = random.below(most); size > 0; --size)
        made += static_cast<char>(is_text ? random.between(0, 127) : random.below(256));
      return made;
    };
    const entry printed{static_cast<std::int64_t>(random.below(100)), bytes(5), bytes(5), bytes(40), 1, {}};
    const auto shard = static_cast<std::uint32_t>(random.below(5));
    std::string line;
    append_entry(line, shard, printed, somewhere);
    CHECK(line.find('\n') == line.size() - 1);
    CHECK(json::parse(line).at("shard") == shard);
    const auto read = accepted(std::string_view{line}.substr(0, line.size() - 1));
    CHECK_MESSAGE(read.key == printed.key, core_tests::replay(seed));
    CHECK_MESSAGE(read.dedupe == printed.dedupe, core_tests::replay(seed));
    CHECK_MESSAGE(read.payload == printed.payload, core_tests::replay(seed));
    CHECK(read.shard == shard);
  }
}

TEST_CASE("a line needs a payload, and nothing else") {
  CHECK(accepted("{\"payload\":\"p\"}").payload == "p");
  CHECK_FALSE(accepted("{\"payload\":\"p\"}").shard);
  CHECK(accepted(" { \"payload\" : \"\" , \"key\" : \"\" } \r").payload.empty());
  CHECK(accepted("{\"payload_base64\":\"/w==\",\"key_base64\":\"AA==\",\"dedupe_base64\":\"\"}").key == std::string(1, '\0'));
  CHECK(accepted("{\"shard\":4294967295,\"offset\":{\"any\":[1]},\"time\":null,\"cursor\":3,\"payload\":\"\\u0000\"}").shard
        == 4294967295);
  for (const auto* blank : {"", " ", "\t\r"}) {
    const auto read = read_entry(blank);
    REQUIRE(read);
    CHECK_FALSE(read.value());
  }
}

TEST_CASE("what is wrong with a line is said") {
  CHECK(refused("payload") == "it is no JSON at byte 0; expected an object, which begins with {");
  CHECK(refused("{}") == "it has no payload");
  CHECK(refused("{\"key\":\"k\"}") == "it has no payload");
  CHECK(refused("{\"payload\":\"p\"") == "it is no JSON at byte 14; expected a comma or }");
  CHECK(refused("{\"payload\":\"p\"} x") == "something follows the object, at byte 16");
  CHECK(refused("{\"payload\":\"p\",}").starts_with("it is no JSON at byte 15; expected"));
  CHECK(refused("{\"payload\" \"p\"}") == "it is no JSON at byte 11; expected a colon");
  CHECK(refused("{\"payload\":{\"a\":1}}") == "its payload is no text");
  CHECK(refused("{\"payload\":\"p\",\"key\":7}") == "its key is no text");
  CHECK(refused("{\"payload_base64\":\"/w=\"}") == "its payload_base64 is no base64 with padding");
  CHECK(refused("{\"payload\":\"p\",\"payload_base64\":\"\"}") == "it has two members \"payload\"");
  CHECK(refused("{\"payload\":\"p\",\"key\":\"\",\"key\":\"\"}") == "it has two members \"key\"");
  CHECK(refused("{\"payload\":\"p\",\"shard\":1,\"shard\":1}") == "it has two members \"shard\"");
  for (const auto* wrong : {"-1", "4294967296", "\"1\"", "1.5", "1e3"})
    CHECK_MESSAGE(!read_entry("{\"payload\":\"p\",\"shard\":" + std::string{wrong} + "}"), wrong);
  CHECK(refused("{\"payload\":\"p\",\"shard\":-1}") == "its shard is no whole number from 0 to 4095");
  CHECK(refused("{\"payload\":\"p\",\"dedup\":\"d\"}")
        == "it has a member \"dedup\", and there is none of that name; did you mean \"dedupe\"?");
  CHECK(refused("{\"payload\":\"\xff\"}").starts_with("it is no JSON at byte"));
  CHECK(refused("{\"payload\":\"p\",\"time\":}").starts_with("it is no JSON at byte"));
}

TEST_CASE("bent lines are read or refused with a reason, never more") {
  const std::string sound{
    R"({"shard":1,"offset":2,"time":"t","key":"k\u00e9","dedupe_base64":"/w==","payload":"p","cursor":"w1"})"};
  for (const auto seed : core_tests::seeds(2000)) {
    core_tests::random_source random{seed};
    auto line = sound;
    for (auto bends = random.between(1, 4); bends > 0; --bends) {
      const auto at = static_cast<std::size_t>(random.below(line.size() + 1));
      if (random.chance(50))
        line.insert(at, 1, static_cast<char>(random.below(256)));
      else
        line.erase(at, static_cast<std::size_t>(random.between(1, 6)));
    }
    const auto read = read_entry(line);
    CHECK_MESSAGE((read || (read.error() == errc::bad_record && !read.error().sentence().empty())), core_tests::replay(seed));
  }
}

TEST_CASE("a place is a cursor's text or, with one shard, an offset") {
  const cursor one{7, "main", 2, {-1}};
  CHECK(place_in(one, "41").value() == std::vector<std::int64_t>{41});
  CHECK(place_in(one, "-1").value() == std::vector<std::int64_t>{-1});
  CHECK(place_in(one, "4611686018427387904").value() == std::vector<std::int64_t>{std::int64_t{1} << 62});
  CHECK(place_in(one, to_text({7, "main", 2, {5}})).value() == std::vector<std::int64_t>{5});
  for (const auto* wrong :
    {"-2", "4611686018427387905", "9223372036854775808", "99999999999999999999", "-99999999999999999999"})
    CHECK(place_in(one, wrong).error().sentence()
          == "an offset is a number from -1 to 2^62, and " + std::string{wrong} + " is none");
  for (const auto* wrong : {"", "+1", "1 ", "x", "0x10", "1e3", "w1:0"})
    CHECK(place_in(one, wrong).error() == errc::invalid_cursor);
  CHECK(place_in(one, to_text({8, "main", 2, {5}})).error() == errc::wrong_source);
  CHECK(place_in(one, to_text({7, "other", 2, {5}})).error() == errc::wrong_source);
  CHECK(place_in(one, to_text({7, "main", 1, {5}})).error() == errc::stale_epoch);
  CHECK(place_in(one, to_text({7, "main", 2, {5, 5}})).error() == errc::layout_mismatch);
  const auto whole = to_text({7, "main", 2, {5}});
  CHECK(place_in(one, whole.substr(0, whole.size() - 1)).error() == errc::invalid_cursor);
  CHECK(place_in({7, "main", 2, {-1, -1}}, "41").error().sentence()
        == "the topic \"main\" has 2 shards, and 41 says a place in one of them; a cursor says one in each");
}

} // namespace
