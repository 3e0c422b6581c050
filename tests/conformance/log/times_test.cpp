#include "conformance/log/log_caller.hpp"

#include <doctest/doctest.h>

using namespace log_suite;
using namespace std::chrono_literals;
using weir::errc;

namespace {

constexpr std::int64_t second = 1'000'000'000;

/// What a store keeps of an entry beside its bytes.
constexpr std::uint64_t most_overhead = 64;

bool is_about(std::uint64_t bytes, std::uint64_t appended, std::uint64_t entries) {
  return bytes >= appended && bytes <= appended + entries * most_overhead;
}

} // namespace

TEST_CASE("log: the offset at a time is that of the first entry that is not older") {
  log_caller log;
  topic_caller topic{log, "orders", {.shards = 2}};
  if (!log.store().capabilities().offset_at) {
    CHECK(fault(topic.offset_at(0, 0)) == errc::unsupported);
    lacks(false, "entries can't be found by their time");
    return;
  }
  const auto begun = log.clock().now();
  CHECK(must(topic.offset_at(0, begun)) == 0); // the head of an empty shard
  topic.append_payloads({"0", "1"});
  log.clock().advance(10s);
  topic.append_payloads({"2"});
  topic.append_payloads({"3"});
  log.clock().advance(10s);
  topic.append_payloads({"other"}, 1);
  topic.append_payloads({"4"});
  CHECK(must(topic.offset_at(0, INT64_MIN)) == 0);
  CHECK(must(topic.offset_at(0, -1)) == 0);
  CHECK(must(topic.offset_at(0, begun)) == 0);
  CHECK(must(topic.offset_at(0, begun + 1)) == 2);
  CHECK(must(topic.offset_at(0, begun + 10 * second)) == 2);
  CHECK(must(topic.offset_at(0, begun + 10 * second + 1)) == 4);
  CHECK(must(topic.offset_at(0, begun + 20 * second)) == 4);
  CHECK(must(topic.offset_at(0, begun + 20 * second + 1)) == 5);
  CHECK(must(topic.offset_at(0, INT64_MAX)) == 5);
  CHECK(must(topic.offset_at(1, begun + 20 * second)) == 0);
  CHECK(must(topic.offset_at(1, begun + 20 * second + 1)) == 1);
  CHECK(fault(topic.offset_at(2, begun)) == errc::invalid_argument);

  must(topic.force_trim(2));
  CHECK(must(topic.offset_at(0, begun)) == 3); // of what is retained
  CHECK(must(topic.offset_at(0, begun + 20 * second)) == 4);
  must(topic.force_trim(4));
  CHECK(must(topic.offset_at(0, begun)) == 5);
}

TEST_CASE("log: among many entries, the offset at each time is right") {
  log_caller log;
  if (lacks(log.store().capabilities().offset_at, "entries can't be found by their time"))
    return;
  topic_caller topic{log, "orders"};
  std::vector<std::int64_t> times;
  for (std::size_t round = 0; round < 40; ++round) {
    const auto count = round * 7 % 5 + 1;
    topic.append_payloads(texts(count, "p"));
    times.insert(times.end(), count, log.clock().now());
    log.clock().advance(std::chrono::nanoseconds{static_cast<std::int64_t>(round % 3)});
  }
  must(topic.force_trim(17));
  for (auto time = times.front() - 1; time <= times.back() + 1; ++time) {
    const auto first = std::lower_bound(times.begin() + 18, times.end(), time) - times.begin();
    REQUIRE(must(topic.offset_at(0, time)) == first);
  }
}

TEST_CASE("log: lag says how many entries, how many bytes and how much time lie behind an offset, in each shard") {
  log_caller log;
  topic_caller topic{log, "orders", {.shards = 2}};
  for (const auto& one : must(topic.lag({-1, -1}))) {
    CHECK(one.entries == 0);
    CHECK(one.bytes == 0);
    CHECK(one.age == 0s);
  }
  must(topic.append({{.key = std::string(50, 'k'), .dedupe = std::string(50, 'd'), .payload = std::string(900, 'p')}}));
  log.clock().advance(10s);
  topic.append_payloads({std::string(2000, 'p'), std::string(3000, 'p')});
  topic.append_payloads({std::string(4000, 'p')}, 1);
  log.clock().advance(5s);

  const auto all = must(topic.lag({-1, -1}));
  CHECK(all[0].entries == 3);
  CHECK(is_about(all[0].bytes, 6000, 3));
  CHECK(all[0].age == 15s);
  CHECK(all[1].entries == 1);
  CHECK(is_about(all[1].bytes, 4000, 1));
  CHECK(all[1].age == 5s);
  const auto some = must(topic.lag({1, 0}));
  CHECK(some[0].entries == 1);
  CHECK(is_about(some[0].bytes, 3000, 1));
  CHECK(some[0].age == 5s);
  CHECK(some[1].entries == 0);
  CHECK(some[1].bytes == 0);
  CHECK(some[1].age == 0s);
  for (const auto& one : must(topic.lag({INT64_MAX, 5}))) // beyond the head, nothing follows
    CHECK(one.entries + one.bytes == 0);

  must(topic.force_trim(0)); // what is gone is no lag
  const auto left = must(topic.lag({-1, -1}));
  CHECK(left[0].entries == 2);
  CHECK(is_about(left[0].bytes, 5000, 2));
  CHECK(left[0].age == 5s);
  log.clock().go_back(1h);
  CHECK(must(topic.lag({-1, -1}))[0].age == 0s);
  CHECK(fault(topic.lag({-1})) == errc::invalid_argument);
  CHECK(fault(topic.lag({-1, -2})) == errc::invalid_argument);
}
