#include "conformance/log/feed_caller.hpp"

#include <doctest/doctest.h>

#include <map>

using namespace log_suite;
using namespace std::chrono_literals;
using weir::acknowledged;
using weir::errc;

namespace {

struct read_topic {
  explicit read_topic(std::size_t entries = 10) : topic{log, "orders"}, feed{log, topic} {
    topic.append_payloads(numbered("p", entries));
  }

  weir::cursor cursor_at(offsets at) const { return topic.topic()->description().cursor_at(std::move(at)); }

  log_caller log;
  topic_caller topic;
  feed_caller feed;
};

} // namespace

TEST_CASE("log: delivering does not move the cursor, acknowledging does") {
  read_topic one;
  CHECK(must(one.feed.at()) == one.cursor_at({-1}));
  one.feed.grant(4);
  CHECK(one.feed.pull_offsets() == offsets{0, 1, 2, 3});
  CHECK(one.feed.acked() == -1);
  CHECK(must(one.feed.acknowledge(0)) == acknowledged::moved);
  CHECK(must(one.feed.acknowledge(1)) == acknowledged::moved);
  CHECK(must(one.feed.at()) == one.cursor_at({1}));
}

TEST_CASE("log: a feed that is rewound delivers again what was not acknowledged, and goes on from there") {
  read_topic one;
  one.feed.grant(5);
  CHECK(one.feed.pull_offsets() == offsets{0, 1, 2, 3, 4});
  must(one.feed.acknowledge_through(1));
  one.feed.rewind();
  CHECK(one.feed.acked() == 1);
  CHECK(must(one.feed.pull()).empty()); // rewinding gives no credit back
  one.feed.grant(4);
  CHECK(one.feed.pull_offsets() == offsets{2, 3, 4, 5});
  one.feed.rewind();
  one.feed.rewind();
  one.feed.grant(1);
  CHECK(must(one.feed.next()).entry.offset == 2);
}

TEST_CASE("log: what was acknowledged, and what is below, may be acknowledged again and changes nothing") {
  read_topic one;
  one.feed.grant(5);
  must(one.feed.pull());
  must(one.feed.acknowledge_through(2));
  for (const std::int64_t offset : {2, 1, 0, -1, -2}) {
    CHECK(must(one.feed.acknowledge(offset)) == acknowledged::nothing);
    CHECK(must(one.feed.acknowledge_through(offset)) == acknowledged::nothing);
  }
  CHECK(one.feed.acked() == 2);
}

TEST_CASE("log: what was not delivered can't be acknowledged") {
  read_topic one;
  CHECK(fault(one.feed.acknowledge(0)) == errc::ack_beyond_delivered);
  one.feed.grant(3);
  must(one.feed.pull());
  for (const std::int64_t offset : {std::int64_t{3}, std::int64_t{9}, std::int64_t{10}, INT64_MAX}) {
    const auto refused = one.feed.acknowledge(offset);
    CHECK(fault(refused) == errc::ack_beyond_delivered);
    CHECK(fact(refused, "shard") == "0");
    CHECK(fact(refused, "offset") == std::to_string(offset));
    CHECK(fact(refused, "delivered") == "2");
    CHECK(fault(one.feed.acknowledge_through(offset)) == errc::ack_beyond_delivered);
  }
  CHECK(one.feed.acked() == -1);
  must(one.feed.acknowledge_through(2));
  one.feed.rewind();
  CHECK(fault(one.feed.acknowledge(3)) == errc::ack_beyond_delivered);
}

TEST_CASE("log: what is acknowledged out of order is kept, and only the part without a hole is committed") {
  read_topic one;
  one.feed.grant(8);
  must(one.feed.pull());
  CHECK(must(one.feed.acknowledge(2)) == acknowledged::kept);
  CHECK(must(one.feed.acknowledge(5)) == acknowledged::kept);
  CHECK(must(one.feed.acknowledge(1)) == acknowledged::kept);
  CHECK(one.feed.acked() == -1);
  CHECK(must(one.feed.acknowledge(2)) == acknowledged::nothing);
  CHECK(must(one.feed.acknowledge(0)) == acknowledged::moved);
  CHECK(one.feed.acked() == 2);
  CHECK(must(one.feed.acknowledge(4)) == acknowledged::kept);
  CHECK(must(one.feed.acknowledge_through(3)) == acknowledged::moved);
  CHECK(one.feed.acked() == 5);
  CHECK(must(one.feed.stats()).shards.front().progress.in_flight == 2);
  one.feed.rewind(); // what was kept behind a hole would be delivered again; here there is none
  one.feed.grant(2);
  CHECK(one.feed.pull_offsets() == offsets{6, 7});
}

TEST_CASE("log: what was acknowledged behind a hole is delivered again after a rewind") {
  read_topic one;
  one.feed.grant(4);
  must(one.feed.pull());
  must(one.feed.acknowledge(2));
  one.feed.rewind();
  one.feed.grant(4);
  CHECK(one.feed.pull_offsets() == offsets{0, 1, 2, 3});
}

TEST_CASE("log: a feed that is opened again at its cursor goes on behind what was acknowledged") {
  read_topic one;
  std::string text;
  {
    feed_caller first{one.log, one.topic};
    first.grant(5);
    must(first.pull());
    must(first.acknowledge_through(2));
    text = to_text(must(first.at()));
    must(first.close());
  }
  CHECK(text.find(' ') == std::string::npos);
  const auto again = must(weir::parse_cursor(text));
  CHECK(again == one.cursor_at({2}));
  feed_caller second{one.log, one.topic.topic(), again};
  CHECK(second.payloads(3) == texts{"p3", "p4", "p5"}); // also what was in flight
}

TEST_CASE("log: a cursor in text form is good after the store was opened anew") {
  log_caller log;
  if (lacks(log.store().capabilities().survives_process, "nothing of it outlives its store"))
    return;
  std::string text;
  {
    topic_caller topic{log, "\xe6\x97\xa5\xe6\x9c\xac: orders", {.shards = 3}};
    for (std::uint32_t shard = 0; shard < 3; ++shard)
      topic.append_payloads(numbered("p", 4), shard);
    feed_caller feed{log, topic};
    feed.grant(12);
    must(feed.pull());
    must(feed.acknowledge_through(2, 1));
    must(feed.acknowledge_through(0, 2));
    text = to_text(must(feed.at()));
  }
  log.reopen();
  topic_caller topic{log, "\xe6\x97\xa5\xe6\x9c\xac: orders", {.shards = 3}};
  feed_caller feed{log, topic.topic(), must(weir::parse_cursor(text))};
  feed.grant(100);
  CHECK(must(feed.pull()).size() == 4 + 1 + 3);
}

TEST_CASE("log: a cursor of another store, topic, epoch or layout is refused before anything is read") {
  read_topic one;
  const auto good = one.cursor_at({3});
  auto of_store = good;
  of_store.store ^= 1;
  auto of_topic = good;
  of_topic.topic = "bills";
  auto of_epoch = good;
  of_epoch.epoch = 2;
  auto of_layout = good;
  of_layout.offsets.push_back(0);
  for (const auto& [wrong, code] : std::vector<std::pair<weir::cursor, errc>>{{of_store, errc::wrong_source},
         {of_topic, errc::wrong_source}, {of_epoch, errc::stale_epoch}, {of_layout, errc::layout_mismatch}}) {
    feed_caller feed{one.log, one.topic.topic(), wrong};
    feed.grant(10);
    const auto refused = feed.ready();
    CHECK(fault(refused) == code);
    CHECK_FALSE(fact(refused, "given").empty());
    CHECK_FALSE(fact(refused, "expected").empty());
    CHECK(fault(feed.pull()) == code);
    CHECK(fault(feed.next()) == code);
    CHECK(fault(feed.at()) == code);
    CHECK(feed.phase() == weir::feed_phase::failed);
  }
}

TEST_CASE("log: a cursor that has expired, or is ahead of the head, fails when the feed is first used") {
  read_topic one;
  const auto snapshot = must(one.topic.snapshot({8}, {"state"})).id;
  must(one.topic.force_trim(4));
  feed_caller expired{one.log, one.topic.topic(), one.cursor_at({3})};
  expired.grant(10);
  for (const auto& refused : {expired.ready(), expired.ready()}) {
    CHECK(fault(refused) == errc::cursor_expired);
    CHECK(fact(refused, "requested") == "3");
    CHECK(fact(refused, "earliest") == "5");
    CHECK(fact(refused, "best_snapshot") == std::to_string(snapshot));
  }
  CHECK(fault(expired.pull()) == errc::cursor_expired);
  CHECK(fault(expired.next()) == errc::cursor_expired);
  CHECK(expired.phase() == weir::feed_phase::failed);
  CHECK(expired.acked() == 3);

  feed_caller ahead{one.log, one.topic.topic(), one.cursor_at({10})};
  ahead.grant(10);
  const auto refused = ahead.ready();
  CHECK(fault(refused) == errc::ahead_of_head);
  CHECK(fact(refused, "head") == "10");
  CHECK(fault(ahead.pull()) == errc::ahead_of_head);
  one.topic.append_payloads({"p10", "p11"});
  CHECK(ahead.payloads(1) == texts{"p11"}); // tried again, it is good

  feed_caller right_before{one.log, one.topic.topic(), one.cursor_at({4})};
  CHECK(right_before.payloads(1) == texts{"p5"});
  feed_caller at_end{one.log, one.topic.topic(), one.cursor_at({11})};
  must(at_end.ready());
}

TEST_CASE("log: a feed reads all shards of a topic, each in its order, and keeps a cursor for each") {
  log_caller log;
  topic_caller topic{log, "orders", {.shards = 3}};
  for (std::uint32_t shard = 0; shard < 3; ++shard)
    topic.append_payloads(numbered(std::to_string(shard) + ":", 10), shard);
  feed_caller feed{log, topic, {.read = {.entries = 4}}};
  feed.grant(100);
  std::map<std::uint32_t, offsets> by_shard;
  for (const auto& one : must(feed.pull())) {
    by_shard[one.shard].push_back(one.entry.offset);
    CHECK(one.entry.payload == std::to_string(one.shard) + ":" + std::to_string(one.entry.offset));
  }
  for (std::uint32_t shard = 0; shard < 3; ++shard)
    CHECK(by_shard[shard] == offsets{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  must(feed.acknowledge_through(4, 1));
  must(feed.acknowledge(0, 2));
  CHECK(must(feed.at()).offsets == offsets{-1, 4, 0});
  CHECK(fault(feed.acknowledge(0, 3)) == errc::invalid_argument);
  feed.rewind();
  feed.grant(100);
  CHECK(must(feed.pull()).size() == 10 + 5 + 9);
}

TEST_CASE("log: no shard starves another: each has its turn") {
  log_caller log;
  topic_caller topic{log, "orders", {.shards = 3}};
  for (std::uint32_t shard = 0; shard < 3; ++shard)
    topic.append_payloads(numbered("p", 100), shard);
  feed_caller feed{log, topic, {.read = {.entries = 5}}};
  feed.grant(30);
  std::map<std::uint32_t, int> count;
  for (const auto& one : must(feed.pull()))
    ++count[one.shard];
  CHECK(count.size() == 3);
  CHECK(count[0] == 10);
  CHECK(count[1] == 10);
  CHECK(count[2] == 10);
}

TEST_CASE("log: a feed of some shards reads those alone, and leaves the others' cursors where they were") {
  log_caller log;
  topic_caller topic{log, "orders", {.shards = 3}};
  for (std::uint32_t shard = 0; shard < 3; ++shard)
    topic.append_payloads(numbered("p", 5), shard);
  feed_caller feed{log, topic.topic(), topic.topic()->description().cursor_at({1, 1, -1}), {.shards = {2, 1, 2}}};
  feed.grant(100);
  std::map<std::uint32_t, int> count;
  for (const auto& one : must(feed.pull()))
    ++count[one.shard];
  CHECK(count == std::map<std::uint32_t, int>{{1, 3}, {2, 5}});
  must(feed.acknowledge_through(4, 1));
  must(feed.acknowledge_through(4, 2));
  CHECK(must(feed.at()).offsets == offsets{1, 4, 4});
  CHECK(fault(feed.acknowledge(0, 0)) == errc::invalid_argument);
  CHECK(must(feed.stats()).shards.size() == 2);

  auto waiting = feed.begin_next();
  topic.append_payloads({"not read"}, 0);
  feed.settle();
  CHECK_FALSE(waiting.is_done());
  topic.append_payloads({"read"}, 2);
  CHECK(must(waiting.wait()).entry.payload == "read");

  feed_caller wrong{log, topic, {.shards = {1, 3}}};
  const auto refused = wrong.ready();
  CHECK(fault(refused) == errc::invalid_argument);
  CHECK(fact(refused, "shard") == "3");
}

TEST_CASE("log: a checkpoint of a feed's cursor is where the next feed begins") {
  read_topic one;
  one.feed.grant(6);
  must(one.feed.pull());
  must(one.feed.acknowledge_through(3));
  must(one.topic.commit({.consumer = "reader", .offsets = must(one.feed.at()).offsets}));
  const auto stored = must(one.topic.checkpoint("reader"));
  feed_caller heir{one.log, one.topic.topic(), one.cursor_at(stored->offsets)};
  CHECK(heir.payloads(2) == texts{"p4", "p5"});
}
