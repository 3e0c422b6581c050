#include <weir/spawn.hpp>

#include "actors/script.hpp"
#include "actors/simulation.hpp"
#include "actors/traces.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using actor_tests::for_each_seed;
using actor_tests::script;
using actor_tests::simulation;
using std::chrono::milliseconds;
using weir::self;
using weir::task;

namespace {

struct wake_up {
  milliseconds wanted;
  milliseconds came;
  bool slept;
};
using wake_ups = std::shared_ptr<std::vector<wake_up>>;

task<> sleep_for(self me, milliseconds wanted, wake_ups into) {
  const auto begun = me.now();
  auto pause = me.sleep(wanted);
  auto paused = co_await pause;
  into->push_back({wanted, std::chrono::duration_cast<milliseconds>(me.now() - begun), paused.has_value()});
}

task<> sleep_all(self me, std::vector<milliseconds> wanted, wake_ups into) {
  const auto all = wanted;
  for (const auto one : all)
    me.spawn(sleep_for, one, into);
  co_return;
}

} // namespace

TEST_SUITE("timers") {
  TEST_CASE("sleepers wake in the order of their deadlines, never early, and within a millisecond") {
    for_each_seed(10, [](simulation& world) {
      std::vector<milliseconds> wanted;
      for (int count = 0; count < 300; ++count)
        wanted.emplace_back(world.random().below(world.random().chance(20) ? 5'000'000 : 500));
      const auto woken = std::make_shared<std::vector<wake_up>>();
      const auto actor = weir::spawn(world.system(), sleep_all, wanted, woken);
      world.settle();
      while (!actor.wait_for(0ms).has_value())
        REQUIRE(world.advance_to_next_timer());
      REQUIRE(woken->size() == wanted.size());
      const auto due = [](const wake_up& one) { return std::max(one.wanted, 1ms); }; // nothing at all is a tick, too
      CHECK(std::ranges::is_sorted(*woken, {}, due));
      for (const auto& one : *woken) {
        CHECK(one.slept);
        CHECK(one.came >= one.wanted);
        CHECK(one.came - one.wanted <= 1ms);
      }
    });
  }

  TEST_CASE("equal deadlines wake in the order in which they were set") {
    simulation world{1};
    const auto log = actor_tests::new_journal();
    const auto actor = weir::spawn(
      world.system(),
      [](self me, actor_tests::journal into) -> task<> {
        const int sleepers = 5;
        for (int number = 0; number < sleepers; ++number)
          me.spawn(
            [](self inner, actor_tests::journal into_too, int which) -> task<> {
              auto pause = inner.sleep(100ms);
              (void)co_await pause;
              into_too->push_back(std::to_string(which));
            },
            into, number);
        co_return;
      },
      log);
    world.advance(101ms);
    CHECK(*log == std::vector<std::string>{"0", "1", "2", "3", "4"});
    CHECK(actor.wait_for(0ms).has_value());
  }

  TEST_CASE("CAF holds few timeouts, however many coroutines sleep") {
    for (const bool falling : {false, true}) {
      CAPTURE(falling);
      simulation world{1};
      std::vector<milliseconds> wanted;
      for (int count = 0; count < 10'000; ++count)
        wanted.emplace_back(falling ? 20'000 - count : count + 1);
      const auto woken = std::make_shared<std::vector<wake_up>>();
      const auto actor = weir::spawn(world.system(), sleep_all, wanted, woken);
      world.settle();
      std::size_t most = world.pending_timeouts();
      while (!actor.wait_for(0ms).has_value()) {
        REQUIRE(world.advance_to_next_timer());
        most = std::max(most, world.pending_timeouts());
      }
      CHECK(woken->size() == wanted.size());
      CHECK(most <= 128);
    }
  }

  TEST_CASE("a receive that is answered leaves no timeout behind for each time it was set") {
    simulation world{1};
    const auto actor = weir::spawn(world.system(), [](self me) -> task<> {
      const int rounds = 10'000;
      for (int round = 0; round < rounds; ++round) {
        const auto sleeper = me.spawn([](self inner) -> task<> {
          auto pause = inner.sleep(1h);
          (void)co_await pause;
        });
        auto pause = me.yield();
        co_await pause;
        sleeper.request_stop();
        auto joining = sleeper.join();
        (void)co_await joining;
      }
    });
    world.settle();
    CHECK(actor.wait_for(0ms).has_value());
    CHECK(world.pending_timeouts() <= 128);
  }

  TEST_CASE("cancelled sleepers don't wake, the others do") {
    for_each_seed(5, [](simulation& world) {
      const auto woken = std::make_shared<std::vector<wake_up>>();
      const auto actor = weir::spawn(
        world.system(),
        [](self me, wake_ups into) -> task<> {
          const auto first = me.spawn(sleep_for, 10ms, into);
          me.spawn(sleep_for, 20ms, into);
          const auto third = me.spawn(sleep_for, 30ms, into);
          auto pause = me.sleep(5ms);
          (void)co_await pause;
          first.request_stop();
          third.request_stop();
        },
        woken);
      world.advance(50ms);
      REQUIRE(woken->size() == 3);
      CHECK(std::ranges::count_if(*woken, [](const wake_up& one) {
        return one.slept && one.wanted == 20ms && one.came == 20ms;
      }) == 1);
      CHECK(std::ranges::count_if(*woken, [](const wake_up& one) { return !one.slept && one.came == 5ms; }) == 2);
      CHECK(actor.wait_for(0ms).has_value());
    });
  }

  TEST_CASE("deadlines in the past pass at once, those beyond all time never") {
    simulation world{1};
    script host{world};
    auto past = host.begin([](self me) -> task<bool> {
      auto pause = me.sleep(weir::deadline::at(me.now() - 1h));
      auto paused = co_await pause;
      co_return paused.has_value();
    });
    auto never = host.begin([](self me) -> task<bool> {
      auto pause = me.sleep(std::chrono::nanoseconds::max());
      auto paused = co_await pause;
      co_return paused.has_value();
    });
    world.advance(1ms);
    CHECK(past.is_done());
    world.advance(std::chrono::hours{24 * 365});
    CHECK_FALSE(never.is_done());
    never.request_stop();
    world.settle();
    REQUIRE(never.is_done());
    CHECK_FALSE(never.value());
  }
}
