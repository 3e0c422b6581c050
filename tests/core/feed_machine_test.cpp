#include "feed_with_store.hpp"

#include <doctest/doctest.h>

using core_tests::feed_with_store;
using core_tests::highest;
using core_tests::lowest;
using core_tests::offsets;
using core_tests::wide;
using weir::acknowledged;
using weir::credit;
using weir::errc;
using weir::feed_machine;
using weir::shard_progress;
using next_is = feed_machine::next_is;
using read_was = feed_machine::read_was;
using settings = feed_machine::settings;

TEST_SUITE("feed machine: shards") {
  TEST_CASE("one that is added is read behind what is acknowledged, and in its turn") {
    feed_with_store with{{}, {{1, -1}}};
    with.append(2, 10, 0, 1);
    with.append(3, 10, 0, 0);
    with.feed.grant(wide);
    with.answer(*with.feed.next_read());
    with.feed.add({0, 0}); // in front of the one that stands in line
    CHECK(with.feed.next() == next_is::absent);
    CHECK(with.progress(0) == shard_progress{0, 0, 0, 0, 1, 0});
    CHECK(with.progress(1).delivered == -1);
    with.feed.add({1, 1}); // it is read already
    CHECK(with.progress(1).acked == -1);
    CHECK(with.pull() == offsets{1, 2, 0, 1});
  }

  TEST_CASE("a read that is under way when shards change is superseded") {
    feed_with_store with{{}, {{1, -1}}};
    with.append(2, 10, 0, 1);
    with.feed.grant(wide);
    const auto order = *with.feed.next_read();
    with.feed.add({0, -1});
    CHECK(with.answer(order) == read_was::superseded);
    CHECK(with.pull() == offsets{0, 1});
  }

  TEST_CASE("one that is removed is forgotten, with what is in flight of it") {
    feed_with_store with{{}, {{0, -1}, {1, -1}}};
    with.append(2, 10, 0, 0);
    with.append(2, 10, 0, 1);
    with.feed.grant(wide);
    CHECK(with.pull() == offsets{0, 1, 0, 1});
    with.feed.remove(0);
    CHECK(with.feed.progress().size() == 1);
    CHECK(with.feed.acknowledge(0, 0).error() == errc::invalid_argument);
    CHECK(with.acknowledge(1, 1) == acknowledged::kept);
    with.feed.remove(1);
    CHECK(!with.feed.next_read());
    with.feed.add({0, 0});
    CHECK(with.pull() == offsets{1});
  }

  TEST_CASE("nothing more is delivered of one that is stopped, what is in flight counts, and it goes on behind it") {
    feed_with_store with{{}, {{0, -1}, {1, -1}}};
    with.append(3, 10, 0, 0);
    with.append(1, 10, 0, 1);
    with.feed.grant({1, 1000});
    CHECK(with.pull() == offsets{0});
    with.feed.grant(wide);
    with.answer(*with.feed.next_read());
    CHECK(with.feed.stop(0));
    CHECK(!with.feed.stop(0));
    CHECK(!with.feed.stop(7));
    CHECK(with.progress(0).is_stopped);
    CHECK(with.pull() == offsets{0}); // of the other one
    CHECK(with.acknowledge(0, 0) == acknowledged::moved);
    CHECK(with.feed.stop(0, false));
    CHECK(with.pull() == offsets{1, 2});
  }
}

TEST_SUITE("feed machine: reading") {
  TEST_CASE("the first read is due without anybody knowing the head, and none at the head until it moves") {
    feed_with_store with{{}, {{0, 2}}};
    with.feed.grant(wide);
    CHECK(with.progress() == shard_progress{0, 2, 2, 0, 3, 0});
    const auto order = with.feed.next_read();
    CHECK(order->shard == 0);
    CHECK(order->after == 2);
    CHECK_FALSE(with.feed.next_read().has_value()); // one at a time
    CHECK(with.feed.on_read(*order, {1, 3}, {}) == read_was::taken);
    CHECK(with.progress() == shard_progress{0, 2, 2, 1, 3, 0});
    CHECK_FALSE(with.feed.next_read().has_value());
    with.feed.on_head(0, 3);
    with.feed.on_head(0, -7);
    with.feed.on_head(9, 50);
    CHECK_FALSE(with.feed.next_read().has_value());
    with.feed.on_head(0, 4);
    CHECK(with.feed.next_read()->after == 2);
  }

  TEST_CASE("a head that is said while a read is under way is not forgotten for the older one that it brings") {
    feed_with_store with;
    with.feed.grant(wide);
    const auto order = with.feed.next_read();
    with.feed.on_head(0, 1);
    CHECK(with.feed.on_read(*order, {0, 0}, {}) == read_was::taken);
    CHECK(with.progress().head == 1);
    CHECK(with.acked() == -1);
    const auto again = with.feed.next_read();
    CHECK(again->after == -1);
    CHECK(with.feed.on_read(*again, {0, 0}, {}) == read_was::taken); // what was said was wrong
    CHECK_FALSE(with.feed.next_read().has_value());
  }

  TEST_CASE("nothing is read while somebody stands in line, and goes on behind what was read") {
    settings how;
    how.read = {2, 1000};
    feed_with_store with{how};
    with.append(5);
    with.feed.grant(wide);
    CHECK(with.answer(*with.feed.next_read()) == read_was::taken);
    CHECK_FALSE(with.feed.next_read().has_value());
    with.feed.deliver();
    CHECK_FALSE(with.feed.next_read().has_value());
    with.feed.deliver();
    CHECK(with.feed.next_read()->after == 1);
  }

  TEST_CASE("shards take turns, and one that fails does not keep the others") {
    settings how;
    how.read = {1, 1000};
    feed_with_store with{how, {{7, -1}, {3, 1}, {5, -1}}};
    with.append(4, 10, 0, 3);
    with.append(2, 10, 0, 5);
    with.append(3, 10, 0, 7);
    with.feed.grant(wide);
    std::vector<std::uint32_t> turns;
    for (int round = 0; round < 4; ++round) {
      const auto order = with.feed.next_read();
      turns.push_back(order->shard);
      if (order->shard == 3)
        with.feed.on_read_failed(*order);
      else
        with.answer(*order);
      while (with.feed.next() == next_is::deliverable)
        CHECK(with.feed.deliver().shard == order->shard);
    }
    CHECK(turns == std::vector<std::uint32_t>{3, 5, 7, 3});
    CHECK(with.pull() == offsets{1, 1, 2, 2, 3}); // shards 5, 7, 3, 7, 3
    CHECK(with.acknowledge(2, 3) == acknowledged::moved);
    CHECK(with.progress(0) == shard_progress{3, 2, 3, 0, 4, 1});
    CHECK(with.progress(1) == shard_progress{5, -1, 1, 0, 2, 2});
    CHECK(with.progress(2) == shard_progress{7, -1, 2, 0, 3, 3});
  }

  TEST_CASE("a shard that is named twice begins at the lower cursor, and no shard at all is a feed without entries") {
    feed_with_store with{{}, {{1, 5}, {1, 3}}};
    CHECK(with.feed.progress().size() == 1);
    CHECK(with.acked() == 3);
    feed_with_store empty{{}, {}};
    empty.feed.grant(wide);
    CHECK_FALSE(empty.feed.next_read().has_value());
    CHECK(empty.feed.next() == next_is::absent);
  }

  TEST_CASE("offsets that don't increase, or were not asked for, are refused as a whole") {
    feed_with_store with{{}, {{0, 4}}};
    with.feed.grant(wide);
    const std::vector<std::vector<feed_machine::read_entry>> broken{
      {{4, 1}}, {{5, 1}, {5, 1}}, {{6, 1}, {5, 1}}, {{-1, 1}}, {{highest, 1}}};
    for (const auto& entries : broken) {
      const auto order = with.feed.next_read();
      CHECK(with.feed.on_read(*order, {0, 10}, entries) == read_was::disordered);
      CHECK(with.progress() == shard_progress{0, 4, 4, 0, 5, 0});
      CHECK(with.feed.next() == next_is::absent);
    }
  }
}

TEST_SUITE("feed machine: acknowledging") {
  TEST_CASE("delivering never moves the cursor, acknowledging does") {
    feed_with_store with;
    with.append(3);
    with.feed.grant(wide);
    CHECK(with.pull() == offsets{0, 1, 2});
    CHECK(with.progress() == shard_progress{0, -1, 2, 0, 3, 3});
    CHECK(with.acknowledge(0) == acknowledged::moved);
    CHECK(with.progress() == shard_progress{0, 0, 2, 0, 3, 2});
  }

  TEST_CASE("at or below what is acknowledged it changes nothing, and says so") {
    feed_with_store with{{}, {{0, 4}}};
    with.append(7);
    with.feed.grant(wide);
    CHECK(with.pull() == offsets{5, 6});
    for (const auto offset : {lowest, std::int64_t{-1}, std::int64_t{0}, std::int64_t{4}})
      CHECK(with.acknowledge(offset) == acknowledged::nothing);
    CHECK(with.acknowledge_through(4) == acknowledged::nothing);
    CHECK(with.acknowledge(5) == acknowledged::moved);
    CHECK(with.acknowledge(5) == acknowledged::nothing);
    CHECK(with.acked() == 5);
  }

  TEST_CASE("beyond what is delivered it is refused, with the facts, and changes nothing") {
    feed_with_store with;
    with.append(5);
    with.feed.grant({2, 100});
    CHECK(with.pull() == offsets{0, 1});
    for (const auto offset : {std::int64_t{2}, std::int64_t{5}, highest}) {
      const auto refused = with.feed.acknowledge(0, offset);
      REQUIRE(refused.has_error());
      CHECK(refused.error() == errc::ack_beyond_delivered);
      CHECK(refused.error().fact_of("offset") == std::to_string(offset));
      CHECK(refused.error().fact_of("delivered") == "1");
      CHECK(with.feed.acknowledge_through(0, offset).error() == errc::ack_beyond_delivered);
    }
    CHECK(with.progress() == shard_progress{0, -1, 1, 0, 5, 2});
  }

  TEST_CASE("what was read and stands in line was not delivered") {
    feed_with_store with;
    with.append(2);
    with.feed.grant(wide);
    CHECK(with.answer(*with.feed.next_read()) == read_was::taken);
    with.feed.deliver();
    CHECK(with.feed.acknowledge(0, 1).error() == errc::ack_beyond_delivered);
  }

  TEST_CASE("out of order it is kept, and the floor is the contiguous part") {
    feed_with_store with;
    with.append(5);
    with.feed.grant(wide);
    with.pull();
    CHECK(with.acknowledge(3) == acknowledged::kept);
    CHECK(with.acknowledge(1) == acknowledged::kept);
    CHECK(with.acknowledge(3) == acknowledged::nothing);
    CHECK(with.progress() == shard_progress{0, -1, 4, 0, 5, 3});
    CHECK(with.acknowledge(0) == acknowledged::moved);
    CHECK(with.acked() == 1);
    CHECK(with.acknowledge(2) == acknowledged::moved);
    CHECK(with.acked() == 3);
    CHECK(with.acknowledge(4) == acknowledged::moved);
    CHECK(with.progress() == shard_progress{0, 4, 4, 0, 5, 0});
  }

  TEST_CASE("through an offset it takes everything before it along") {
    feed_with_store with;
    with.append(6);
    with.feed.grant(wide);
    with.pull();
    CHECK(with.acknowledge(2) == acknowledged::kept);
    CHECK(with.acknowledge(4) == acknowledged::kept);
    CHECK(with.acknowledge_through(3) == acknowledged::moved);
    CHECK(with.progress() == shard_progress{0, 4, 5, 0, 6, 1});
    CHECK(with.acknowledge_through(3) == acknowledged::nothing);
    CHECK(with.acknowledge_through(5) == acknowledged::moved);
    CHECK(with.acked() == 5);
  }

  TEST_CASE("a shard that the feed does not read is refused by name") {
    feed_with_store with{{}, {{2, -1}, {5, -1}}};
    for (const std::uint32_t shard : {0u, 3u, 6u}) {
      CHECK(with.feed.acknowledge(shard, -1).error() == errc::invalid_argument);
      CHECK(with.feed.acknowledge_through(shard, -1).error().fact_of("shard") == std::to_string(shard));
    }
  }
}

TEST_SUITE("feed machine: filters and holes") {
  TEST_CASE("a filtered entry costs nothing and is never delivered, and moves the cursor when nothing is in flight") {
    feed_with_store with;
    with.append_filtered(2000);
    with.feed.grant({1, 10});
    CHECK(with.pull().empty());
    CHECK(with.progress() == shard_progress{0, 1999, 1999, 0, 2000, 0});
    CHECK(with.feed.available() == credit{1, 10});
    with.append(1);
    CHECK(with.pull() == offsets{2000});
    CHECK(with.acked() == 1999);
  }

  TEST_CASE("the floor passes what was filtered, up to what is in flight") {
    feed_with_store with;
    with.append(1);          // 0
    with.append_filtered(2); // 1, 2
    with.append(2);          // 3, 4
    with.append_filtered(1); // 5
    with.feed.grant(wide);
    CHECK(with.pull() == offsets{0, 3, 4});
    CHECK(with.progress() == shard_progress{0, -1, 5, 0, 6, 3});
    CHECK(with.acknowledge(2) == acknowledged::nothing); // nothing was delivered there
    CHECK(with.acknowledge(4) == acknowledged::kept);
    CHECK(with.acknowledge(0) == acknowledged::moved);
    CHECK(with.acked() == 2);
    CHECK(with.acknowledge_through(2) == acknowledged::nothing);
    CHECK(with.acknowledge(3) == acknowledged::moved);
    CHECK(with.progress() == shard_progress{0, 5, 5, 0, 6, 0});
  }

  TEST_CASE("what is filtered behind an entry that stands in line is done with only after that entry") {
    feed_with_store with;
    with.append_filtered(1);
    with.append(1);
    with.append_filtered(1);
    with.feed.grant(wide);
    CHECK(with.answer(*with.feed.next_read()) == read_was::taken);
    CHECK(with.progress() == shard_progress{0, 0, 0, 0, 3, 0});
    CHECK(with.feed.deliver() == feed_machine::handed_out{0, 1});
    CHECK(with.progress() == shard_progress{0, 0, 2, 0, 3, 1});
    CHECK(with.feed.next() == next_is::absent);
  }

  TEST_CASE("holes before, between and behind entries hold nothing back") {
    feed_with_store with;
    with.append(1, 10, 7);  // 7
    with.append(1, 10, 2);  // 10
    with.append(0, 10, 40); // nothing up to 50
    with.feed.grant(wide);
    CHECK(with.pull() == offsets{7, 10});
    CHECK(with.progress() == shard_progress{0, -1, 50, 0, 51, 2});
    CHECK_FALSE(with.feed.next_read().has_value());
    CHECK(with.acknowledge(9) == acknowledged::nothing);
    CHECK(with.acknowledge(7) == acknowledged::moved);
    CHECK(with.acked() == 7);
    CHECK(with.acknowledge_through(8) == acknowledged::nothing);
    CHECK(with.acknowledge(10) == acknowledged::moved);
    CHECK(with.acked() == 50);
  }

  TEST_CASE("an empty read behind what is in flight moves what is delivered, not the cursor") {
    feed_with_store with;
    with.append(1);
    with.feed.grant(wide);
    with.pull();
    with.append(0, 0, 5);
    CHECK(with.pull().empty());
    CHECK(with.progress() == shard_progress{0, -1, 5, 0, 6, 1});
    CHECK(with.acknowledge(0) == acknowledged::moved);
    CHECK(with.acked() == 5);
  }
}
