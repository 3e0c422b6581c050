#include "conformance/log/log_caller.hpp"

#include <doctest/doctest.h>

using namespace log_suite;
using namespace std::chrono_literals;
using weir::errc;
using weir::shard_bounds;

namespace {

/// Ten entries, the first five and the others stored together.
struct ten_entries {
  explicit ten_entries(std::uint32_t shards = 1) : topic{log, "orders", {.shards = shards}} {
    for (std::uint32_t shard = 0; shard < shards; ++shard) {
      topic.append_payloads(numbered("entry ", 5), shard);
      topic.append_payloads(numbered("entry ", 5, 5), shard);
    }
  }

  shard_bounds bounds(std::uint32_t shard = 0) { return topic.bounds().at(shard); }

  log_caller log;
  topic_caller topic;
};

} // namespace

TEST_CASE("log: what no snapshot covers is trimmed only by force") {
  ten_entries all;
  auto& topic = all.topic;
  const auto none = topic.trim({.through = {0}});
  CHECK(fault(none) == errc::not_covered);
  CHECK(fact(none, "topic") == "orders");
  CHECK(fact(none, "best_snapshot") == "none");
  CHECK(all.bounds() == shard_bounds{0, 10});

  const auto snapshot = must(topic.snapshot({3}, {"state"}));
  const auto beyond = topic.trim({.through = {4}});
  CHECK(fault(beyond) == errc::not_covered);
  CHECK(fact(beyond, "best_snapshot") == std::to_string(snapshot.id));
  CHECK(all.bounds() == shard_bounds{0, 10});
  const auto trimmed = must(topic.trim({.through = {3}}));
  CHECK(trimmed.bounds == std::vector<shard_bounds>{{4, 10}});
  CHECK(trimmed.held_by.empty());
  CHECK(trimmed.expired.empty());
  CHECK(topic.payloads() == numbered("entry ", 6, 4));
  CHECK(must(topic.trim({.through = {5}, .force = true})).bounds == std::vector<shard_bounds>{{6, 10}});
  CHECK(all.bounds() == shard_bounds{6, 10});
}

TEST_CASE("log: a trim of several shards is covered by one snapshot of all of them, or not at all") {
  ten_entries all{2};
  auto& topic = all.topic;
  must(topic.snapshot({5, -1}, {"left"}));
  must(topic.snapshot({-1, 5}, {"right"}));
  CHECK(fault(topic.trim({.through = {2, 2}})) == errc::not_covered);
  CHECK(must(topic.trim({.through = {2, -1}})).bounds == std::vector<shard_bounds>{{3, 10}, {0, 10}});
  must(topic.snapshot({4, 4}, {"both"}));
  CHECK(fault(topic.trim({.through = {4, 5}})) == errc::not_covered);
  CHECK(must(topic.trim({.through = {4, 4}})).bounds == std::vector<shard_bounds>{{5, 10}, {5, 10}});
}

TEST_CASE("log: a trim that removes nothing needs no snapshot, and does nothing") {
  ten_entries all;
  auto& topic = all.topic;
  CHECK(must(topic.trim({.through = {-1}})).bounds == std::vector<shard_bounds>{{0, 10}});
  must(topic.force_trim(4));
  for (const std::int64_t through : {-1, 0, 3, 4})
    CHECK(must(topic.trim({.through = {through}})).bounds == std::vector<shard_bounds>{{5, 10}});
  CHECK(topic.payloads() == numbered("entry ", 5, 5));
}

TEST_CASE("log: a trim through the head is refused, one up to it leaves an empty shard that goes on") {
  ten_entries all;
  auto& topic = all.topic;
  const auto ahead = topic.force_trim(10);
  CHECK(fault(ahead) == errc::ahead_of_head);
  CHECK(fact(ahead, "shard") == "0");
  CHECK(fact(ahead, "requested") == "10");
  CHECK(fact(ahead, "head") == "10");
  CHECK(fault(topic.force_trim(INT64_MAX)) == errc::ahead_of_head);
  CHECK(all.bounds() == shard_bounds{0, 10});

  CHECK(must(topic.force_trim(9)).bounds == std::vector<shard_bounds>{{10, 10}});
  CHECK(topic.payloads().empty());
  CHECK(must(topic.read(0, 9)).entries.empty());
  CHECK(must(topic.force_trim(9)).bounds == std::vector<shard_bounds>{{10, 10}});
  CHECK(topic.append_payloads({"goes on"}) == offsets{10});
  CHECK(all.bounds() == shard_bounds{10, 11});
  CHECK(topic.payloads() == texts{"goes on"});
}

TEST_CASE("log: a trim names each shard's last entry to go") {
  ten_entries all{2};
  for (const auto& wrong : std::vector<offsets>{{}, {1}, {1, 1, 1}, {1, -2}})
    CHECK(fault(all.topic.trim({.through = wrong, .force = true})) == errc::invalid_argument);
  CHECK(all.bounds(0) == shard_bounds{0, 10});
  CHECK(must(all.topic.trim({.through = {-1, 6}, .force = true})).bounds == std::vector<shard_bounds>{{0, 10}, {7, 10}});
}

TEST_CASE("log: a cursor is good right before the earliest entry, and has expired one below") {
  ten_entries all;
  auto& topic = all.topic;
  for (std::int64_t through = 0; through < 10; ++through) { // through each entry of a block, and between two
    must(topic.force_trim(through));
    const auto right_before = must(topic.read(0, through));
    CHECK(right_before.bounds == shard_bounds{through + 1, 10});
    CHECK(right_before.entries.size() == static_cast<std::size_t>(9 - through));
    for (auto below = through - 1; below >= -1; --below) {
      const auto expired = topic.read(0, below);
      CHECK(fault(expired) == errc::cursor_expired);
      CHECK(fact(expired, "topic") == "orders");
      CHECK(fact(expired, "shard") == "0");
      CHECK(fact(expired, "requested") == std::to_string(below));
      CHECK(fact(expired, "earliest") == std::to_string(through + 1));
      CHECK(fact(expired, "best_snapshot") == "none");
    }
  }
}

TEST_CASE("log: whoever has expired is told of the newest snapshot that he could go on from") {
  ten_entries all;
  auto& topic = all.topic;
  must(topic.snapshot({2}, {"goes with the log"}));
  const auto best = must(topic.snapshot({6}, {"stays"})).id;
  must(topic.force_trim(4));
  CHECK(fact(topic.read(0, 1), "best_snapshot") == std::to_string(best));
  must(topic.force_trim(8));
  CHECK(fact(topic.read(0, 1), "best_snapshot") == "none");
}

TEST_CASE("log: a consumer holds back what it has not acknowledged, and is named") {
  ten_entries all;
  auto& topic = all.topic;
  must(topic.commit({.consumer = "slow", .offsets = {3}}));
  must(topic.commit({.consumer = "as slow", .offsets = {3}}));
  must(topic.commit({.consumer = "fast", .offsets = {7}}));
  const auto held = must(topic.force_trim(8));
  CHECK(held.bounds == std::vector<shard_bounds>{{4, 10}});
  CHECK(held.held_by == texts{"as slow", "slow"}); // the slowest alone
  CHECK(held.expired.empty());
  CHECK(must(topic.force_trim(3)).held_by.empty()); // as much went as was asked for
  must(topic.drop("slow", 1));
  must(topic.commit({.consumer = "as slow", .offsets = {9}, .expected = 1}));
  const auto next = must(topic.force_trim(8));
  CHECK(next.bounds == std::vector<shard_bounds>{{8, 10}});
  CHECK(next.held_by == texts{"fast"});
  CHECK_FALSE(must(topic.checkpoint("fast"))->expired);
}

TEST_CASE("log: a consumer that has acknowledged nothing holds back everything") {
  ten_entries all;
  must(all.topic.commit({.consumer = "new", .offsets = {-1}}));
  const auto held = must(all.topic.force_trim(9));
  CHECK(held.bounds == std::vector<shard_bounds>{{0, 10}});
  CHECK(held.held_by == texts{"new"});
}

TEST_CASE("log: a consumer within the budget holds, and one that lags more is expired, by entries, by bytes and by age") {
  ten_entries all;
  auto& topic = all.topic;
  all.log.clock().advance(100s);
  const auto behind = must(topic.lag({3})).front();
  CHECK(behind.entries == 6);
  CHECK(behind.age == 100s);
  const std::vector<std::pair<weir::retention_budget, weir::retention_budget>> limits{
    {{.entries = behind.entries}, {.entries = behind.entries - 1}},
    {{.bytes = behind.bytes}, {.bytes = behind.bytes - 1}},
    {{.age = 100s}, {.age = 100s - 1ns}},
    {{.entries = 100, .bytes = 1 << 20, .age = 1h}, {.entries = 100, .bytes = 1 << 20, .age = 99s}},
    {{.entries = 6, .bytes = 1 << 20}, {.entries = 0, .bytes = 1 << 20}},
  };
  std::uint64_t revision = 0;
  for (const auto& [enough, too_little] : limits) {
    revision = must(topic.commit({.consumer = "reader",
                      .offsets = {3},
                      .expected = revision == 0 ? std::nullopt : std::optional{revision},
                      .may_go_back = true}))
                 .revision;
    const auto held = must(topic.trim({.through = {4}, .force = true, .budget = enough}));
    CHECK(held.bounds.front().earliest == 4);
    CHECK(held.held_by == texts{"reader"});
    CHECK(held.expired.empty());
    CHECK_FALSE(must(topic.checkpoint("reader"))->expired);
    // What the other one says is tried on a topic of its own: trimmed is trimmed.
    ten_entries other;
    other.log.clock().advance(100s);
    must(other.topic.commit({.consumer = "reader", .offsets = {3}, .metadata = "kept"}));
    const auto expired = must(other.topic.trim({.through = {4}, .force = true, .budget = too_little}));
    CHECK(expired.bounds.front().earliest == 5);
    CHECK(expired.held_by.empty());
    CHECK(expired.expired == texts{"reader"});
    const auto told = must(other.topic.checkpoint("reader"));
    CHECK(told->expired);
    CHECK(told->offsets == offsets{3});
    CHECK(told->metadata == "kept");
    CHECK(told->revision == 1);
    CHECK(fault(other.topic.read(0, 3)) == errc::cursor_expired);
    CHECK(other.topic.checkpoints() == std::vector<weir::checkpoint>{*told});
  }
}

TEST_CASE("log: a consumer over the budget is expired only where it loses something by it") {
  ten_entries all;
  auto& topic = all.topic;
  must(topic.commit({.consumer = "reader", .offsets = {3}}));
  for (const std::int64_t through : {1, 3}) {
    const auto trimmed = must(topic.trim({.through = {through}, .force = true, .budget = {.entries = 0}}));
    CHECK(trimmed.bounds.front().earliest == through + 1);
    CHECK(trimmed.expired.empty());
    CHECK_FALSE(must(topic.checkpoint("reader"))->expired);
  }
  CHECK(must(topic.trim({.through = {4}, .force = true, .budget = {.entries = 0}})).expired == texts{"reader"});
}

TEST_CASE("log: one consumer over the budget is expired, and another within it still holds") {
  ten_entries all;
  auto& topic = all.topic;
  must(topic.commit({.consumer = "far behind", .offsets = {0}}));
  must(topic.commit({.consumer = "near", .offsets = {5}}));
  const auto trimmed = must(topic.trim({.through = {8}, .force = true, .budget = {.entries = 5}}));
  CHECK(trimmed.bounds.front() == shard_bounds{6, 10});
  CHECK(trimmed.held_by == texts{"near"});
  CHECK(trimmed.expired == texts{"far behind"});
}

TEST_CASE("log: an expired consumer holds nothing back and is named once, until it commits again") {
  ten_entries all;
  auto& topic = all.topic;
  must(topic.commit({.consumer = "reader", .offsets = {1}}));
  must(topic.trim({.through = {4}, .force = true, .budget = {.entries = 1}}));
  const auto next = must(topic.force_trim(6));
  CHECK(next.bounds.front() == shard_bounds{7, 10});
  CHECK(next.held_by.empty());
  CHECK(next.expired.empty());
  CHECK(must(topic.checkpoint("reader"))->expired);
  CHECK_FALSE(must(topic.commit({.consumer = "reader", .offsets = {7}, .expected = 1})).expired);
  CHECK(must(topic.force_trim(9)).held_by == texts{"reader"});
  CHECK(all.bounds() == shard_bounds{8, 10});
}

TEST_CASE("log: consumers hold each shard by itself") {
  ten_entries all{3};
  auto& topic = all.topic;
  must(topic.commit({.consumer = "left", .offsets = {2, 9, 9}}));
  must(topic.commit({.consumer = "right", .offsets = {9, 9, 4}}));
  const auto trimmed = must(topic.trim({.through = {8, 8, 3}, .force = true}));
  CHECK(trimmed.bounds == std::vector<shard_bounds>{{3, 10}, {9, 10}, {4, 10}});
  CHECK(trimmed.held_by == texts{"left"});
  CHECK(trimmed.expired.empty());
}

TEST_CASE("log: a consumer that is expired in one shard holds nothing back in the others") {
  for (const bool far_behind_in_first : {true, false}) {
    ten_entries all{2};
    auto& topic = all.topic;
    must(topic.commit({.consumer = "reader", .offsets = far_behind_in_first ? offsets{0, 7} : offsets{7, 0}}));
    const auto trimmed = must(topic.trim({.through = {8, 8}, .force = true, .budget = {.entries = 5}}));
    CHECK(trimmed.expired == texts{"reader"});
    CHECK(trimmed.held_by.empty());
    CHECK(trimmed.bounds == std::vector<shard_bounds>{{9, 10}, {9, 10}});
  }
}

TEST_CASE("log: a pin holds whatever the budget says, until it is let go of") {
  ten_entries all;
  auto& topic = all.topic;
  const auto pin = must(topic.pin({3}, 1h));
  const auto other = must(topic.pin({5}, 1h));
  CHECK(pin != other);
  const weir::trim_request wanted{.through = {8}, .force = true, .budget = {.entries = 0, .bytes = 0, .age = 0s}};
  auto held = must(topic.trim(wanted));
  CHECK(held.bounds.front() == shard_bounds{4, 10});
  CHECK(held.held_by == texts{"pin " + std::to_string(pin)});
  CHECK(held.expired.empty());
  must(topic.unpin(pin));
  held = must(topic.trim(wanted));
  CHECK(held.bounds.front() == shard_bounds{6, 10});
  CHECK(held.held_by == texts{"pin " + std::to_string(other)});
  must(topic.unpin(other));
  must(topic.unpin(other)); // no pin of that number: nothing
  must(topic.unpin(12345));
  CHECK(must(topic.trim(wanted)).bounds.front() == shard_bounds{9, 10});
}

TEST_CASE("log: a pin ends when its time is over") {
  ten_entries all;
  auto& topic = all.topic;
  must(topic.pin({1}, 10s));
  must(topic.pin({4}, 11s));
  all.log.clock().advance(10s - 1ns);
  CHECK(must(topic.force_trim(9)).bounds.front().earliest == 2);
  all.log.clock().advance(1ns);
  CHECK(must(topic.force_trim(9)).bounds.front().earliest == 5);
  all.log.clock().advance(1s);
  CHECK(must(topic.force_trim(9)).bounds.front().earliest == 10);
}

TEST_CASE("log: a pin is at an entry that there is, for a second to thirty days") {
  ten_entries all{2};
  auto& topic = all.topic;
  must(topic.force_trim(4, 1));
  const auto expired = topic.pin({-1, 3}, 1h);
  CHECK(fault(expired) == errc::cursor_expired);
  CHECK(fact(expired, "shard") == "1");
  CHECK(fact(expired, "earliest") == "5");
  CHECK(fault(topic.pin({10, 5}, 1h)) == errc::ahead_of_head);
  CHECK(fault(topic.pin({-1}, 1h)) == errc::invalid_argument);
  CHECK(fault(topic.pin({-2, 5}, 1h)) == errc::invalid_argument);
  for (const auto wrong :
    {std::chrono::seconds{0}, std::chrono::seconds{-1}, std::chrono::seconds{24h * 30} + 1s, std::chrono::seconds::max()})
    CHECK(fault(topic.pin({-1, 4}, wrong)) == errc::invalid_argument);
  must(topic.pin({-1, 4}, 1s));
  must(topic.pin({9, 9}, 24h * 30));
}

TEST_CASE("log: a pin holds the snapshot at its offset, too") {
  ten_entries all;
  auto& topic = all.topic;
  const auto snapshot = must(topic.snapshot({3}, {"state"})).id;
  must(topic.snapshot({9}, {"all"}));
  must(topic.pin({3}, 1h));
  must(topic.trim({.through = {9}}));
  CHECK(must(topic.read_chunk(snapshot, 0)) == "state");
  CHECK(must(topic.read(0, 3)).entries.size() == 6);
}

TEST_CASE("log: what was trimmed, pinned and expired is so after the store was opened anew") {
  log_caller log;
  if (lacks(log.store().capabilities().survives_process, "nothing of it outlives its store"))
    return;
  std::uint64_t pin = 0;
  {
    topic_caller topic{log, "orders"};
    topic.append_payloads(numbered("entry ", 10));
    must(topic.commit({.consumer = "reader", .offsets = {0}}));
    must(topic.trim({.through = {2}, .force = true, .budget = {.entries = 1}}));
    pin = must(topic.pin({5}, 10s));
  }
  log.reopen();
  topic_caller topic{log, "orders"};
  CHECK(topic.bounds().front() == shard_bounds{3, 10});
  CHECK(topic.payloads() == numbered("entry ", 7, 3));
  CHECK(must(topic.checkpoint("reader"))->expired);
  CHECK(must(topic.force_trim(8)).held_by == texts{"pin " + std::to_string(pin)});
  CHECK(topic.payloads() == numbered("entry ", 4, 6));
  log.clock().advance(10s);
  CHECK(must(topic.force_trim(8)).bounds.front() == shard_bounds{9, 10});
}

TEST_CASE("log: a trim is seen at once through another connection, and honours what was pinned there") {
  log_caller log;
  if (lacks(log.place().is_shared(), "no second connection to the same store"))
    return;
  topic_caller here{log, "orders"};
  topic_caller there{log, must(log.open_topic(log.place().open(), "orders"))};
  here.append_payloads(numbered("entry ", 10));
  must(there.pin({4}, 1h));
  CHECK(must(here.force_trim(8)).bounds.front() == shard_bounds{5, 10});
  CHECK(there.bounds().front() == shard_bounds{5, 10});
  CHECK(fault(there.read(0, 3)) == errc::cursor_expired);
  CHECK(there.payloads() == numbered("entry ", 5, 5));
}
