#include <weir/channel.hpp>
#include <weir/gate.hpp>
#include <weir/spawn.hpp>
#include <weir/stream.hpp>

#include "actors/script.hpp"
#include "actors/simulation.hpp"
#include "actors/traces.hpp"
#include "core/lane_items.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>

using namespace std::chrono_literals;
using actor_tests::for_each_seed;
using actor_tests::journal;
using actor_tests::new_journal;
using actor_tests::script;
using actor_tests::simulation;
using actor_tests::trace;
using core_tests::live;
using core_tests::position_at;
using weir::errc;
using weir::error;
using weir::result;
using weir::self;
using weir::task;

namespace {

weir::stream open_stream(simulation& world) {
  return weir::channel::open(world.system(), {.lanes = {"full", "free"}, .bound = {.items = 2, .bytes = 1u << 20}}).value();
}

/// A producer of the lane "full", after it has filled it.
task<result<weir::producer<weir::lane_item>>> fill(self, weir::stream over) {
  auto out = over.lane("full").value().producer();
  for (const std::uint64_t seq : {1u, 2u}) {
    auto publishing = out.publish(live(1, seq));
    auto published = co_await publishing;
    if (!published)
      co_return std::move(published).error();
  }
  co_return std::move(out);
}

// Everything that can be awaited and that has to wait -------------------------------------------------------------------------

task<result<void>> sleeps(self me, weir::stream, journal into) {
  const trace ends{into, "frame"};
  auto op = me.sleep(1h);
  co_return co_await op;
}

task<result<void>> joins(self me, weir::stream, journal into) {
  const trace ends{into, "frame"};
  const auto endless = [](self inner) -> task<> {
    auto pause = inner.sleep(weir::deadline::never());
    (void)co_await pause;
  };
  const auto other = me.spawn(endless);
  auto op = other.join();
  co_return co_await op;
}

task<result<void>> publishes(self me, weir::stream over, journal into) {
  const trace ends{into, "frame"};
  auto filling = fill(me, over);
  auto out = co_await std::move(filling);
  if (!out)
    co_return std::move(out).error();
  auto op = out.value().publish(live(1, 3));
  auto published = co_await op;
  if (!published && position_of(op.item()) == nullptr)
    co_return error{errc::corrupt, "the value of a publish that failed is gone"};
  co_return published;
}

task<result<void>> publishes_until(self me, weir::stream over, journal into) {
  const trace ends{into, "frame"};
  auto filling = fill(me, over);
  auto out = co_await std::move(filling);
  if (!out)
    co_return std::move(out).error();
  auto op = out.value().publish_until(live(1, 3), 1h);
  co_return co_await op;
}

task<result<void>> publishes_to_all(self me, weir::stream over, journal into) {
  const trace ends{into, "frame"};
  auto filling = fill(me, over);
  auto out = co_await std::move(filling);
  if (!out)
    co_return std::move(out).error();
  auto other = over.lane("free").value().producer();
  auto op = publish_all({&other, &out.value()}, live(1, 3));
  auto published = co_await op;
  co_return std::move(published.back());
}

task<result<void>> attaches_producer(self, weir::stream over, journal into) {
  const trace ends{into, "frame"};
  auto out = over.lane("free").value().producer();
  auto op = out.attach();
  auto attached = co_await op;
  if (!attached)
    co_return std::move(attached).error();
  co_return weir::success();
}

task<result<void>> attaches_consumer(self, weir::stream over, journal into) {
  const trace ends{into, "frame"};
  auto in = over.lane("free").value().consumer();
  auto op = in.attach();
  auto attached = co_await op;
  if (!attached)
    co_return std::move(attached).error();
  co_return weir::success();
}

task<result<void>> receives(self, weir::stream over, journal into) {
  const trace ends{into, "frame"};
  auto in = over.lane("free").value().consumer();
  auto op = in.receive();
  auto received = co_await op;
  if (!received)
    co_return std::move(received).error();
  co_return weir::success();
}

task<result<void>> receives_until(self, weir::stream over, journal into) {
  const trace ends{into, "frame"};
  auto in = over.lane("free").value().consumer();
  auto op = in.receive(1h);
  auto received = co_await op;
  if (!received)
    co_return std::move(received).error();
  co_return weir::success();
}

task<result<void>> receives_some(self, weir::stream over, journal into) {
  const trace ends{into, "frame"};
  auto in = over.lane("free").value().consumer();
  auto op = in.receive_some(10, 1000);
  auto received = co_await std::move(op);
  if (!received)
    co_return std::move(received).error();
  co_return weir::success();
}

task<result<void>> receives_request(self, weir::stream over, journal into) {
  const trace ends{into, "frame"};
  auto in = over.requests().consumer();
  auto op = in.receive();
  auto received = co_await op;
  if (!received)
    co_return std::move(received).error();
  co_return weir::success();
}

task<result<void>> receives_request_until(self, weir::stream over, journal into) {
  const trace ends{into, "frame"};
  auto in = over.requests().consumer();
  auto op = in.receive(1h);
  auto received = co_await op;
  if (!received)
    co_return std::move(received).error();
  co_return weir::success();
}

task<result<void>> reads_watermark(self, weir::stream over, journal into) {
  const trace ends{into, "frame"};
  auto op = over.watermark().read();
  auto reading = co_await op;
  if (!reading)
    co_return std::move(reading).error();
  co_return weir::success();
}

task<result<void>> awaits_position(self, weir::stream over, journal into) {
  const trace ends{into, "frame"};
  auto op = over.watermark().reaches(position_at(9, 9));
  auto reading = co_await op;
  if (!reading)
    co_return std::move(reading).error();
  co_return weir::success();
}

task<result<void>> awaits_position_until(self, weir::stream over, journal into) {
  const trace ends{into, "frame"};
  auto op = over.watermark().reaches(position_at(9, 9), 1h);
  auto reading = co_await op;
  if (!reading)
    co_return std::move(reading).error();
  co_return weir::success();
}

task<result<void>> awaits_change(self, weir::stream over, journal into) {
  const trace ends{into, "frame"};
  auto op = over.watermark().changed(std::nullopt);
  auto reading = co_await op;
  if (!reading)
    co_return std::move(reading).error();
  co_return weir::success();
}

task<result<void>> awaits_confirmable(self, weir::stream over, journal into) {
  const trace ends{into, "frame"};
  auto op = over.watermark().confirmable_changed(std::nullopt);
  auto reading = co_await op;
  if (!reading)
    co_return std::move(reading).error();
  co_return weir::success();
}

struct wait_case {
  const char* name;
  task<result<void>> (*wait)(self, weir::stream, journal);
  bool completes = false;    // by itself, sooner or later
  bool has_deadline = false; // of an hour
};

constexpr wait_case cases[] = {
  {"sleep", sleeps, false, false},
  {"join", joins},
  {"publish", publishes},
  {"publish_until", publishes_until, false, true},
  {"publish_all", publishes_to_all},
  {"attach a producer", attaches_producer, true},
  {"attach a consumer", attaches_consumer, true},
  {"receive", receives},
  {"receive with a deadline", receives_until, false, true},
  {"receive_some", receives_some},
  {"receive a request", receives_request},
  {"receive a request with a deadline", receives_request_until, false, true},
  {"read the watermark", reads_watermark, true},
  {"reaches", awaits_position},
  {"reaches with a deadline", awaits_position_until, false, true},
  {"changed", awaits_change},
  {"confirmable_changed", awaits_confirmable},
};

/// Some messages, not all: somewhere on the way.
void run_a_little(simulation& world) {
  for (auto steps = world.random().below(12); steps != 0 && world.step(); --steps) {
  }
}

std::uint64_t published_items(const weir::stream& over) {
  std::uint64_t sum = 0;
  for (const auto& lane : over.figures().lanes)
    sum += lane.published;
  return sum;
}

} // namespace

TEST_SUITE("waiting") {
  TEST_CASE("cancel while waiting: completes as cancelled, nothing has happened, the actor goes on") {
    for (const auto& one : cases) {
      CAPTURE(one.name);
      for_each_seed(2, [&](simulation& world) {
        const auto over = open_stream(world);
        const auto log = new_journal();
        script host{world};
        auto waiting = host.perform(one.wait, over, log);
        CHECK(waiting.is_done() == one.completes);
        const auto published = published_items(over);
        waiting.request_stop();
        world.settle();
        REQUIRE(waiting.is_done());
        if (!one.completes) {
          REQUIRE_FALSE(waiting.value().has_value());
          CHECK(waiting.value().error() == errc::cancelled);
        }
        CHECK(published_items(over) == published);
        CHECK(log->size() == 1);
        auto alive = host.perform([](self me) -> task<bool> {
          auto pause = me.yield();
          co_await pause;
          co_return true;
        });
        CHECK(alive.is_done());
        host.kill();
        world.settle();
        CHECK(log->size() == 1);
      });
    }
  }

  TEST_CASE("cancel at any moment: completes, either way, and leaves nothing behind") {
    for (const auto& one : cases) {
      CAPTURE(one.name);
      for_each_seed(25, [&](simulation& world) {
        const auto over = open_stream(world);
        const auto log = new_journal();
        script host{world};
        auto waiting = host.begin(one.wait, over, log);
        run_a_little(world);
        waiting.request_stop();
        world.settle();
        REQUIRE(waiting.is_done());
        if (!waiting.value())
          CHECK(waiting.value().error() == errc::cancelled);
        CHECK(log->size() == 1);
        host.request_stop();
        world.settle();
        CHECK(host.has_ended());
      });
    }
  }

  TEST_CASE("destroy at any moment: the frame ends once, and what comes late finds nobody") {
    for (const auto& one : cases) {
      CAPTURE(one.name);
      for_each_seed(25, [&](simulation& world) {
        const auto over = open_stream(world);
        const auto log = new_journal();
        script host{world};
        auto waiting = host.begin(one.wait, over, log);
        run_a_little(world);
        host.kill();
        world.settle();
        CHECK(host.has_ended());
        CHECK(log->size() <= 1);
        if (!waiting.is_done() && !log->empty())
          CHECK(log->front() == "frame");
        world.advance(2h); // deadlines of frames that are gone
      });
    }
  }

  TEST_CASE("deadlines: pass as timed_out, and nothing has happened") {
    for (const auto& one : cases) {
      if (!one.has_deadline)
        continue;
      CAPTURE(one.name);
      for_each_seed(2, [&](simulation& world) {
        const auto over = open_stream(world);
        const auto log = new_journal();
        script host{world};
        auto waiting = host.perform(one.wait, over, log);
        const auto published = published_items(over);
        world.advance(1h - 1ms);
        CHECK_FALSE(waiting.is_done());
        world.advance(2ms);
        REQUIRE(waiting.is_done());
        REQUIRE_FALSE(waiting.value().has_value());
        CHECK(waiting.value().error() == errc::timed_out);
        CHECK(published_items(over) == published);
      });
    }
  }

  TEST_CASE("stop and deadline in the same turn: the coroutine is resumed once") {
    for_each_seed(20, [](simulation& world) {
      const auto over = open_stream(world);
      script host{world};
      const auto log = new_journal();
      auto waiting = host.perform(receives_until, over, log);
      world.advance(1h - 1ms);
      waiting.request_stop();
      run_a_little(world);
      world.advance(1ms);
      REQUIRE(waiting.is_done());
      CHECK(log->size() == 1);
    });
  }

  TEST_CASE("late answers are dropped and counted") {
    simulation world{1};
    const auto over = open_stream(world);
    script host{world};
    auto late = host.begin(
      [](self me, weir::stream stream) -> task<std::uint64_t> {
        const auto before = me.host().late_messages();
        {
          auto in = stream.lane("free").value().consumer();
          in.bind(me.host()); // asks to be attached, and is gone before the answer
        }
        auto pause = me.sleep(1ms);
        (void)co_await pause;
        co_return me.host().late_messages() - before;
      },
      over);
    world.advance(1ms);
    REQUIRE(late.is_done());
    CHECK(late.value() == 1);
  }

  TEST_CASE("gate: whoever waits before it is let in in turn, and a frame that ends leaves it") {
    for_each_seed(5, [](simulation& world) {
      const auto log = new_journal();
      struct shared {
        weir::gate one_at_a_time;
      };
      const auto held = std::make_shared<shared>();
      const auto actor = weir::spawn(
        world.system(),
        [](self me, journal into, std::shared_ptr<shared> state) -> task<> {
          const auto enter = [](self inner, journal log_too, std::shared_ptr<shared> in, int number) -> task<> {
            auto entering = in->one_at_a_time.enter();
            auto inside = co_await entering;
            log_too->push_back("in " + std::to_string(number));
            auto pause = inner.sleep(number == 2 ? 1h : 1ms);
            (void)co_await pause;
          };
          for (int number = 0; number < 4; ++number)
            me.spawn(enter, into, state, number);
          auto pause = me.sleep(1ms);
          (void)co_await pause;
        },
        log, held);
      world.advance(10ms);
      CHECK(*log == std::vector<std::string>{"in 0", "in 1", "in 2"});
      actor.kill();
      world.settle();
      CHECK(log->size() == 3);
    });
  }
}
