#include <weir/channel.hpp>
#include <weir/configure.hpp>
#include <weir/spawn.hpp>
#include <weir/stream.hpp>
#include <weir/worker.hpp>

#include "actors/traces.hpp"
#include "core/lane_items.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

// What needs real threads: the way in from plain threads, workers, and that an actor system ends. A system that does not end
// hangs its test, which the test's time limit tells.

using namespace std::chrono_literals;
using actor_tests::journal;
using actor_tests::new_journal;
using actor_tests::trace;
using core_tests::live;
using core_tests::position_at;
using weir::errc;
using weir::self;
using weir::task;

namespace {

struct threaded {
  threaded() : system{configured()} {}
  caf::actor_system_config& configured() {
    weir::configure(config);
    return config;
  }
  caf::actor_system_config config;
  caf::actor_system system;
};

task<int> answer(self me, int value) {
  auto pause = me.yield();
  co_await pause;
  co_return value;
}

task<int> refuse(self, int value) {
  const auto text = std::to_string(value);
  throw std::runtime_error{"refused " + text};
  co_return value;
}

task<> wait_for_ever(self me, journal into) {
  const trace ends{into, "frame"};
  auto pause = me.sleep(1h);
  (void)co_await pause;
}

/// Lets a call on a worker's thread wait until the test says so.
struct turnstile {
  std::promise<void> entered;
  std::promise<void> open;
};

task<> call_worker(self, std::shared_ptr<weir::worker> on, std::shared_ptr<turnstile> at, journal into) {
  const trace ends{into, "frame"};
  auto call = on->run([at] {
    at->entered.set_value();
    at->open.get_future().wait();
    return std::make_unique<int>(42);
  });
  auto value = co_await call;
  into->push_back("got " + std::to_string(*value));
}

task<> call_second(self, std::shared_ptr<weir::worker> on, std::shared_ptr<std::atomic<int>> count) {
  auto call = on->run([count] { ++*count; });
  co_await call;
  ++*count;
}

} // namespace

TEST_SUITE("threads") {
  TEST_CASE("sync_wait: the value, or why there is none") {
    threaded world;
    CHECK(weir::sync_wait(world.system, answer, 7).value() == 7);
    const auto failed = weir::sync_wait(world.system, refuse, 3);
    REQUIRE_FALSE(failed.has_value());
    CHECK(failed.error() == errc::coroutine_failed);
    CHECK(failed.error().fact_of("what") == "refused 3");
  }

  TEST_CASE("sync_wait: from several threads at once") {
    threaded world;
    std::atomic<int> sum{0};
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 8; ++caller)
      callers.emplace_back([&, caller] {
        for (int round = 0; round < 20; ++round)
          sum += weir::sync_wait(world.system, answer, caller).value();
      });
    for (auto& one : callers)
      one.join();
    CHECK(sum == 20 * 28);
  }

  TEST_CASE("stop and kill from a plain thread; a second of each is nothing") {
    threaded world;
    const auto log = new_journal();
    const auto stopped = weir::spawn(world.system, wait_for_ever, log);
    stopped.request_stop();
    stopped.request_stop();
    CHECK(stopped.wait().has_value());
    const auto killed = weir::spawn(world.system, weir::spawn_options{.name = "killed", .detached = true}, wait_for_ever, log);
    killed.kill();
    killed.kill();
    CHECK(killed.wait().error() == errc::actor_stopped);
  }

  TEST_CASE("worker: values come back, exceptions come out where they are awaited, calls run in order") {
    threaded world;
    const auto done = weir::sync_wait(world.system, [](self) -> task<std::string> {
      std::string seen;
      weir::worker thread{"test.worker"};
      auto first = thread.run([] { return std::this_thread::get_id(); });
      const auto where = co_await first;
      seen += where == std::this_thread::get_id() ? "here " : "elsewhere ";
      auto second = thread.run([] { throw std::logic_error{"blocked"}; });
      try {
        co_await second;
      } catch (const std::logic_error& thrown) {
        seen += thrown.what();
      }
      co_return seen;
    });
    CHECK(done.value() == "elsewhere blocked");
  }

  TEST_CASE("worker: stop waits for the call that has begun") {
    threaded world;
    const auto log = new_journal();
    const auto on = std::make_shared<weir::worker>("test.worker");
    const auto at = std::make_shared<turnstile>();
    const auto actor = weir::spawn(world.system, call_worker, on, at, log);
    at->entered.get_future().wait();
    actor.request_stop();
    CHECK_FALSE(actor.wait_for(20ms).has_value());
    at->open.set_value();
    CHECK(actor.wait().has_value());
    CHECK(*log == std::vector<std::string>{"got 42", "frame"});
  }

  TEST_CASE("worker: kill destroys the coroutine that waits; the call ends by itself, and one that has not begun never does") {
    threaded world;
    const auto log = new_journal();
    const auto count = std::make_shared<std::atomic<int>>(0);
    const auto at = std::make_shared<turnstile>();
    {
      const auto on = std::make_shared<weir::worker>("test.worker");
      const auto first = weir::spawn(world.system, call_worker, on, at, log);
      at->entered.get_future().wait();
      const auto second = weir::spawn(world.system, call_second, on, count);
      CHECK_FALSE(second.wait_for(20ms).has_value());
      second.kill();
      CHECK(second.wait().error() == errc::actor_stopped);
      first.kill();
      CHECK(first.wait().error() == errc::actor_stopped);
      CHECK(*log == std::vector<std::string>{"frame"});
      at->open.set_value();
    }
    CHECK(*count == 0);
  }

  TEST_CASE("a retired lane's actor ends once nobody holds an end of it") {
    threaded with;
    auto over = weir::channel::open(with.system, {}).value();
    const auto& registry = with.system.registry();
    const auto before = registry.running();
    std::vector<weir::lane_ends> held;
    for (int number = 0; number < 100; ++number) {
      const weir::lane_id id{std::to_string(number)};
      REQUIRE(over.add_lane(id, std::nullopt).has_value());
      held.push_back(over.lane(id).value());
      REQUIRE(over.retire_lane(id).has_value());
    }
    CHECK(registry.running() == before + 100);
    held.clear();
    while (registry.running() != before)
      std::this_thread::yield();
  }

  TEST_CASE("the actor system ends after every kind of use") {
    {
      threaded world; // nothing
    }
    {
      threaded world;
      const auto log = new_journal();
      const auto left = weir::spawn(world.system, wait_for_ever, log);
      left.request_stop(); // and nobody waits for it
    }
    {
      threaded world;
      const auto over = weir::channel::open(world.system, {.lanes = {"a", "b"}}).value(); // never used
    }
    {
      threaded world;
      auto over = weir::channel::open(world.system, {.lanes = {"a"}}).value();
      const auto publishing = weir::spawn(
        world.system,
        [](self, weir::stream to) -> task<> {
          auto out = to.lane("a").value().producer();
          for (std::uint64_t seq = 1; seq <= 1000; ++seq) {
            auto op = out.publish(live(1, seq));
            auto published = co_await op;
            if (!published)
              co_return;
          }
        },
        over);
      const auto consuming = weir::spawn(
        world.system,
        [](self, weir::stream from) -> task<> {
          auto in = from.lane("a").value().consumer();
          for (;;) {
            auto op = in.receive();
            auto received = co_await op;
            if (!received)
              co_return;
            (void)received.value().ack();
          }
        },
        over);
      CHECK(publishing.wait().has_value());
      const auto fence = weir::sync_wait(
        world.system,
        [](self, weir::stream from) -> task<bool> {
          auto op = from.watermark().reaches(position_at(1, 1000), 30s);
          auto reading = co_await op;
          co_return reading.has_value();
        },
        over);
      CHECK(fence.value());
      over.close(weir::close_mode::drain);
      CHECK(consuming.wait().has_value());
      CHECK(over.idle());
    }
    {
      threaded world;
      const auto over = weir::channel::open(world.system, {.lanes = {"a"}, .bound = {.items = 1, .bytes = 1000}}).value();
      const auto blocked = weir::spawn(
        world.system,
        [](self, weir::stream to) -> task<> {
          auto out = to.lane("a").value().producer();
          for (std::uint64_t seq = 1; seq <= 10; ++seq) {
            auto op = out.publish(live(1, seq));
            (void)co_await op;
          }
        },
        over);
      CHECK_FALSE(blocked.wait_for(5ms).has_value());
      blocked.kill();
      CHECK(blocked.wait().error() == errc::actor_stopped);
    }
  }
}
