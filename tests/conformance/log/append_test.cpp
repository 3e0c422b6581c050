#include "conformance/log/log_caller.hpp"

#include <doctest/doctest.h>

using namespace log_suite;
using weir::append_call;
using weir::entry_place;
using weir::errc;
using weir::new_entry;

namespace {

append_call call_of(std::vector<new_entry> entries, std::optional<std::int64_t> expected_head = {}) {
  return {std::move(entries), expected_head};
}

new_entry to_shard(std::uint32_t shard, std::string payload) {
  return {.payload = std::move(payload), .shard = shard};
}

} // namespace

TEST_CASE("log: the entries of one append get offsets together, in their order, in each shard") {
  log_caller log;
  topic_caller topic{log, "orders", {.shards = 3}};
  const auto first = must(topic.append({to_shard(2, "a"), to_shard(0, "b"), to_shard(2, "c"), to_shard(2, "d")}));
  CHECK(first == std::vector<entry_place>{{2, 0}, {0, 0}, {2, 1}, {2, 2}});
  const auto second = must(topic.append({to_shard(0, "e"), to_shard(2, "f")}));
  CHECK(second == std::vector<entry_place>{{0, 1}, {2, 3}});
  CHECK(topic.payloads(0) == texts{"b", "e"});
  CHECK(topic.payloads(1).empty());
  CHECK(topic.payloads(2) == texts{"a", "c", "d", "f"});
}

TEST_CASE("log: an append with an entry that is refused stores nothing of it") {
  log_caller log{{.largest_entry = 100}};
  topic_caller topic{log, "orders", {.shards = 2}};
  topic.append_payloads({"there"});
  must(topic.append({{.dedupe = "known", .payload = "first"}}));
  const auto before = topic.bounds();

  CHECK(fault(topic.append({to_shard(0, "a"), to_shard(1, "b"), to_shard(0, std::string(101, 'x'))})) == errc::entry_too_large);
  CHECK(fault(topic.append({to_shard(0, "a"), to_shard(1, "b"), to_shard(2, "c")})) == errc::invalid_argument);
  CHECK(fault(topic.append({to_shard(0, "a"), {.dedupe = "new", .payload = "b"}, {.dedupe = "known", .payload = "other"}}))
        == errc::dedupe_conflict);
  CHECK(fault(topic.append({to_shard(0, "a"), to_shard(0, "b")}, 1)) == errc::head_moved);
  CHECK(topic.bounds() == before);

  // Nor does it remember a dedupe key of it.
  CHECK(must(topic.append({{.dedupe = "new", .payload = "quite another"}})) == std::vector<entry_place>{{0, 2}});
  CHECK(topic.payloads() == texts{"there", "first", "quite another"});
}

TEST_CASE("log: an entry that is too large is refused with its size, its place in the append and what the store takes") {
  log_caller log{{.largest_entry = 100}};
  topic_caller topic{log, "orders"};
  CHECK(topic.topic()->description().largest_entry == 100);
  must(topic.append({{.key = std::string(30, 'k'), .dedupe = std::string(30, 'd'), .payload = std::string(40, 'p')}}));
  for (const auto& one : std::vector<new_entry>{{.key = std::string(30, 'k'), .payload = std::string(71, 'p')},
         {.dedupe = std::string(30, 'd'), .payload = std::string(71, 'p')}, {.payload = std::string(101, 'p')},
         {.key = std::string(101, 'k')}, {.dedupe = std::string(101, 'd')}}) {
    const auto refused = topic.append({{.payload = "fits"}, one});
    CHECK(fault(refused) == errc::entry_too_large);
    CHECK(fact(refused, "entry") == "1");
    CHECK(fact(refused, "size") == "101");
    CHECK(fact(refused, "largest") == "100");
  }
  CHECK(topic.bounds().front().head == 1);
}

TEST_CASE("log: an append without entries is refused") {
  log_caller log;
  topic_caller topic{log, "orders"};
  CHECK(fault(topic.append({})) == errc::invalid_argument);
  CHECK(topic.bounds().front().head == 0);
}

TEST_CASE("log: an entry for a shard that is not there, or for none, is refused with its place in the append") {
  log_caller log;
  topic_caller topic{log, "orders", {.shards = 2}};
  const auto beyond = topic.append({to_shard(1, "a"), to_shard(2, "b")});
  CHECK(fault(beyond) == errc::invalid_argument);
  CHECK(fact(beyond, "entry") == "1");
  CHECK(fact(beyond, "shard") == "2");
  CHECK(fact(beyond, "shards") == "2");

  std::vector<append_call> calls;
  calls.push_back(call_of({{.payload = "nowhere"}}));
  const auto outcome = topic.append_calls(std::move(calls));
  REQUIRE(outcome.decided.size() == 1);
  CHECK(fault(outcome.decided.front()) == errc::invalid_argument);
  CHECK(fact(outcome.decided.front(), "shard") == "none");
  CHECK(topic.bounds() == std::vector<weir::shard_bounds>{{0, 0}, {0, 0}});
}

TEST_CASE("log: an append that expects a head happens at that head alone") {
  log_caller log;
  topic_caller topic{log, "orders", {.shards = 2}};
  CHECK(must(topic.append({{.payload = "a"}, {.payload = "b"}}, 0)).back().offset == 1);
  CHECK(must(topic.append({{.payload = "c"}}, 2)).front().offset == 2);
  for (const std::int64_t wrong : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{2}, std::int64_t{4}, INT64_MAX}) {
    const auto moved = topic.append({{.payload = "never"}}, wrong);
    CHECK(fault(moved) == errc::head_moved);
    CHECK(fact(moved, "shard") == "0");
    CHECK(fact(moved, "expected") == std::to_string(wrong));
    CHECK(fact(moved, "head") == "3");
  }
  CHECK(must(topic.append({to_shard(1, "other")}, 0)).front() == entry_place{1, 0}); // each shard has a head of its own
  CHECK(topic.payloads() == texts{"a", "b", "c"});
  CHECK(topic.payloads(1) == texts{"other"});
}

TEST_CASE("log: the head that is expected of a trimmed shard is the next offset") {
  log_caller log;
  topic_caller topic{log, "orders"};
  topic.append_payloads({"a", "b"});
  must(topic.force_trim(1));
  CHECK(fault(topic.append({{.payload = "c"}}, 0)) == errc::head_moved);
  CHECK(must(topic.append({{.payload = "c"}}, 2)).front().offset == 2);
}

TEST_CASE("log: an append that expects a head is for one shard") {
  log_caller log;
  topic_caller topic{log, "orders", {.shards = 2}};
  const auto mixed = topic.append({to_shard(1, "a"), to_shard(0, "b")}, 0);
  CHECK(fault(mixed) == errc::invalid_argument);
  CHECK(fact(mixed, "entry") == "1");
  CHECK(topic.bounds() == std::vector<weir::shard_bounds>{{0, 0}, {0, 0}});
}

TEST_CASE(
  "log: of several appends in one call, those that are at fault are refused alone, and the others are stored in order") {
  log_caller log{{.largest_entry = 100}};
  topic_caller topic{log, "orders", {.shards = 2}};
  std::vector<append_call> calls;
  calls.push_back(call_of({to_shard(0, "a"), to_shard(1, "b")}));
  calls.push_back(call_of({to_shard(0, std::string(101, 'x'))}));
  calls.push_back(call_of({to_shard(0, "c")}, 1)); // behind the first of them
  calls.push_back(call_of({to_shard(0, "d")}, 1)); // not behind the third
  calls.push_back(call_of({}));
  calls.push_back(call_of({to_shard(7, "e")}));
  calls.push_back(call_of({{.dedupe = "key", .payload = "f", .shard = 1}}));
  calls.push_back(call_of({to_shard(0, "g"), {.dedupe = "key", .payload = "other", .shard = 1}}));
  calls.push_back(call_of({{.dedupe = "key", .payload = "f", .shard = 0}}));
  calls.push_back(call_of({to_shard(0, "h")}));
  const auto outcome = topic.append_calls(std::move(calls));
  CHECK_FALSE(outcome.failure);
  CHECK(outcome.undecided.empty());
  REQUIRE(outcome.decided.size() == 10);
  const auto& decided = outcome.decided;
  CHECK(must(decided[0]) == std::vector<entry_place>{{0, 0}, {1, 0}});
  CHECK(fault(decided[1]) == errc::entry_too_large);
  CHECK(must(decided[2]) == std::vector<entry_place>{{0, 1}});
  CHECK(fault(decided[3]) == errc::head_moved);
  CHECK(fact(decided[3], "head") == "2");
  CHECK(fault(decided[4]) == errc::invalid_argument);
  CHECK(fault(decided[5]) == errc::invalid_argument);
  CHECK(must(decided[6]) == std::vector<entry_place>{{1, 1}});
  CHECK(fault(decided[7]) == errc::dedupe_conflict);
  CHECK(must(decided[8]) == std::vector<entry_place>{{1, 1, true}});
  CHECK(must(decided[9]) == std::vector<entry_place>{{0, 2}});
  CHECK(topic.payloads(0) == texts{"a", "c", "h"});
  CHECK(topic.payloads(1) == texts{"b", "f"});
}

TEST_CASE("log: a call without appends decides nothing") {
  log_caller log;
  topic_caller topic{log, "orders"};
  const auto outcome = topic.append_calls({});
  CHECK(outcome.decided.empty());
  CHECK_FALSE(outcome.failure);
}

TEST_CASE("log: order holds over many appends of all sizes") {
  log_caller log;
  topic_caller topic{log, "orders"};
  texts all;
  for (std::size_t round = 0; round < 40; ++round) {
    texts some;
    for (std::size_t one = 0; one <= round % 7; ++one)
      some.push_back(std::to_string(all.size() + one) + std::string((round * 977 + one * 131) % 30'000, '.'));
    const auto got = topic.append_payloads(some);
    for (std::size_t one = 0; one < got.size(); ++one)
      CHECK(got[one] == static_cast<std::int64_t>(all.size() + one));
    all.insert(all.end(), some.begin(), some.end());
  }
  CHECK(topic.payloads() == all);
  const auto whole = must(topic.read(0, -1, {.entries = all.size() + 1, .bytes = 64 << 20}));
  REQUIRE(whole.entries.size() == all.size());
  for (std::size_t one = 0; one < all.size(); ++one)
    CHECK(whole.entries[one].offset == static_cast<std::int64_t>(one));
}

TEST_CASE("log: times never fall within a shard, also when the clock goes back") {
  log_caller log;
  topic_caller topic{log, "orders", {.shards = 2}};
  const auto begun = log.clock().now();
  topic.append_payloads({"a"});
  log.clock().advance(std::chrono::seconds{10});
  topic.append_payloads({"b"});
  log.clock().go_back(std::chrono::hours{1});
  topic.append_payloads({"c", "d"});
  topic.append_payloads({"other"}, 1); // was never ahead
  log.clock().advance(std::chrono::hours{2});
  topic.append_payloads({"e"});
  const auto all = topic.read_all();
  REQUIRE(all.size() == 5);
  const std::int64_t second = 1'000'000'000;
  CHECK(all[0].time == begun);
  CHECK(all[1].time == begun + 10 * second);
  CHECK(all[2].time == begun + 10 * second);
  CHECK(all[3].time == begun + 10 * second);
  CHECK(all[4].time == begun + 3610 * second);
  CHECK(topic.read_all(1).front().time == begun - 3590 * second);
}

TEST_CASE("log: entries, offsets and times are there after the store was opened anew") {
  log_caller log;
  if (lacks(log.store().capabilities().survives_process, "nothing of it outlives its store"))
    return;
  auto topic = std::make_unique<topic_caller>(log, "orders", weir::topic_layout{.shards = 2});
  must(topic->append({{.key = "k", .dedupe = "d", .payload = "a", .shard = 1}, to_shard(1, "b"), to_shard(0, "c")}));
  log.clock().advance(std::chrono::seconds{10});
  topic->append_payloads({"e"}, 1);
  const auto before = topic->read_all(1);
  topic.reset();
  log.reopen();

  topic_caller again{log, "orders", {.shards = 2}};
  CHECK(again.bounds() == std::vector<weir::shard_bounds>{{0, 1}, {0, 3}});
  const auto after = again.read_all(1);
  REQUIRE(after.size() == before.size());
  for (std::size_t one = 0; one < after.size(); ++one) {
    CHECK(after[one].offset == before[one].offset);
    CHECK(after[one].key == before[one].key);
    CHECK(after[one].dedupe == before[one].dedupe);
    CHECK(after[one].payload == before[one].payload);
    CHECK(after[one].time == before[one].time);
    CHECK(after[one].digest == before[one].digest);
  }
  log.clock().go_back(std::chrono::seconds{5});
  CHECK(again.append_payloads({"f"}, 1) == offsets{3});
  CHECK(again.read_all(1).back().time == before.back().time); // it knows how late it was
}
