#include "conformance/log/feed_caller.hpp"
#include "conformance/log/scripted_topic.hpp"

#include <doctest/doctest.h>

#include <map>

using namespace log_suite;
using namespace std::chrono_literals;
using weir::errc;
using call = scripted_topic::call;

namespace {

/// Twenty entries, and snapshots at 4, at 9 and at 14.
struct with_snapshots {
  with_snapshots() : topic{log, "orders"} {
    topic.append_payloads(numbered("p", 20));
    for (const std::int64_t offset : {4, 9, 14})
      ids.push_back(must(topic.snapshot({offset}, chunks_of(offset))).id);
  }

  static texts chunks_of(std::int64_t offset) {
    return {"state at " + std::to_string(offset), std::string(100'000, 'x'), "last chunk"};
  }

  weir::cursor cursor_at(std::int64_t offset) const { return topic.topic()->description().cursor_at({offset}); }

  bootstrap_caller begin(std::optional<weir::cursor> through = {}, std::chrono::seconds pin_for = 1h) {
    return {log, topic.topic(), std::move(through), pin_for};
  }

  /// Whether all of the log could be trimmed: nothing holds it.
  texts held_by() { return must(topic.trim({.through = {3}, .force = true})).held_by; }

  log_caller log;
  topic_caller topic;
  std::vector<std::uint64_t> ids;
};

} // namespace

TEST_CASE("log: a bootstrap is the newest snapshot, chunk by chunk, and one feed that goes on at its edge") {
  with_snapshots one;
  auto filling = one.begin();
  const auto chosen = must(filling.open());
  CHECK(chosen.id == one.ids[2]);
  CHECK(chosen.offsets == offsets{14});
  CHECK(chosen.chunks == 3);
  one.topic.append_payloads({"p20"}); // while it is read
  CHECK(must(filling.next_chunk()) == "state at 14");
  CHECK(filling.chunks() == texts{std::string(100'000, 'x'), "last chunk"});
  CHECK(must(filling.next_chunk()) == std::nullopt);
  feed_caller feed{one.log, must(filling.take_feed())};
  CHECK(must(feed.at()) == one.cursor_at(14));
  CHECK(feed.payloads(100) == texts{"p15", "p16", "p17", "p18", "p19", "p20"});
  one.topic.append_payloads({"p21"});
  CHECK(must(feed.next()).entry.payload == "p21");
}

TEST_CASE("log: a bootstrap through a cursor takes the newest snapshot that is not behind it") {
  with_snapshots one;
  for (const auto& [through, index] :
    std::vector<std::pair<std::int64_t, std::size_t>>{{19, 2}, {14, 2}, {13, 1}, {9, 1}, {8, 0}, {4, 0}}) {
    auto filling = one.begin(one.cursor_at(through));
    const auto chosen = must(filling.open());
    CHECK(chosen.id == one.ids[index]);
    CHECK(filling.chunks() == with_snapshots::chunks_of(chosen.offsets.front()));
    feed_caller feed{one.log, must(filling.take_feed())};
    feed.grant(1);
    CHECK(must(feed.next()).entry.offset == chosen.offsets.front() + 1);
    must(feed.close());
  }
  CHECK(one.held_by().empty());
}

TEST_CASE("log: where there is no snapshot at or below the cursor, a bootstrap says so and holds nothing") {
  with_snapshots one;
  for (const std::int64_t through : {3, 0, -1}) {
    auto filling = one.begin(one.cursor_at(through));
    const auto none = filling.open();
    CHECK(fault(none) == errc::no_snapshot);
    CHECK(fact(none, "topic") == "orders");
    CHECK(fact(none, "through") == to_text(one.cursor_at(through)));
    CHECK(fault(filling.take_feed()) == errc::invalid_argument);
    CHECK(must(filling.next_chunk()) == std::nullopt);
  }
  CHECK(one.held_by().empty());
  topic_caller empty{one.log, "bills"};
  bootstrap_caller filling{one.log, empty.topic()};
  CHECK(fault(filling.open()) == errc::no_snapshot);
  must(empty.snapshot({-1}, {"nothing yet"}));
  CHECK(must(filling.open()).offsets == offsets{-1}); // asked again, it looks again
  CHECK(filling.chunks() == texts{"nothing yet"});
}

TEST_CASE("log: a bootstrap through a cursor beyond the head, or of another place, is refused and holds nothing") {
  with_snapshots one;
  auto beyond = one.begin(one.cursor_at(20));
  const auto ahead = beyond.open();
  CHECK(fault(ahead) == errc::ahead_of_head);
  CHECK(fact(ahead, "requested") == "20");
  CHECK(fact(ahead, "head") == "20");
  auto wrong = one.cursor_at(19);
  wrong.topic = "bills";
  CHECK(fault(one.begin(wrong).open()) == errc::wrong_source);
  wrong = one.cursor_at(19);
  wrong.epoch = 7;
  CHECK(fault(one.begin(wrong).open()) == errc::stale_epoch);
  wrong = one.cursor_at(19);
  wrong.offsets.push_back(1);
  CHECK(fault(one.begin(wrong).open()) == errc::layout_mismatch);
  CHECK(fault(one.begin({}, 0s).open()) == errc::invalid_argument);
  CHECK(one.held_by().empty());
  one.topic.append_payloads({"p20"});
  CHECK(must(beyond.open()).id == one.ids[2]); // now it is there
}

TEST_CASE("log: a bootstrap's feed is taken behind the last chunk, and once") {
  with_snapshots one;
  auto filling = one.begin();
  CHECK(fault(filling.take_feed()) == errc::invalid_argument);
  must(filling.open());
  CHECK(fault(filling.take_feed()) == errc::invalid_argument);
  must(filling.next_chunk());
  CHECK(fault(filling.take_feed()) == errc::invalid_argument);
  filling.chunks();
  feed_caller feed{one.log, must(filling.take_feed())};
  CHECK(fault(filling.take_feed()) == errc::invalid_argument);
  CHECK(feed.payloads(1) == texts{"p15"});
}

TEST_CASE("log: a bootstrap of a snapshot without chunks is its feed alone") {
  log_caller log;
  topic_caller topic{log, "orders"};
  topic.append_payloads(numbered("p", 3));
  must(topic.snapshot({1}, {}));
  bootstrap_caller filling{log, topic.topic()};
  CHECK(must(filling.open()).chunks == 0);
  CHECK(must(filling.next_chunk()) == std::nullopt);
  feed_caller feed{log, must(filling.take_feed())};
  CHECK(feed.payloads(10) == texts{"p2"});
}

TEST_CASE("log: a bootstrap of several shards hands over exactly what is behind the snapshot in each") {
  log_caller log;
  topic_caller topic{log, "orders", {.shards = 3}};
  for (std::uint32_t shard = 0; shard < 3; ++shard)
    topic.append_payloads(numbered("p", 6), shard);
  must(topic.snapshot({3, -1, 5}, {"state"}));
  must(topic.snapshot({5, 5, 1}, {"another"})); // not below the cursor in the first
  bootstrap_caller filling{log, topic.topic(), topic.topic()->description().cursor_at({4, 5, 5})};
  CHECK(must(filling.open()).offsets == offsets{3, -1, 5});
  filling.chunks();
  feed_caller feed{log, must(filling.take_feed())};
  feed.grant(100);
  std::map<std::uint32_t, offsets> by_shard;
  for (const auto& one : must(feed.pull()))
    by_shard[one.shard].push_back(one.entry.offset);
  CHECK(by_shard == std::map<std::uint32_t, offsets>{{0, {4, 5}}, {1, {0, 1, 2, 3, 4, 5}}});
}

TEST_CASE("log: a bootstrap holds the log and its snapshot until its feed acknowledges something") {
  with_snapshots one;
  must(one.topic.snapshot({19}, {"the next one"}));
  auto filling = one.begin(one.cursor_at(9));
  must(filling.open());
  const auto trim_all = [&] { return must(one.topic.trim({.through = {18}, .budget = {.entries = 0}})); };
  CHECK(trim_all().bounds.front().earliest == 0);
  CHECK(filling.chunks() == with_snapshots::chunks_of(9)); // it was not trimmed under it
  feed_caller feed{one.log, must(filling.take_feed())};
  CHECK(trim_all().held_by.size() == 1);
  CHECK(feed.payloads(3) == texts{"p10", "p11", "p12"});
  CHECK(trim_all().held_by.size() == 1);
  must(feed.acknowledge(11)); // out of order: the cursor stays
  must(feed.pull());
  CHECK(trim_all().held_by.size() == 1);
  must(feed.acknowledge(10));
  must(feed.pull());
  const auto trimmed = trim_all();
  CHECK(trimmed.held_by.empty());
  CHECK(trimmed.bounds.front().earliest == 19);
  feed.grant(1);
  CHECK(fault(feed.pull()) == errc::cursor_expired); // from here on, a checkpoint is what holds
}

TEST_CASE("log: a bootstrap lets go of the log when it is closed, when its feed is, and when its time is over") {
  with_snapshots one;
  SUBCASE("closed before its feed was taken") {
    auto filling = one.begin();
    must(filling.open());
    CHECK(one.held_by().size() == 1);
    must(filling.close());
    CHECK(one.held_by().empty());
    must(filling.close());
  }
  SUBCASE("its feed closed") {
    auto filling = one.begin();
    must(filling.open());
    filling.chunks();
    feed_caller feed{one.log, must(filling.take_feed())};
    must(filling.close()); // has nothing any more
    CHECK(one.held_by().size() == 1);
    must(feed.close());
    CHECK(one.held_by().empty());
  }
  SUBCASE("its time over") {
    auto filling = one.begin({}, 10s);
    must(filling.open());
    filling.chunks();
    one.log.clock().advance(10s - 1ns);
    CHECK(one.held_by().size() == 1);
    one.log.clock().advance(1ns);
    CHECK(one.held_by().empty());
  }
}

TEST_CASE("log: a bootstrap whose time was over is told that its snapshot, or what follows it, was trimmed") {
  with_snapshots one;
  must(one.topic.snapshot({19}, {"the next one"}));
  auto slow = one.begin(one.cursor_at(4), 10s);
  must(slow.open());
  must(slow.next_chunk());
  auto slower = one.begin(one.cursor_at(9), 10s);
  must(slower.open());
  slower.chunks();
  one.log.clock().advance(10s);
  must(one.topic.trim({.through = {12}}));
  CHECK(fault(slow.next_chunk()) == errc::snapshot_trimmed);
  feed_caller feed{one.log, must(slower.take_feed())};
  feed.grant(1);
  CHECK(fault(feed.pull()) == errc::cursor_expired);
}

TEST_CASE("log: a damaged chunk ends a bootstrap there, and it holds the log until it is closed") {
  log_caller log;
  if (lacks(log.store().capabilities().verifies, "nothing of it is verified"))
    return;
  topic_caller topic{log, "orders"};
  topic.append_payloads({"a"});
  const auto id = must(topic.snapshot({-1}, {"first", "second", "third"})).id;
  REQUIRE(log.place().damage_chunk("orders", id, 1));
  bootstrap_caller filling{log, topic.topic()};
  must(filling.open());
  CHECK(must(filling.next_chunk()) == "first");
  for (int again = 0; again < 2; ++again)
    CHECK(fault(filling.next_chunk()) == errc::snapshot_corrupt);
  CHECK(fault(filling.take_feed()) == errc::invalid_argument);
  CHECK(must(topic.force_trim(0)).held_by.size() == 1);
  must(filling.close());
  CHECK(must(topic.force_trim(0)).held_by.empty());
}

TEST_CASE("log: a bootstrap that is overtaken by a trim before it has pinned the log tries again, not for ever") {
  log_caller log;
  topic_caller topic{log, "orders"};
  topic.append_payloads(numbered("p", 40));
  must(topic.snapshot({39}, {"state"}));
  const auto store = std::make_shared<scripted_topic>(topic.topic());
  performer actor{log.system()};
  const auto open = [](weir::self me, std::shared_ptr<weir::bootstrap> of) -> weir::task<weir::result<weir::snapshot_info>> {
    auto opening = of->open(me);
    co_return co_await std::move(opening);
  };
  store->hold(call::pin);
  auto filling = std::make_shared<weir::bootstrap>(store);
  auto opened = actor.begin(open, filling);
  std::size_t pins = 1;
  for (; pins <= 3; ++pins) { // a trim comes between what it knows and its pin
    store->await_calls(call::pin, pins);
    must(topic.trim({.through = {static_cast<std::int64_t>(pins)}}));
    store->let_through(call::pin);
  }
  store->await_calls(call::pin, pins);
  store->let_through(call::pin);
  CHECK(must(opened.wait()).offsets == offsets{39});

  auto hopeless = std::make_shared<weir::bootstrap>(store);
  opened = actor.begin(open, hopeless);
  must(actor.perform(
    [](weir::self me, std::shared_ptr<weir::bootstrap> of) -> weir::task<weir::result<void>> {
      auto closing = of->close(me);
      co_return co_await std::move(closing);
    },
    filling));
  for (std::int64_t through = 10; !opened.is_done() && through < 39; ++through) {
    ++pins;
    store->await_calls(call::pin, pins);
    must(topic.trim({.through = {through}}));
    store->let_through(call::pin);
    if (pins == 4 + 16)
      break;
  }
  CHECK(fault(opened.wait()) == errc::cursor_expired);
  CHECK(store->calls(call::pin) == 4 + 16);
}
