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
using gap = std::pair<std::int64_t, std::int64_t>;
using next_is = feed_machine::next_is;
using read_was = feed_machine::read_was;
using settings = feed_machine::settings;

namespace {

settings in_parity() {
  settings how;
  how.mode = weir::feed_mode::parity;
  return how;
}

} // namespace

TEST_SUITE("feed machine: going elsewhere") {
  TEST_CASE("rewind: what was not acknowledged comes again, and is charged again") {
    feed_with_store with;
    with.append(5);
    with.feed.grant({7, 70});
    CHECK(with.pull() == offsets{0, 1, 2, 3, 4});
    with.acknowledge(0);
    with.acknowledge(3); // behind a hole: it comes again
    with.feed.rewind();
    CHECK(with.progress() == shard_progress{0, 0, 0, 0, 5, 0});
    CHECK(with.feed.available() == credit{2, 20});
    CHECK(with.feed.acknowledge(0, 3).error() == errc::ack_beyond_delivered);
    CHECK(with.pull() == offsets{1, 2});
    with.feed.grant(wide);
    CHECK(with.pull() == offsets{3, 4});
    CHECK(with.feed.charged() == credit{9, 90});
    CHECK(with.is_conserved());
  }

  TEST_CASE("rewind: nobody stands in line any more") {
    feed_with_store with;
    with.append(3);
    with.feed.grant(wide);
    with.answer(*with.feed.next_read());
    with.feed.deliver();
    with.feed.rewind();
    CHECK(with.feed.next() == next_is::absent);
    CHECK(with.feed.next_bytes() == 0);
    CHECK(with.pull() == offsets{0, 1, 2});
  }

  TEST_CASE("rewind: a read that was asked for before it is dropped, whenever its answer comes") {
    feed_with_store with;
    with.append(3);
    with.feed.grant(wide);
    CHECK(with.pull() == offsets{0, 1, 2});
    with.append(2);
    const auto before = with.feed.next_read();
    CHECK(before->after == 2);
    with.feed.rewind();
    CHECK(with.answer(*before) == read_was::superseded);
    CHECK(with.feed.next() == next_is::absent);
    const auto after = with.feed.next_read();
    CHECK(after->after == -1);
    CHECK(with.answer(*before) == read_was::superseded);
    with.feed.on_read_failed(*before);
    CHECK_FALSE(with.feed.next_read().has_value()); // the newer one is still under way
    CHECK(with.answer(*after) == read_was::taken);
    CHECK(with.answer(*after) == read_was::superseded); // an answer counts once
    CHECK(with.pull() == offsets{0, 1, 2, 3, 4});
  }

  TEST_CASE("skip: the feed goes on at what is there, and says what was missed") {
    feed_with_store with;
    with.append(20);
    with.feed.grant({2, 100});
    CHECK(with.pull() == offsets{0, 1});
    CHECK(with.feed.skip_to(0, 10) == gap{2, 10});
    CHECK(with.progress() == shard_progress{0, -1, 9, 10, 20, 2});
    with.feed.grant({2, 100});
    CHECK(with.pull() == offsets{10, 11});
    CHECK(with.acknowledge(0) == acknowledged::moved);
    CHECK(with.acked() == 0);
    CHECK(with.acknowledge(1) == acknowledged::moved); // and now nothing is left before what was missed
    CHECK(with.acked() == 9);
  }

  TEST_CASE("skip: with nothing in flight the cursor goes along") {
    feed_with_store with{{}, {{0, 3}}};
    with.feed.grant(wide);
    CHECK(with.feed.skip_to(0, 8) == gap{4, 8});
    CHECK(with.progress() == shard_progress{0, 7, 7, 8, 8, 0});
    CHECK(with.feed.next_read()->after == 7);
  }

  TEST_CASE("skip: where nothing was missed nothing changes, and a read under way goes on") {
    feed_with_store with{{}, {{0, 3}}};
    with.append(5);
    with.feed.grant(wide);
    const auto order = with.feed.next_read();
    CHECK_FALSE(with.feed.skip_to(0, 4).has_value());
    CHECK_FALSE(with.feed.skip_to(0, lowest).has_value());
    CHECK_FALSE(with.feed.skip_to(1, 100).has_value());
    CHECK(with.progress() == shard_progress{0, 3, 3, 4, 5, 0});
    CHECK(with.answer(*order) == read_was::taken);
    CHECK(with.pull() == offsets{4});
  }

  TEST_CASE("skip: what stands in line is delivered, and only what was not read is missed") {
    settings how;
    how.read = {3, 1000};
    feed_with_store with{how};
    with.append(10);
    with.feed.grant(wide);
    with.answer(*with.feed.next_read());
    with.feed.deliver();
    CHECK(with.feed.skip_to(0, 8) == gap{3, 8});
    CHECK(with.delivered() == 0);
    CHECK(with.pull() == offsets{1, 2, 8, 9});
    CHECK(with.acknowledge_through(2) == acknowledged::moved);
    CHECK(with.acked() == 7);
  }

  TEST_CASE("skip: a read of that shard is dropped, one of another is not") {
    feed_with_store with{{}, {{0, -1}, {1, -1}}};
    with.append(5, 10, 0, 0);
    with.append(5, 10, 0, 1);
    with.feed.grant(wide);
    const auto first = with.feed.next_read();
    CHECK(first->shard == 0);
    CHECK(with.feed.skip_to(0, 3) == gap{0, 3});
    CHECK(with.answer(*first) == read_was::superseded);
    const auto second = with.feed.next_read();
    CHECK(second->shard == 1);
    CHECK(with.feed.skip_to(0, 4) == gap{3, 4});
    CHECK(with.answer(*second) == read_was::taken);
    CHECK(with.pull() == offsets{0, 1, 2, 3, 4, 4}); // all of shard 1, and what is left of shard 0
  }

  TEST_CASE("skip: after a rewind what was not acknowledged and is gone is missed as well") {
    feed_with_store with;
    with.append(10);
    with.feed.grant({4, 100});
    CHECK(with.pull() == offsets{0, 1, 2, 3});
    with.acknowledge(0);
    with.feed.rewind();
    CHECK(with.feed.skip_to(0, 3) == gap{1, 3});
    CHECK(with.acked() == 2);
  }

  TEST_CASE("the largest offsets there can be overflow nothing") {
    feed_with_store with{{}, {{0, highest}, {1, lowest}, {2, highest - 2}}};
    CHECK(with.progress(0) == shard_progress{0, highest - 1, highest - 1, 0, highest, 0});
    CHECK(with.progress(1) == shard_progress{1, -1, -1, 0, 0, 0});
    with.feed.grant(wide);
    for (std::uint32_t shard = 0; shard < 3; ++shard) {
      const auto order = with.feed.next_read();
      REQUIRE(order->shard == shard);
      CHECK(with.feed.on_read(*order, {lowest, lowest}, {}) == read_was::taken);
    }
    CHECK(with.progress(2) == shard_progress{2, highest - 2, highest - 2, 0, highest - 1, 0});
    with.feed.on_head(2, highest);
    const auto order = with.feed.next_read();
    CHECK(with.feed.on_read(*order, {0, highest}, {{highest - 1, 1}}) == read_was::taken);
    CHECK(with.feed.deliver() == feed_machine::handed_out{2, highest - 1});
    CHECK_FALSE(with.feed.next_read().has_value());
    CHECK(with.feed.acknowledge(2, highest).error() == errc::ack_beyond_delivered);
    CHECK(with.feed.acknowledge(2, highest - 1).value() == acknowledged::moved);
    CHECK(with.feed.skip_to(1, highest) == gap{0, highest});
    CHECK(with.progress(1) == shard_progress{1, highest - 1, highest - 1, highest, highest, 0});
  }
}

TEST_SUITE("feed machine: parity mode") {
  TEST_CASE("each pull begins at the cursor and uses the credit up") {
    feed_with_store with{in_parity()};
    with.append(5);
    with.feed.grant({2, 100});
    CHECK(with.pull() == offsets{0, 1});
    with.feed.end_pull();
    CHECK(with.feed.available() == credit{0, 0});
    CHECK(with.feed.revoked() == credit{0, 80});
    with.feed.grant({3, 100});
    CHECK(with.pull() == offsets{0, 1, 2});
    with.feed.end_pull();
    CHECK(with.acknowledge(1) == acknowledged::moved);
    with.feed.grant({10, 1000});
    CHECK(with.pull() == offsets{2, 3, 4});
    with.feed.end_pull();
    CHECK(with.feed.available() == credit{0, 0});
    CHECK(with.is_conserved());
  }

  TEST_CASE("an acknowledgement sets the cursor to anything above it that is there, and is ignored otherwise") {
    feed_with_store with{in_parity()};
    with.append(5);
    with.feed.grant({2, 100});
    with.pull();
    with.feed.end_pull();
    CHECK(with.acknowledge(5) == acknowledged::nothing); // the head
    CHECK(with.acknowledge(highest) == acknowledged::nothing);
    CHECK(with.acknowledge(-1) == acknowledged::nothing);
    CHECK(with.acknowledge(3) == acknowledged::moved); // never delivered
    CHECK(with.acknowledge_through(2) == acknowledged::nothing);
    CHECK(with.progress() == shard_progress{0, 3, 3, 0, 5, 0});
    CHECK(with.feed.acknowledge(1, 3).error() == errc::invalid_argument);
    with.feed.grant(wide);
    CHECK(with.pull() == offsets{4});
  }

  TEST_CASE("within a pull, what was read is delivered even where the cursor is beyond it") {
    feed_with_store with{in_parity()};
    with.append(6);
    with.feed.grant({4, 100});
    with.answer(*with.feed.next_read());
    with.feed.deliver();
    CHECK(with.acknowledge(2) == acknowledged::moved);
    CHECK(with.progress() == shard_progress{0, 2, 2, 0, 6, 0});
    CHECK(with.pull() == offsets{1, 2, 3});
    CHECK(with.progress() == shard_progress{0, 2, 3, 0, 6, 1});
  }

  TEST_CASE("within a pull, the cursor passes what was filtered behind it") {
    feed_with_store with{in_parity()};
    with.append(1);
    with.append_filtered(2);
    with.append(1);
    with.feed.grant({4, 100});
    CHECK(with.pull() == offsets{0, 3});
    CHECK(with.acknowledge(0) == acknowledged::moved);
    CHECK(with.progress() == shard_progress{0, 2, 3, 0, 4, 1});
  }

  TEST_CASE("a cursor that is set beyond a read under way drops it") {
    feed_with_store with{in_parity()};
    with.append(6);
    with.feed.grant(wide);
    const auto order = with.feed.next_read();
    CHECK(with.acknowledge(3) == acknowledged::moved);
    CHECK(with.answer(*order) == read_was::superseded);
    CHECK(with.pull() == offsets{4, 5});
  }

  TEST_CASE("the end of a pull means nothing in continued mode") {
    feed_with_store with;
    with.append(5);
    with.feed.grant({3, 100});
    with.answer(*with.feed.next_read());
    with.feed.deliver();
    with.feed.end_pull();
    CHECK(with.feed.available() == credit{2, 90});
    CHECK(with.pull() == offsets{1, 2});
  }
}
