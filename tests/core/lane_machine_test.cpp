#include <weir/lane_machine.hpp>

#include "lane_items.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <utility>
#include <vector>

using core_tests::empty_bytes;
using core_tests::live;
using core_tests::live_with;
using core_tests::marker;
using core_tests::position_at;
using core_tests::snapshot;
using weir::credit;
using weir::dead_letter_policy;
using weir::lane_machine;
using weir::lane_policy;
using weir::outlet;

namespace {

using numbers = std::vector<std::uint64_t>;
using counts = std::vector<std::uint32_t>;

constexpr credit wide{1000, 1u << 20};

/// A lane with its producer and one consumer attached.
struct lane_with_ends {
  explicit lane_with_ends(lane_policy policy = {}, credit window = wide, weir::lane_floor start = {}) : lane{policy, start} {
    producer = lane.attach_producer();
    consumer = lane.attach_consumer(outlet::main, window);
  }

  /// Publishes live batches from one seq through another, each a transaction.
  void publish(std::uint64_t first, std::uint64_t last) {
    for (auto seq = first; seq <= last; ++seq)
      publish(live(1, seq));
  }

  void publish(weir::lane_item item) {
    std::vector<weir::lane_item> items;
    items.push_back(std::move(item));
    REQUIRE(lane.receive(producer, lane.received_items(), std::move(items)));
  }

  /// What is delivered now, by the items' numbers.
  numbers deliver(outlet out = outlet::main, std::uint64_t now = 0) {
    numbers sequences;
    attempts.clear();
    for (auto lent = lane.lend(out, now, 256); lent.count > 0; lent = lane.lend(out, now, 256))
      for (std::size_t number = 0; number < lent.count; ++number) {
        sequences.push_back(lent.sequence + number);
        attempts.push_back(lent.attempt);
      }
    return sequences;
  }

  bool acknowledge(std::uint64_t ordinal) { return lane.on_acknowledged(outlet::main, consumer, ordinal); }
  bool acknowledge_below(std::uint64_t ordinal) { return lane.on_acknowledged_below(outlet::main, consumer, ordinal, ordinal); }
  bool give_back(std::uint64_t ordinal, std::uint64_t due = 0) {
    return lane.on_returned(outlet::main, consumer, ordinal, due);
  }

  lane_machine lane;
  std::uint64_t producer = 0;
  std::uint64_t consumer = 0;
  counts attempts;
};

lane_policy with_attempts(std::uint32_t most, dead_letter_policy policy) {
  lane_policy made;
  made.max_attempts = most;
  made.dead_letters = policy;
  return made;
}

} // namespace

TEST_SUITE("lane machine") {
  TEST_CASE("order: items are delivered as they were published, each once") {
    lane_with_ends ends;
    ends.publish(1, 2);
    ends.publish(snapshot());
    ends.publish(marker());
    ends.publish(live(1, 3));
    CHECK(ends.deliver() == numbers{0, 1, 2, 3, 4});
    CHECK(ends.attempts == counts{1, 1, 1, 1, 1});
    CHECK(ends.deliver().empty());
  }

  TEST_CASE("order: what is lent at once is consecutive, within the number asked for, and all for the same time") {
    lane_with_ends ends;
    ends.publish(1, 5);
    const auto lend = [&] { return ends.lane.lend(outlet::main, 0, 3); };
    auto lent = lend();
    CHECK(lent.sequence == 0);
    CHECK(lent.ordinal == 0);
    CHECK(lent.count == 3);
    CHECK(lent.bytes == 3 * ends.lane.take_lent(lent).at(0).bytes());
    lent = lend();
    CHECK(lent.sequence == 3);
    CHECK(lent.count == 2);
    CHECK(lend().count == 0);

    ends.give_back(0);
    ends.give_back(1);
    ends.give_back(3);
    ends.lane.return_untaken(outlet::main, ends.consumer, 4); // the last was never seen: its first time is still to come
    ends.publish(6, 6);
    lent = lend();
    CHECK(lent.sequence == 0);
    CHECK(lent.count == 2);
    CHECK(lent.attempt == 2);
    lent = lend();
    CHECK(lent.sequence == 3);
    CHECK(lent.count == 1);
    lent = lend();
    CHECK(lent.sequence == 4);
    CHECK(lent.attempt == 1);
    CHECK(lent.count == 1); // what was returned goes alone, before what is new
    lent = lend();
    CHECK(lent.sequence == 5);
    CHECK(lent.ordinal == 9);
    CHECK(lend().count == 0);
  }

  TEST_CASE("floor: it is the acknowledged prefix, and a hole holds it") {
    lane_with_ends ends;
    ends.publish(1, 4);
    ends.deliver();
    CHECK(ends.acknowledge(1));
    CHECK(ends.acknowledge(3));
    CHECK_FALSE(ends.lane.floor().reached.has_value());
    CHECK(ends.acknowledge(0));
    CHECK(ends.lane.floor().reached == position_at(1, 2));
    CHECK(ends.acknowledge(2));
    CHECK(ends.lane.floor().reached == position_at(1, 4));
    CHECK(ends.lane.held_items() == 0);
    CHECK(ends.lane.held_bytes() == 0);
  }

  TEST_CASE("floor: items without a position neither move nor block it") {
    lane_with_ends ends;
    ends.publish(snapshot());
    ends.publish(live(1, 1));
    ends.publish(marker());
    ends.publish(live(1, 2));
    ends.deliver();
    ends.acknowledge(1);
    CHECK(ends.lane.floor().reached == position_at(1, 1)); // the snapshot before it is not done
    CHECK(ends.lane.released_items() == 0);                // and takes room
    ends.acknowledge(0);
    ends.acknowledge(2);
    CHECK(ends.lane.floor().reached == position_at(1, 1));
    CHECK(ends.lane.released_items() == 3);
    ends.acknowledge(3);
    CHECK(ends.lane.floor().reached == position_at(1, 2));
  }

  TEST_CASE("floor: what the source may confirm ends a transaction") {
    lane_with_ends ends{{}, wide, {position_at(1, 7, false), position_at(1, 6)}};
    CHECK(ends.lane.floor().confirmable == position_at(1, 6));
    CHECK(ends.lane.last_position() == position_at(1, 7));
    ends.publish(live(1, 7, false));
    ends.publish(live(1, 7, true));
    ends.publish(live(1, 8, false));
    ends.deliver();
    ends.acknowledge(0);
    CHECK_FALSE(ends.lane.floor().reached->ends_transaction);
    CHECK(ends.lane.floor().confirmable == position_at(1, 6));
    ends.acknowledge_below(3);
    CHECK(ends.lane.floor().reached == position_at(1, 8));
    CHECK(ends.lane.floor().confirmable == position_at(1, 7));
  }

  TEST_CASE("leases: acknowledging twice is harmless, and returning what was acknowledged changes nothing") {
    lane_with_ends ends;
    ends.publish(1, 2);
    ends.deliver();
    CHECK(ends.acknowledge(0));
    CHECK_FALSE(ends.acknowledge(0));
    CHECK_FALSE(ends.give_back(0));
    CHECK_FALSE(ends.acknowledge(2)); // never delivered
    CHECK(ends.deliver().empty());
    CHECK(ends.lane.floor().reached == position_at(1, 1));
    CHECK(ends.lane.released_items() == 1);
  }

  TEST_CASE("returns: exactly the returned item comes again, before anything new, and counts its attempts") {
    lane_with_ends ends;
    ends.publish(1, 3);
    ends.deliver();
    CHECK(ends.give_back(2));
    CHECK(ends.give_back(0));
    ends.publish(4, 5);
    CHECK(ends.deliver() == numbers{0, 2, 3, 4});
    CHECK(ends.attempts == counts{2, 2, 1, 1});
  }

  TEST_CASE("returns: with what was not taken, everything comes again in order") {
    lane_with_ends ends;
    ends.publish(1, 4);
    ends.deliver();
    CHECK(ends.give_back(1));
    ends.lane.return_untaken(outlet::main, ends.consumer, 2);
    CHECK(ends.deliver() == numbers{1, 2, 3});
    CHECK(ends.attempts == counts{2, 1, 1}); // two were never seen
    CHECK_FALSE(ends.acknowledge(2));        // these leases are over
    CHECK(ends.lane.held_items() == 4);
    ends.lane.return_untaken(outlet::main, ends.consumer + 1, 0);
    CHECK(ends.deliver().empty());
  }

  TEST_CASE("returns: one that waits holds what is behind it until it is due") {
    lane_with_ends ends;
    ends.publish(1, 2);
    ends.deliver();
    CHECK(ends.give_back(1, 50));
    CHECK(ends.give_back(0, 70));
    ends.publish(live(1, 3));
    CHECK(ends.deliver(outlet::main, 69).empty());
    CHECK(ends.lane.next_due(69) == 70u);
    CHECK(ends.deliver(outlet::main, 70) == numbers{0, 1, 2});
    CHECK_FALSE(ends.lane.next_due(70).has_value());
  }

  TEST_CASE("take-over: the old consumer is fenced and what it held is due again, in order") {
    lane_with_ends ends;
    ends.publish(1, 4);
    ends.deliver();
    ends.acknowledge(1);
    ends.give_back(3, 1000);
    const auto old = std::exchange(ends.consumer, ends.lane.attach_consumer(outlet::main, wide));
    CHECK_FALSE(ends.lane.on_acknowledged(outlet::main, old, 0));
    CHECK_FALSE(ends.lane.on_acknowledged_below(outlet::main, old, 3, 3));
    CHECK_FALSE(ends.lane.on_returned(outlet::main, old, 2, 0));
    ends.lane.on_grant(outlet::main, old, {5000, 1u << 30});
    CHECK(ends.lane.stale_messages() == 4);
    CHECK(ends.deliver() == numbers{0, 2, 3});
    CHECK(ends.acknowledge_below(3));
    CHECK(ends.lane.floor().reached == position_at(1, 4));
  }

  TEST_CASE("take-over: what a consumer never saw counts no attempt") {
    lane_with_ends ends;
    ends.publish(1, 3);
    ends.deliver();
    ends.lane.detach_consumer(outlet::main, ends.consumer, 1);
    CHECK_FALSE(ends.lane.has_consumer(outlet::main));
    CHECK(ends.deliver().empty());
    CHECK_FALSE(ends.acknowledge(1)); // it is gone
    ends.consumer = ends.lane.attach_consumer(outlet::main, wide);
    CHECK(ends.deliver() == numbers{0, 1, 2});
    CHECK(ends.attempts == counts{2, 1, 1});
  }

  TEST_CASE("take-over: a fenced producer's items are refused and nothing of its credit is lost") {
    lane_policy policy;
    policy.bound.items = 4;
    lane_with_ends ends{policy};
    ends.publish(1, 2);
    const auto old = std::exchange(ends.producer, ends.lane.attach_producer());
    CHECK_FALSE(ends.lane.receive(old, 2, {live(1, 3)}));
    ends.lane.detach_producer(old); // its last word comes late
    CHECK(ends.lane.has_producer());
    CHECK(ends.lane.received_items() == 2);
    CHECK(ends.lane.producer_credit().available_items() == 2);
    CHECK_FALSE(ends.lane.receive(ends.producer, 3, {live(1, 3)})); // not the next one
    CHECK(ends.lane.receive(ends.producer, 2, {live(1, 3), live(1, 4)}));
    CHECK(ends.lane.bound_violations() == 1); // the link has lost one: said, not hidden
    CHECK(ends.lane.stale_messages() == 1);
  }

  TEST_CASE("nothing is accepted from who never attached, or has said its last word") {
    lane_machine lane{{}, {}};
    CHECK_FALSE(lane.receive(0, 0, {live(1, 1)}));
    const auto producer = lane.attach_producer();
    CHECK(lane.receive(producer, 0, {live(1, 1)}));
    lane.detach_producer(producer);
    CHECK_FALSE(lane.has_producer());
    CHECK_FALSE(lane.receive(producer, 1, {live(1, 2)}));
    CHECK(lane.received_items() == 1);
  }

  TEST_CASE("dead letters: by default an item that fails too often stops the lane, and stays its first") {
    lane_with_ends ends{with_attempts(2, dead_letter_policy::stop_lane)};
    ends.publish(1, 3);
    ends.deliver();
    ends.give_back(0);
    CHECK_FALSE(ends.lane.is_stopped());
    CHECK(ends.deliver() == numbers{0});
    ends.give_back(3, 70);
    CHECK(ends.lane.is_stopped());
    CHECK(ends.deliver(outlet::main, 100).empty());
    CHECK_FALSE(ends.lane.next_due(10).has_value()); // no time will start it again
    CHECK(ends.acknowledge(1));                      // what is out still counts
    ends.lane.attach_consumer(outlet::dead_letters, wide);
    CHECK(ends.lane.is_stopped()); // that was the other outlet
    ends.consumer = ends.lane.attach_consumer(outlet::main, wide);
    CHECK_FALSE(ends.lane.is_stopped());
    CHECK(ends.deliver() == numbers{0, 2});
    CHECK(ends.attempts == counts{3, 2});
  }

  TEST_CASE("dead letters: parked, the item waits for the dead-letter consumer and the lane goes on") {
    lane_with_ends ends{with_attempts(1, dead_letter_policy::park)};
    ends.publish(1, 3);
    ends.deliver();
    ends.give_back(1);
    CHECK(ends.lane.parked_items() == 1);
    ends.publish(live(1, 4));
    CHECK(ends.deliver() == numbers{3});
    ends.acknowledge(0);
    ends.acknowledge(2);
    ends.acknowledge(3);
    CHECK(ends.lane.floor().reached == position_at(1, 1)); // not past what nobody has dealt with
    CHECK(ends.lane.all_delivered(outlet::main));
    CHECK_FALSE(ends.lane.all_delivered(outlet::dead_letters));

    const auto reader = ends.lane.attach_consumer(outlet::dead_letters, wide);
    CHECK(ends.deliver(outlet::dead_letters) == numbers{1});
    CHECK(ends.attempts == counts{2});
    CHECK(ends.lane.all_delivered(outlet::dead_letters));
    CHECK(ends.lane.on_returned(outlet::dead_letters, reader, 0, 0));
    CHECK_FALSE(ends.lane.all_delivered(outlet::dead_letters));
    CHECK(ends.deliver(outlet::dead_letters) == numbers{1});
    CHECK(ends.lane.on_acknowledged(outlet::dead_letters, reader, 1));
    CHECK(ends.lane.parked_items() == 0);
    CHECK(ends.lane.floor().reached == position_at(1, 4));
  }

  TEST_CASE("bounds: the producer gets room again as the prefix is acknowledged") {
    lane_policy policy;
    policy.bound.items = 4;
    lane_with_ends ends{policy};
    CHECK(ends.lane.producer_credit().available_items() == 4);
    ends.publish(1, 4);
    CHECK_FALSE(ends.lane.take_grant().has_value());
    ends.deliver();
    ends.acknowledge(0);
    CHECK_FALSE(ends.lane.take_grant().has_value()); // less than half is free
    ends.acknowledge(1);
    CHECK(ends.lane.take_grant()->items == 6);
    ends.publish(5, 6);
    CHECK_FALSE(ends.lane.is_producer_starved()); // nothing is free
    ends.acknowledge(2);
    CHECK(ends.lane.is_producer_starved());
    CHECK_FALSE(ends.lane.take_grant().has_value());
    CHECK(ends.lane.take_grant(true)->items == 7); // it has starved for long
    CHECK_FALSE(ends.lane.take_grant(true).has_value());
    CHECK_FALSE(ends.lane.is_producer_starved());
    ends.deliver();
    ends.acknowledge(3);
    ends.acknowledge(4);
    CHECK(ends.lane.take_grant()->items == 9);
    CHECK(ends.lane.producer_credit().available_items() == 3);
    CHECK(ends.lane.bound_violations() == 0);
    ends.publish(7, 10);
    CHECK(ends.lane.bound_violations() == 1); // one more than granted
  }

  TEST_CASE("bounds: an item larger than the whole bound is admitted alone") {
    lane_policy policy;
    policy.bound.bytes = 3 * empty_bytes();
    lane_with_ends ends{policy};
    ends.publish(live(1, 1));
    CHECK_FALSE(ends.lane.producer_credit().may_send(100 * empty_bytes()));
    ends.lane.on_probe(ends.producer, ends.lane.producer_credit().wanted_for(100 * empty_bytes()));
    ends.deliver();
    CHECK_FALSE(ends.lane.take_grant().has_value());
    ends.acknowledge(0);
    REQUIRE(ends.lane.take_grant().has_value());
    CHECK(ends.lane.producer_credit().may_send(100 * empty_bytes()));
    ends.publish(live_with(position_at(1, 2), 100 * empty_bytes()));
    CHECK(ends.lane.bound_violations() == 0);
    CHECK_FALSE(ends.lane.producer_credit().may_send(0));
    CHECK(ends.deliver() == numbers{1});
    ends.acknowledge(1);
    CHECK(ends.lane.held_bytes() == 0);
    REQUIRE(ends.lane.take_grant().has_value());
    CHECK(ends.lane.producer_credit().may_send(3 * empty_bytes()));
  }

  TEST_CASE("bounds: a consumer gets no more than its window, and redeliveries pay too") {
    lane_with_ends ends{{}, {2, 1u << 20}};
    ends.publish(1, 4);
    CHECK(ends.deliver() == numbers{0, 1});
    ends.give_back(0);
    CHECK(ends.deliver().empty());
    ends.lane.on_grant(outlet::main, ends.consumer, {3, 1u << 20});
    CHECK(ends.deliver() == numbers{0});
    ends.lane.on_grant(outlet::main, ends.consumer, {3, 1u << 20});
    CHECK(ends.deliver().empty());
  }

  TEST_CASE("bounds: an acknowledged item lets go of its block, even behind a hole") {
    lane_with_ends ends;
    ends.publish(live(1, 1));
    auto heavy = live_with(position_at(1, 2), 1000);
    const std::weak_ptr<const weir::block> block = std::get<weir::batch>(heavy).envelopes;
    ends.publish(std::move(heavy));
    ends.deliver();
    CHECK_FALSE(block.expired());
    ends.acknowledge(1);
    CHECK(ends.lane.held_bytes() == empty_bytes());
    CHECK(block.expired());
    ends.acknowledge(0);
    CHECK(ends.lane.floor().reached == position_at(1, 2));
  }

  TEST_CASE("closing: a lane is delivered when nothing waits any more; what is lent may still come back") {
    lane_with_ends ends;
    CHECK(ends.lane.all_delivered(outlet::main));
    ends.publish(1, 2);
    ends.lane.detach_producer(ends.producer);
    CHECK_FALSE(ends.lane.all_delivered(outlet::main));
    ends.deliver();
    CHECK(ends.lane.all_delivered(outlet::main));
    ends.give_back(0, 5);
    CHECK(ends.lane.waits_for_time());
    CHECK_FALSE(ends.lane.all_delivered(outlet::main));
    CHECK(ends.deliver(outlet::main, 5) == numbers{0});
    ends.acknowledge_below(3);
    CHECK(ends.lane.all_delivered(outlet::main));
    CHECK(ends.lane.floor().reached == position_at(1, 2));
  }

  TEST_CASE("dropping: everything goes, the floor stays, and what comes late changes nothing") {
    lane_with_ends ends{with_attempts(1, dead_letter_policy::park)};
    ends.publish(1, 4);
    ends.deliver();
    ends.acknowledge(0);
    ends.give_back(1);
    ends.publish(5, 6);
    ends.lane.drop_all();
    CHECK(ends.lane.held_items() == 0);
    CHECK(ends.lane.held_bytes() == 0);
    CHECK(ends.lane.parked_items() == 0);
    CHECK(ends.lane.released_items() == 6);
    CHECK(ends.lane.floor().reached == position_at(1, 1));
    CHECK_FALSE(ends.acknowledge(2));
    CHECK_FALSE(ends.give_back(3));
    CHECK_FALSE(ends.lane.receive(ends.producer, 6, {live(1, 7)}));
    CHECK(ends.deliver().empty());
    CHECK_FALSE(ends.lane.take_grant().has_value());
    CHECK(ends.lane.floor().reached == position_at(1, 1));
    ends.lane.attach_producer();
    const auto next = ends.lane.producer_credit();
    CHECK(next.available_items() + 6 == weir::lane_bound{}.items); // and the rest is granted when half of it is used
  }
}
