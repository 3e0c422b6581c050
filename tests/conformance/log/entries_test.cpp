#include "conformance/log/log_caller.hpp"

#include <doctest/doctest.h>

using namespace log_suite;
using weir::errc;

TEST_CASE("log: what is appended is read in its order, with offsets from 0") {
  log_caller log;
  topic_caller topic{log, "orders"};
  CHECK(topic.bounds() == std::vector<weir::shard_bounds>{{0, 0}});
  CHECK(topic.append_payloads({"a", "b"}) == std::vector<std::int64_t>{0, 1});
  CHECK(topic.append_payloads({"c"}) == std::vector<std::int64_t>{2});
  CHECK(topic.bounds() == std::vector<weir::shard_bounds>{{0, 3}});
  const auto all = topic.read_all();
  REQUIRE(all.size() == 3);
  CHECK(all[2].payload == "c");
  CHECK(all[2].offset == 2);
}

TEST_CASE("log: key, dedupe key, payload and time come back byte for byte") {
  log_caller log;
  topic_caller topic{log, "bytes"};
  std::string every;
  for (int byte = 0; byte < 256; ++byte)
    every += static_cast<char>(byte);
  const std::string large(300'000, '\0');
  REQUIRE(topic.append({{.key = every, .dedupe = every + "d", .payload = large}}));
  log.clock().advance(std::chrono::seconds{1});
  REQUIRE(topic.append({weir::new_entry{}}));
  const auto all = topic.read_all();
  REQUIRE(all.size() == 2);
  CHECK(all[0].key == every);
  CHECK(all[0].dedupe == every + "d");
  CHECK(all[0].payload == large);
  CHECK(all[1].key.empty());
  CHECK(all[1].payload.empty());
  CHECK(all[1].time - all[0].time == 1'000'000'000);
}

TEST_CASE("log: a read stops at its limits, and returns one entry at least") {
  log_caller log;
  topic_caller topic{log, "limits"};
  topic.append_payloads({std::string(100, 'a'), std::string(100, 'b'), std::string(100, 'c')});
  const auto count = [&](std::int64_t after, weir::entry_limits limits) {
    auto brought = topic.read(0, after, limits);
    REQUIRE(brought);
    return brought.value().entries.size();
  };
  CHECK(count(-1, {.entries = 2, .bytes = 1000}) == 2);
  CHECK(count(-1, {.entries = 10, .bytes = 200}) == 2);
  CHECK(count(-1, {.entries = 10, .bytes = 199}) == 1);
  CHECK(count(-1, {.entries = 10, .bytes = 1}) == 1);
  CHECK(count(-1, {.entries = 0, .bytes = 0}) == 1);
  CHECK(count(1, {.entries = 10, .bytes = 1000}) == 1);
  CHECK(count(2, {.entries = 10, .bytes = 1000}) == 0);
}

TEST_CASE("log: a cursor beyond the head, and a shard that is not there, are refused with what there is") {
  log_caller log;
  topic_caller topic{log, "ahead"};
  topic.append_payloads({"a"});
  auto ahead = topic.read(0, 1);
  REQUIRE_FALSE(ahead);
  CHECK(ahead.error() == errc::ahead_of_head);
  CHECK(ahead.error().fact_of("requested") == "1");
  CHECK(ahead.error().fact_of("head") == "1");
  CHECK(topic.read(1, -1).error() == errc::invalid_argument);
}
