#include "conformance/stream/ends.hpp"

#include <set>

// Closing, idle, and what a crash leaves behind: rules 11 and 12.

using namespace std::chrono_literals;
using namespace stream_suite;
using actor_tests::for_each_seed;
using core_tests::live;
using core_tests::live_with;
using core_tests::position_at;
using weir::close_mode;
using weir::errc;
using weir::self;
using weir::task;

namespace {

constexpr std::uint64_t few = 8;

weir::request backfill(std::uint64_t number, const char* sink) {
  weir::request made;
  made.id = weir::request_id{0, number};
  made.sink = sink;
  made.collections = {"x"};
  return made;
}

} // namespace

TEST_SUITE("stream: closing") {
  TEST_CASE("drain: publishers are refused, parked ones wake, consumers get what is there and then the end") {
    if (no_lane_fills_up())
      return;
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      auto over = at.open({.bound = {.items = 3, .bytes = 1u << 20}});
      publisher out{world, over};
      publisher never_used{world, over};
      for (const std::uint64_t seq : {1u, 2u, 3u})
        REQUIRE(out.publish(live(1, seq)).has_value());
      auto waiting = out.begin_publish(live(1, 4));
      world.settle();
      over.close(close_mode::drain);
      world.settle();
      REQUIRE(waiting.is_done());
      CHECK(fault(waiting.value()) == errc::closed);
      CHECK(fault(out.publish(live(1, 4))) == errc::closed);
      CHECK(fault(never_used.publish(live(1, 4))) == errc::closed);
      CHECK_FALSE(over.idle());
      subscriber in{world, over};
      CHECK(in.take(3) == numbers{1, 2, 3});
      CHECK(fault(in.receive()) == errc::end_of_lane);
      CHECK(fault(in.try_receive()) == errc::end_of_lane);
      CHECK(over.idle());
    });
  }

  TEST_CASE("drain: a parked consumer wakes with the end, one that comes later finds it") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      auto over = at.open();
      subscriber in{world, over};
      auto parked = in.begin_receive();
      auto second = in.begin_receive();
      world.settle();
      over.close(close_mode::drain);
      world.settle();
      REQUIRE(parked.is_done());
      CHECK(fault(parked.value()) == errc::end_of_lane);
      REQUIRE(second.is_done());
      subscriber late{world, over};
      CHECK(fault(late.receive()) == errc::end_of_lane);
    });
  }

  TEST_CASE("drain: with leases out there is an end, but what is returned comes again before it") {
    for_each_seed(30, [](simulation& world) {
      bench at{world};
      auto over = at.open();
      publisher out{world, over};
      subscriber in{world, over};
      for (const std::uint64_t seq : {1u, 2u, 3u})
        REQUIRE(out.publish(live(1, seq)).has_value());
      const auto held = in.receive_all();
      REQUIRE(held.size() == 3);
      over.close(close_mode::drain);
      auto parked = in.begin_receive();
      auto returned = in.begin_nack(held[1].handle, 0ms);
      world.settle();
      REQUIRE(parked.is_done());
      if (parked.value()) { // the end had not been said yet
        CHECK(parked.value().value().seq() == 2);
        CHECK(in.ack(parked.value().value().handle).has_value());
      } else {
        CHECK(fault(parked.value()) == errc::end_of_lane);
        const auto again = in.receive();
        REQUIRE(again.has_value());
        CHECK(again.value().seq() == 2);
        CHECK(in.ack(again.value().handle).has_value());
      }
      CHECK(returned.value().has_value());
      CHECK(fault(in.receive()) == errc::end_of_lane);
      CHECK_FALSE(over.idle());
      CHECK(in.ack(held[0].handle).has_value()); // acks count after close
      CHECK(in.ack(held[2].handle).has_value());
      CHECK(over.idle());
      CHECK(read_watermark(world, over).watermark == position_at(1, 3));
    });
  }

  TEST_CASE("drain: a redelivery that is due later keeps the end away until then") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      auto over = at.open();
      publisher out{world, over};
      subscriber in{world, over};
      REQUIRE(out.publish(live(1, 1)).has_value());
      const auto held = in.receive();
      REQUIRE(in.nack(held.value().handle, 50ms).has_value());
      over.close(close_mode::drain);
      auto parked = in.begin_receive();
      world.advance(40ms);
      CHECK_FALSE(parked.is_done());
      world.advance(10ms);
      REQUIRE(parked.is_done());
      CHECK(parked.value().value().seq() == 1);
    });
  }

  TEST_CASE("drain: a consumer that dies leaves its leases to the next one, and then comes the end") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      auto over = at.open();
      publisher out{world, over};
      for (const std::uint64_t seq : {1u, 2u})
        REQUIRE(out.publish(live(1, seq)).has_value());
      subscriber in{world, over};
      REQUIRE(in.receive().has_value());
      over.close(close_mode::drain);
      world.settle();
      in.kill();
      subscriber next{world, over};
      CHECK(next.take(2) == numbers{1, 2});
      CHECK(fault(next.receive()) == errc::end_of_lane);
    });
  }

  TEST_CASE("drain: an item that is parked as a dead letter is delivered to whoever takes them, then that ends too") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      auto over = at.open({.max_attempts = 1, .dead_letters = weir::dead_letter_policy::park});
      publisher out{world, over};
      subscriber in{world, over};
      REQUIRE(out.publish(live(1, 1)).has_value());
      const auto held = in.receive();
      over.close(close_mode::drain);
      subscriber morgue{world, over.lane("a").value().dead_letters()};
      auto parked = morgue.begin_receive();
      world.settle();
      CHECK_FALSE(parked.is_done()); // what is lent may yet be parked
      REQUIRE(in.nack(held.value().handle).has_value());
      REQUIRE(parked.is_done());
      CHECK(parked.value().value().seq() == 1);
      CHECK(fault(in.receive()) == errc::end_of_lane);
      REQUIRE(morgue.ack(parked.value().value().handle).has_value());
      CHECK(fault(morgue.receive()) == errc::end_of_lane);
      CHECK(over.idle());
    });
  }

  TEST_CASE("abort: everything parked wakes with closed, on both sides; leases may still be acknowledged") {
    if (no_lane_fills_up())
      return;
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      auto over = at.open({.lanes = {"a", "b"}, .bound = {.items = 1, .bytes = 1u << 20}});
      publisher out{world, over, {"a", "b"}};
      subscriber a{world, over, "a"};
      subscriber b{world, over, "b"};
      (void)out.publish_all(live(1, 1));
      const auto held = a.receive();
      auto blocked = out.begin_publish_all(live(1, 2));
      auto parked_a = a.begin_receive();
      world.settle();
      REQUIRE_FALSE(parked_a.is_done());
      over.close(close_mode::abort);
      world.settle();
      REQUIRE(blocked.is_done());
      CHECK(fault(blocked.value()[0]) == errc::closed);
      REQUIRE(parked_a.is_done());
      CHECK(fault(parked_a.value()) == errc::closed);
      CHECK(fault(b.receive()) == errc::closed);
      CHECK(fault(out.publish(live(1, 3))) == errc::closed);
      CHECK(a.ack(held.value().handle).has_value());
      CHECK(figures_of(over, "a").acknowledged == 1);
    });
  }

  TEST_CASE("abort: ends that are used after it are told at once") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      auto over = at.open();
      over.close(close_mode::abort);
      publisher out{world, over};
      subscriber in{world, over};
      CHECK(fault(out.publish(live(1, 1))) == errc::closed);
      CHECK(fault(in.receive()) == errc::closed);
      CHECK(fault(in.attach()) == errc::closed);
    });
  }

  TEST_CASE("abort: whoever waits for the watermark or for a request wakes with closed") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      auto over = at.open();
      script host{world};
      auto fence = host.perform(
        [](self, weir::stream from) -> task<weir::result<weir::watermark_reading>> {
          auto op = from.watermark().reaches(position_at(1, 1));
          co_return co_await op;
        },
        over);
      auto serving = host.perform(
        [](self, weir::stream from) -> task<outcome> {
          auto requests = from.requests().consumer();
          auto op = requests.receive();
          auto received = co_await op;
          if (!received)
            co_return std::move(received).error();
          co_return weir::success();
        },
        over);
      REQUIRE_FALSE(fence.is_done());
      REQUIRE_FALSE(serving.is_done());
      over.close(close_mode::abort);
      world.settle();
      REQUIRE(fence.is_done());
      CHECK(fault(fence.value()) == errc::closed);
      REQUIRE(serving.is_done());
      CHECK(fault(serving.value()) == errc::closed);
    });
  }

  TEST_CASE("close: requests are refused afterwards") {
    for (const auto mode : {close_mode::drain, close_mode::abort}) {
      simulation world{1};
      bench at{world};
      auto over = at.open();
      over.close(mode);
      CHECK(fault(over.requests().producer().publish(backfill(1, "a"))) == errc::closed);
      CHECK(over.idle());
    }
  }

  TEST_CASE("drain, then abort: the second goes further; twice is once") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      auto over = at.open();
      publisher out{world, over};
      REQUIRE(out.publish(live(1, 1)).has_value());
      over.close(close_mode::drain);
      over.close(close_mode::drain);
      world.settle();
      over.close(close_mode::abort);
      over.close(close_mode::drain);
      subscriber in{world, over};
      CHECK(fault(in.receive()) == errc::closed);
    });
  }
}

TEST_SUITE("stream: idle") {
  TEST_CASE("it is never true between the queue and the lease, at whatever moment it is asked") {
    for_each_seed(60, [](simulation& world) {
      bench at{world};
      const auto over = at.open({.lanes = {"a", "b"}});
      publisher out{world, over, {"a", "b"}};
      subscriber a{world, over, "a"};
      subscriber b{world, over, "b"};
      CHECK(over.idle());
      auto offered = out.begin_publish_all(live(1, 1));
      auto in_a = a.begin_receive();
      auto in_b = b.begin_receive();
      while (world.step())
        CHECK_FALSE((offered.is_done() && over.idle()));
      auto ack_a = a.begin_ack(in_a.value().value().handle);
      while (world.step())
        CHECK_FALSE(over.idle());
      auto dropped = b.begin_drop(in_b.value().value().handle);
      auto again = b.begin_receive();
      while (world.step())
        CHECK_FALSE(over.idle());
      auto ack_b = b.begin_ack(again.value().value().handle);
      while (world.step())
        if (over.idle())
          CHECK(ack_b.is_done());
      CHECK(over.idle());
      CHECK(ack_a.value().has_value());
      CHECK(dropped.is_done());
    });
  }

  TEST_CASE("a publish that was refused or cancelled leaves nothing behind, and neither does a fenced producer") {
    for_each_seed(30, [](simulation& world) {
      bench at{world};
      const auto over = at.open({.bound = {.items = 2, .bytes = 1u << 20}});
      publisher zombie{world, over};
      publisher next{world, over};
      subscriber in{world, over};
      for (std::uint64_t seq = 1; seq <= 3; ++seq)
        (void)zombie.begin_publish(live(1, seq));
      for (auto steps = world.random().below(15); steps != 0; --steps)
        world.step();
      (void)next.begin_attach();
      (void)next.begin_publish(live(1, 1));
      for (const auto& one : in.receive_all())
        REQUIRE(in.ack(one.handle).has_value());
      for (const auto& one : in.receive_all())
        REQUIRE(in.ack(one.handle).has_value());
      world.settle();
      CHECK(over.idle());
    });
  }
}

namespace {

/// A source, an ingest side that publishes to two lanes and confirms, and two sinks that apply, flush and ack, as small as they
/// can be: each part is an actor that can be killed, and what the source and the sinks know outlives them.
struct small_pipeline {
  struct source_side {
    std::uint64_t confirmed = 0;
    std::uint64_t last = 30;
  };
  struct sink_side {
    std::vector<std::uint64_t> applied; // not yet durable
    std::set<std::uint64_t> flushed;
    std::size_t deliveries = 0;
  };
  struct everything {
    source_side from;
    std::map<std::string, sink_side> to;
    std::string broken;
  };

  static task<> ingest(self, weir::stream over, everything* all) {
    auto a = over.lane("a").value().producer();
    auto b = over.lane("b").value().producer();
    for (auto seq = all->from.confirmed + 1; seq <= all->from.last; ++seq) {
      auto op = weir::publish_all({&a, &b}, live_with(position_at(1, seq), 10));
      auto published = co_await op;
      if (!published[0] && published[0].error() != errc::position_not_above)
        co_return;
    }
  }

  static task<> confirm(self, weir::stream over, everything* all) {
    std::optional<weir::position> last;
    for (;;) {
      auto op = over.watermark().confirmable_changed(last);
      auto reading = co_await op;
      if (!reading)
        co_return;
      last = reading.value().confirmable;
      if (!last)
        continue;
      for (const auto& [name, sink] : all->to)
        for (auto seq = all->from.confirmed + 1; seq <= last->seq; ++seq)
          if (!sink.flushed.contains(seq))
            all->broken = "confirmed " + std::to_string(seq) + " before sink " + name + " had it";
      all->from.confirmed = std::max(all->from.confirmed, last->seq);
    }
  }

  static task<> sink(self me, weir::stream over, everything* all, std::string name) {
    auto& mine = all->to[name];
    mine.applied.clear();
    auto in = over.lane(name).value().consumer();
    for (;;) {
      auto op = in.receive_some(4, 1u << 20);
      auto group = co_await std::move(op);
      if (!group)
        co_return;
      for (auto& one : group.value()) {
        ++mine.deliveries;
        mine.applied.push_back(position_of(one.item())->seq); // after delivery, before apply: the kill may come anywhere here
        auto pause = me.yield();
        co_await pause;
      }
      for (const auto seq : mine.applied)
        mine.flushed.insert(seq);
      mine.applied.clear();
      auto pause = me.yield();
      co_await pause; // after flush, before ack
      for (auto& one : group.value())
        (void)one.ack();
    }
  }
};

} // namespace

TEST_SUITE("stream: crashes") {
  TEST_CASE("a part is killed at any moment and started again: nothing is lost, nothing is confirmed early") {
    for_each_seed(80, [](simulation& world) {
      bench at{world};
      const auto over = at.open({.lanes = {"a", "b"}, .bound = {.items = 5, .bytes = 1u << 20}});
      small_pipeline::everything all;
      const auto start = [&](int part) {
        switch (part) {
        case 0: return weir::spawn(world.system(), small_pipeline::ingest, over, &all);
        case 1: return weir::spawn(world.system(), small_pipeline::confirm, over, &all);
        case 2: return weir::spawn(world.system(), small_pipeline::sink, over, &all, std::string{"a"});
        default: return weir::spawn(world.system(), small_pipeline::sink, over, &all, std::string{"b"});
        }
      };
      std::vector<weir::spawned> parts;
      for (int part = 0; part < 4; ++part)
        parts.push_back(start(part));
      const auto crashes = 10;
      for (int crash = 0; crash < crashes; ++crash) {
        for (auto steps = world.random().below(40); steps != 0 && world.step(); --steps) {
        }
        const auto victim = static_cast<std::size_t>(world.random().below(4));
        parts[victim].kill();
        if (world.random().chance(50)) // otherwise the successor comes while it is still there
          for (auto steps = world.random().below(40); steps != 0 && world.step(); --steps) {
          }
        parts[victim] = start(static_cast<int>(victim));
      }
      world.settle();
      CHECK(all.broken.empty());
      CHECK(all.from.confirmed == all.from.last);
      for (const auto& [name, sink] : all.to) {
        CHECK(sink.flushed.size() == all.from.last);
        CHECK(sink.deliveries <= all.from.last + crashes * 5); // duplicates are bounded by what a lane holds
      }
      CHECK(figures_of(over, "a").bound_violations + figures_of(over, "b").bound_violations == 0);
      CHECK(over.idle());
      for (const auto& part : parts)
        part.request_stop();
    });
  }

  TEST_CASE("between the last snapshot row and its marker, between the marker and the request's ack") {
    for (const bool after_marker : {false, true}) {
      CAPTURE(after_marker);
      for_each_seed(few, [&](simulation& world) {
        bench at{world};
        const auto over = at.open();
        REQUIRE(over.requests().producer().publish(backfill(1, "a")).has_value());
        const auto serve = [](self, weir::stream to, bool with_marker, bool with_ack) -> task<> {
          auto requests = to.requests().consumer();
          auto out = to.lane("a").value().producer();
          auto receiving = requests.receive();
          auto asked = co_await receiving;
          if (!asked)
            co_return;
          weir::batch rows;
          rows.request = asked.value().item().id;
          rows.walked = "z";
          auto publishing = out.publish(rows);
          (void)co_await publishing;
          if (with_marker) {
            auto marking = out.publish(weir::snapshot_complete{asked.value().item().id, {"x"}});
            (void)co_await marking;
          }
          if (with_ack)
            (void)asked.value().ack();
          auto waiting = requests.receive();
          (void)co_await waiting;
        };
        const auto first = weir::spawn(world.system(), serve, over, after_marker, false);
        world.settle();
        first.kill();
        const auto second = weir::spawn(world.system(), serve, over, true, true);
        subscriber in{world, over};
        const auto all = in.receive_all();
        CHECK(all.size() == (after_marker ? 4 : 3)); // the whole again, behind what was there
        CHECK(std::holds_alternative<weir::snapshot_complete>(all.back().item));
        for (const auto& one : all)
          CHECK(in.ack(one.handle).has_value());
        CHECK(over.idle());
        second.request_stop();
        world.settle();
      });
    }
  }

  TEST_CASE("a marker half applied comes again, with its snapshot's batches before it") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open();
      publisher out{world, over};
      REQUIRE(out.publish(core_tests::snapshot()).has_value());
      REQUIRE(out.publish(core_tests::marker()).has_value());
      REQUIRE(out.publish(live(1, 1)).has_value());
      {
        subscriber in{world, over};
        REQUIRE(in.receive().has_value());
        REQUIRE(in.receive().has_value());
        in.kill();
      }
      subscriber next{world, over};
      const auto all = next.receive_all();
      REQUIRE(all.size() == 3);
      CHECK(std::get<weir::batch>(all[0].item).is_snapshot());
      CHECK(std::holds_alternative<weir::snapshot_complete>(all[1].item));
      CHECK(all[1].attempt == 2);
    });
  }

  TEST_CASE("an actor whose handles are gone ends with its stream, whatever it was doing") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      {
        const auto over = at.open({.bound = {.items = 2, .bytes = 1u << 20}});
        publisher out{world, over};
        subscriber in{world, over};
        for (std::uint64_t seq = 1; seq <= 5; ++seq)
          (void)out.begin_publish(live(1, seq));
        (void)in.begin_receive();
        world.settle();
      }
      world.settle();
      CHECK(world.running_actors() == 0);
    });
  }
}
