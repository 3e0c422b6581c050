#include "conformance/stream/ends.hpp"

#include <algorithm>
#include <limits>

// Floors, the watermark, the lane set, empty batches: rules 3, 4, 5 and 10.

using namespace std::chrono_literals;
using namespace stream_suite;
using actor_tests::for_each_seed;
using core_tests::live;
using core_tests::marker;
using core_tests::position_at;
using core_tests::snapshot;
using weir::errc;
using weir::position;
using weir::self;
using weir::task;

namespace {

constexpr std::uint64_t few = 8;

std::optional<position> watermark(simulation& world, const weir::stream& over) {
  return read_watermark(world, over).watermark;
}

std::optional<position> confirmable(simulation& world, const weir::stream& over) {
  return read_watermark(world, over).confirmable;
}

task<weir::result<weir::watermark_reading>> reach(self, weir::stream over, position wanted, weir::deadline until) {
  auto op = over.watermark().reaches(wanted, until);
  co_return co_await op;
}

task<weir::result<weir::watermark_reading>> confirmable_change(self, weir::stream over, std::optional<position> last) {
  auto op = over.watermark().confirmable_changed(last);
  co_return co_await op;
}

} // namespace

TEST_SUITE("stream: floor") {
  TEST_CASE("it is a contiguous prefix, never the maximum") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open();
      publisher out{world, over};
      subscriber in{world, over};
      for (std::uint64_t seq = 1; seq <= 4; ++seq)
        REQUIRE(out.publish(live(1, seq * 10)).has_value());
      const auto held = in.receive_all();
      REQUIRE(held.size() == 4);
      CHECK_FALSE(watermark(world, over).has_value());
      CHECK(in.ack(held[1].handle).has_value());
      CHECK(in.ack(held[3].handle).has_value());
      CHECK_FALSE(watermark(world, over).has_value());
      CHECK(in.ack(held[0].handle).has_value());
      CHECK(watermark(world, over) == position_at(1, 20));
      CHECK(in.ack(held[2].handle).has_value());
      CHECK(watermark(world, over) == position_at(1, 40));
    });
  }

  TEST_CASE("items without a position neither move it nor block it") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open();
      publisher out{world, over};
      subscriber in{world, over};
      for (auto item : {snapshot(), live(1, 1), marker(), live(1, 2), snapshot()})
        REQUIRE(out.publish(item).has_value());
      const auto held = in.receive_all();
      REQUIRE(held.size() == 5);
      CHECK(in.ack(held[1].handle).has_value());
      CHECK(watermark(world, over) == position_at(1, 1)); // the snapshot batch before it is not done
      CHECK(in.ack(held[0].handle).has_value());
      CHECK(in.ack(held[2].handle).has_value());
      CHECK(watermark(world, over) == position_at(1, 1));
      CHECK(in.ack(held[3].handle).has_value());
      CHECK(watermark(world, over) == position_at(1, 2));
      CHECK(in.ack(held[4].handle).has_value());
      CHECK(watermark(world, over) == position_at(1, 2));
    });
  }

  TEST_CASE("empty live batches carry their position through, as soon as all before is acknowledged") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open();
      publisher out{world, over};
      subscriber in{world, over};
      REQUIRE(out.publish(core_tests::live_with(position_at(1, 1), 100)).has_value());
      REQUIRE(out.publish(live(1, 2)).has_value()); // a keep-alive behind a change that is under way
      const auto held = in.receive_all();
      CHECK(in.ack(held[1].handle).has_value());
      CHECK_FALSE(watermark(world, over).has_value());
      CHECK(in.ack(held[0].handle).has_value());
      CHECK(watermark(world, over) == position_at(1, 2));
    });
  }

  TEST_CASE("a transaction that a batch boundary cuts is confirmed by its commit alone") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open();
      publisher out{world, over};
      subscriber in{world, over};
      REQUIRE(out.publish(live(1, 1)).has_value());
      REQUIRE(out.publish(live(1, 2, false)).has_value());
      REQUIRE(out.publish(live(1, 2, false)).has_value());
      REQUIRE(out.publish(live(1, 2, true)).has_value());
      CHECK(fault(out.publish(live(1, 2, true))) == errc::position_not_above);
      (void)in.take(3);
      CHECK(watermark(world, over) == position_at(1, 2, false));
      CHECK_FALSE(watermark(world, over)->ends_transaction);
      CHECK(confirmable(world, over) == position_at(1, 1));
      (void)in.take(1);
      CHECK(confirmable(world, over) == position_at(1, 2));
      CHECK(confirmable(world, over)->ends_transaction);
    });
  }

  TEST_CASE("a new epoch counts above everything before, and acks of the old one that come late move nothing back") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open();
      publisher out{world, over};
      subscriber in{world, over};
      REQUIRE(out.publish(live(1, 100)).has_value());
      REQUIRE(out.publish(live(1, 200)).has_value());
      REQUIRE(out.publish(live(2, 1)).has_value());
      REQUIRE(out.publish(live(2, 2)).has_value());
      CHECK(fault(out.publish(live(1, 300))) == errc::position_not_above);
      const auto held = in.receive_all();
      for (const std::size_t index : {3u, 2u, 0u})
        CHECK(in.ack(held[index].handle).has_value());
      CHECK(watermark(world, over) == position_at(1, 100));
      CHECK(in.ack(held[1].handle).has_value());
      CHECK(watermark(world, over) == position_at(2, 2));
      CHECK(in.ack(held[1].handle).has_value());
      CHECK(watermark(world, over) == position_at(2, 2));
    });
  }

  TEST_CASE("the greatest position there is") {
    for_each_seed(few, [](simulation& world) {
      constexpr auto most = std::numeric_limits<std::uint64_t>::max();
      bench at{world};
      const auto over = at.open();
      publisher out{world, over};
      subscriber in{world, over};
      REQUIRE(out.publish(live(most, most - 1)).has_value());
      REQUIRE(out.publish(live(most, most)).has_value());
      CHECK(fault(out.publish(live(most, most))) == errc::position_not_above);
      CHECK(fault(out.publish(live(0, 0))) == errc::position_not_above);
      (void)in.take(2);
      CHECK(watermark(world, over) == position_at(most, most));
      script reader{world};
      auto reached = reader.perform(reach, over, position_at(most, most), weir::deadline::never());
      CHECK(reached.is_done());
    });
  }
}

TEST_SUITE("stream: watermark") {
  TEST_CASE("it is the minimum of the floors, none while a lane has none, none without lanes") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      auto over = at.open({.lanes = {}});
      CHECK_FALSE(watermark(world, over).has_value());
      CHECK(over.idle());
      REQUIRE(over.add_lane("a", position_at(1, 5)).has_value());
      CHECK(watermark(world, over) == position_at(1, 5));
      REQUIRE(over.add_lane("b", std::nullopt).has_value());
      CHECK_FALSE(watermark(world, over).has_value());
      publisher out{world, over, {"a", "b"}};
      for (const std::uint64_t seq : {6u, 7u, 8u})
        for (const auto& published : out.publish_all(live(1, seq)))
          REQUIRE(published.has_value());
      subscriber a{world, over, "a"};
      subscriber b{world, over, "b"};
      (void)a.take(3);
      CHECK_FALSE(watermark(world, over).has_value());
      (void)b.take(2);
      CHECK(watermark(world, over) == position_at(1, 7));
      REQUIRE(over.retire_lane("b").has_value());
      CHECK(watermark(world, over) == position_at(1, 8));
      REQUIRE(over.retire_lane("a").has_value());
      CHECK_FALSE(watermark(world, over).has_value());
      CHECK_FALSE(confirmable(world, over).has_value());
    });
  }

  TEST_CASE("reaches: the fence behind which a reader sees its own write") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open({.lanes = {"a", "b"}});
      publisher out{world, over, {"a", "b"}};
      subscriber a{world, over, "a"};
      subscriber b{world, over, "b"};
      for (const std::uint64_t seq : {1u, 2u, 3u})
        (void)out.publish_all(live(1, seq));
      script reader{world};
      auto fence = reader.perform(reach, over, position_at(1, 2), weir::deadline::never());
      auto late = reader.perform(reach, over, position_at(1, 3), weir::deadline{10ms});
      (void)a.take(3);
      (void)b.take(1);
      CHECK_FALSE(fence.is_done());
      (void)b.take(1);
      REQUIRE(fence.is_done());
      CHECK(fence.value().value().watermark == position_at(1, 2));
      world.advance(11ms);
      REQUIRE(late.is_done());
      CHECK(fault(late.value()) == errc::timed_out);
      auto again = reader.perform(reach, over, position_at(1, 1), weir::deadline::never());
      CHECK(again.is_done());
    });
  }

  TEST_CASE("reaches: an open part of a transaction does not cover its end") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open();
      publisher out{world, over};
      subscriber in{world, over};
      REQUIRE(out.publish(live(1, 1, false)).has_value());
      script reader{world};
      auto fence = reader.perform(reach, over, position_at(1, 1), weir::deadline::never());
      (void)in.take(1);
      CHECK_FALSE(fence.is_done());
      REQUIRE(out.publish(live(1, 1, true)).has_value());
      (void)in.take(1);
      CHECK(fence.is_done());
    });
  }

  TEST_CASE("observers see every standstill, and it never goes back") {
    for_each_seed(20, [](simulation& world) {
      bench at{world};
      const auto over = at.open({.lanes = {"a", "b"}});
      script reader{world};
      auto seen = reader.begin(
        [](self, weir::stream from) -> task<std::vector<std::uint64_t>> {
          std::vector<std::uint64_t> all;
          std::optional<position> last;
          while (!last || last->seq < 20) {
            auto op = from.watermark().changed(last);
            auto reading = co_await op;
            if (!reading)
              break;
            last = reading.value().watermark;
            all.push_back(last ? last->seq : 0);
          }
          co_return all;
        },
        over);
      publisher out{world, over, {"a", "b"}};
      subscriber a{world, over, "a"};
      subscriber b{world, over, "b"};
      for (std::uint64_t seq = 1; seq <= 20; ++seq)
        (void)out.begin_publish_all(live(1, seq));
      const auto in_a = a.receive_all();
      const auto in_b = b.receive_all();
      for (std::size_t index = 0; index < 20; ++index) {
        (void)a.begin_ack(in_a[index].handle);
        (void)b.begin_ack(in_b[19 - index].handle);
      }
      world.settle();
      REQUIRE(seen.is_done());
      CHECK(std::ranges::is_sorted(seen.value()));
      CHECK(seen.value().back() == 20);
    });
  }

  TEST_CASE("what may be confirmed moves while a lane is full, and while nothing is published") {
    if (no_lane_fills_up())
      return;
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open({.bound = {.items = 2, .bytes = 1u << 20}});
      publisher out{world, over};
      subscriber in{world, over};
      REQUIRE(out.publish(live(1, 1)).has_value());
      const auto first = in.receive();
      REQUIRE(out.publish(live(1, 2)).has_value());
      auto blocked = out.begin_publish(live(1, 3));
      script reader{world};
      auto moved = reader.perform(confirmable_change, over, std::optional<position>{});
      CHECK_FALSE(blocked.is_done());
      CHECK_FALSE(moved.is_done());
      REQUIRE(in.ack(first.value().handle).has_value());
      REQUIRE(moved.is_done());
      CHECK(moved.value().value().confirmable == position_at(1, 1));
    });
  }
}

TEST_SUITE("stream: lane set") {
  TEST_CASE("an added lane states its floor, and may lower the minimum") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      auto over = at.open({.floor = position_at(1, 50)});
      CHECK(watermark(world, over) == position_at(1, 50));
      REQUIRE(over.add_lane("b", position_at(1, 10)).has_value());
      CHECK(watermark(world, over) == position_at(1, 10));
      CHECK(fault(over.add_lane("b", position_at(1, 10))) == errc::duplicate_lane);
      publisher out{world, over, {"b"}};
      CHECK(fault(out.publish(live(1, 10))) == errc::position_not_above);
      CHECK(out.publish(live(1, 11)).has_value());
      subscriber in{world, over, "b"};
      CHECK(in.take(1) == numbers{11});
      CHECK(watermark(world, over) == position_at(1, 11));
    });
  }

  TEST_CASE("a floor inside of a transaction is none that the source may confirm") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open({.floor = position_at(1, 50, false)});
      CHECK(watermark(world, over) == position_at(1, 50));
      CHECK_FALSE(confirmable(world, over).has_value());
    });
  }

  TEST_CASE("retiring: leaves the minimum, wakes its ends, releases what it held, with leases out") {
    if (no_lane_fills_up())
      return;
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      auto over = at.open({.lanes = {"a", "b"}, .bound = {.items = 3, .bytes = 1u << 20}});
      publisher both{world, over, {"a", "b"}};
      subscriber a{world, over, "a"};
      subscriber b{world, over, "b"};
      for (const std::uint64_t seq : {1u, 2u, 3u})
        (void)both.publish_all(core_tests::live_with(position_at(1, seq), 100));
      (void)a.take(3);
      auto held = b.receive();
      auto fan_out = both.begin_publish_all(core_tests::live_with(position_at(1, 4), 100));
      auto second = b.receive();
      auto third = b.receive();
      auto parked = b.begin_receive();
      script reader{world};
      auto fence = reader.perform(reach, over, position_at(1, 3), weir::deadline::never());
      CHECK_FALSE(fan_out.is_done());
      CHECK_FALSE(fence.is_done());

      REQUIRE(over.retire_lane("b").has_value());
      world.settle();
      CHECK(fence.is_done());
      REQUIRE(fan_out.is_done());
      CHECK(fan_out.value()[0].has_value());
      CHECK(fault(fan_out.value()[1]) == errc::lane_retired);
      REQUIRE(parked.is_done());
      CHECK(fault(parked.value()) == errc::lane_retired);
      CHECK(fault(b.ack(held.value().handle)) == errc::stale_delivery);
      CHECK(fault(b.nack(second.value().handle)) == errc::stale_delivery);
      CHECK(fault(b.receive()) == errc::lane_retired);
      CHECK(fault(over.lane("b")) == errc::unknown_lane);
      CHECK(fault(over.retire_lane("b")) == errc::unknown_lane);
      (void)a.take(1);
      CHECK(watermark(world, over) == position_at(1, 4));
      CHECK(over.idle());
    });
  }

  TEST_CASE("an end that was made before the lane was retired, and used after, is told so") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      auto over = at.open();
      publisher out{world, over};
      subscriber in{world, over};
      REQUIRE(over.retire_lane("a").has_value());
      CHECK(fault(out.publish(live(1, 1))) == errc::lane_retired);
      CHECK(fault(in.receive()) == errc::lane_retired);
      CHECK(fault(out.attach()) == errc::lane_retired);
      CHECK(fault(in.attach()) == errc::lane_retired);
    });
  }

  TEST_CASE("a lane that comes again under its old name is a new one") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      auto over = at.open();
      publisher old_out{world, over};
      REQUIRE(old_out.publish(live(1, 1)).has_value());
      REQUIRE(over.retire_lane("a").has_value());
      REQUIRE(over.add_lane("a", std::nullopt).has_value());
      publisher out{world, over};
      subscriber in{world, over};
      REQUIRE(out.publish(live(1, 1)).has_value());
      CHECK(in.take(1) == numbers{1});
      CHECK(fault(old_out.publish(live(1, 2))) == errc::lane_retired);
      CHECK(in.receive_all().empty());
      CHECK(watermark(world, over) == position_at(1, 1));
    });
  }
}
