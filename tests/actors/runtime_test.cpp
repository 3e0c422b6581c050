#include <weir/spawn.hpp>

#include "actors/script.hpp"
#include "actors/simulation.hpp"
#include "actors/traces.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;
using actor_tests::for_each_seed;
using actor_tests::journal;
using actor_tests::new_journal;
using actor_tests::script;
using actor_tests::simulation;
using actor_tests::trace;
using weir::errc;
using weir::error;
using weir::result;
using weir::self;
using weir::task;
using lines = std::vector<std::string>;

namespace {

task<int> add(self, int left, int right) {
  const int sum = left + right;
  co_return sum;
}

task<std::unique_ptr<int>> make_owned(self me, int value) {
  auto pause = me.yield();
  co_await pause;
  co_return std::make_unique<int>(value);
}

task<int> sum_up(self me) {
  auto first = add(me, 1, 2);
  const auto three = co_await std::move(first);
  auto second = make_owned(me, 4);
  const auto four = co_await std::move(second);
  auto pause = me.sleep(5ms);
  auto paused = co_await pause;
  co_return three + *four + (paused ? 0 : 100);
}

task<int> throw_after(self me, bool wait_first) {
  auto pause = me.yield();
  if (wait_first)
    co_await pause;
  throw std::runtime_error{"no such luck"};
  co_return 0;
}

task<std::string> catch_it(self me, bool wait_first) {
  std::string caught;
  try {
    auto called = throw_after(me, wait_first);
    (void)co_await std::move(called);
  } catch (const std::runtime_error& thrown) {
    caught = thrown.what();
  }
  co_return caught;
}

task<> note(self me, journal into, std::string name, std::chrono::milliseconds after) {
  const trace ends{into, name + " ends"};
  auto pause = me.sleep(after);
  auto paused = co_await pause;
  into->push_back(name + (paused ? " slept" : " was stopped"));
}

task<> note_and_throw(self me, journal into) {
  const trace ends{into, "thrower ends"};
  auto pause = me.sleep(1ms);
  (void)co_await pause;
  throw std::logic_error{"out of reach"};
}

task<> wait_for_ever(self me) {
  auto pause = me.sleep(weir::deadline::never());
  (void)co_await pause;
}

task<> spawn_three(self me, journal into) {
  const trace ends{into, "first ends"};
  me.spawn(note, into, std::string{"second"}, 1h);
  me.spawn(note, into, std::string{"third"}, 1h);
  auto pause = me.sleep(weir::deadline::never());
  auto paused = co_await pause;
  into->push_back(paused ? "first slept" : "first was stopped");
}

task<> fail_own_host(self me, journal into) {
  const trace ends{into, "failing ends"};
  me.spawn(note, into, std::string{"other"}, 1h);
  auto pause = me.yield();
  co_await pause;
  me.fail(error{errc::source_failed, "the source gave up"});
  into->push_back("went on after fail()");
  auto next = me.yield();
  co_await next;
  into->push_back("was resumed after fail()");
}

task<> stop_own_host(self me, journal into) {
  const trace ends{into, "stopping ends"};
  me.spawn(note, into, std::string{"other"}, 1h);
  me.request_stop();
  into->push_back("went on after request_stop()");
  auto pause = me.sleep(1h);
  auto paused = co_await pause;
  into->push_back(paused ? "slept" : "was stopped");
}

task<std::vector<std::string>> take_turns(self me) {
  const auto into = new_journal();
  const auto walk = [](self inner, journal log, std::string name) -> task<> {
    const int steps = 3;
    for (int step = 0; step < steps; ++step) {
      log->push_back(name + std::to_string(step));
      auto pause = inner.yield();
      co_await pause;
    }
  };
  const auto left = me.spawn(walk, into, std::string{"a"});
  const auto right = me.spawn(walk, into, std::string{"b"});
  auto joining_left = left.join();
  (void)co_await joining_left;
  auto joining_right = right.join();
  (void)co_await joining_right;
  co_return *into;
}

} // namespace

TEST_SUITE("tasks") {
  TEST_CASE("task: values, owned values and pauses come out where they are awaited") {
    for_each_seed(3, [](simulation& world) {
      script host{world};
      auto sum = host.begin(sum_up);
      world.advance(4ms);
      CHECK_FALSE(sum.is_done());
      world.advance(2ms);
      REQUIRE(sum.is_done());
      CHECK(sum.value() == 7);
    });
  }

  TEST_CASE("task: one that is never awaited never runs, and lets go of what it was given") {
    simulation world{1};
    script host{world};
    const auto given = std::make_shared<int>(1);
    auto ran = host.perform(
      [](self me, std::shared_ptr<int> held) -> task<int> {
        const auto run = [](self, std::shared_ptr<int> inner) -> task<> {
          const auto kept = inner;
          *kept = 2;
          co_return;
        };
        {
          const auto unused = run(me, held);
        }
        co_return static_cast<int>(*held);
      },
      given);
    REQUIRE(ran.is_done());
    CHECK(ran.value() == 1);
    CHECK(given.use_count() == 1);
  }

  TEST_CASE("task: an exception comes out where it is awaited, thrown at once or later") {
    simulation world{1};
    script host{world};
    for (const bool wait_first : {false, true}) {
      auto caught = host.perform(catch_it, wait_first);
      REQUIRE(caught.is_done());
      CHECK(caught.value() == "no such luck");
    }
  }

  TEST_CASE("task: coroutines of one actor take turns in the order in which they became ready") {
    simulation world{1};
    script host{world};
    auto seen = host.perform(take_turns);
    REQUIRE(seen.is_done());
    CHECK(seen.value() == lines{"a0", "b0", "a1", "b1", "a2", "b2"});
  }
}

TEST_SUITE("spawned coroutines") {
  TEST_CASE("join: completes when the other ends, at once when it has ended") {
    simulation world{1};
    script host{world};
    const auto log = new_journal();
    auto joined = host.begin(
      [](self me, journal into) -> task<bool> {
        const auto other = me.spawn(note, into, std::string{"other"}, 10ms);
        auto joining = other.join();
        auto outcome = co_await joining;
        auto again = other.join();
        auto second = co_await again;
        co_return outcome&& second && !other.is_running();
      },
      log);
    world.advance(9ms);
    CHECK_FALSE(joined.is_done());
    world.advance(1ms);
    REQUIRE(joined.is_done());
    CHECK(joined.value());
    CHECK(*log == lines{"other slept", "other ends"});
  }

  TEST_CASE("stop: reaches one coroutine alone, and every later wait of it") {
    simulation world{1};
    script host{world};
    const auto log = new_journal();
    auto done = host.begin(
      [](self me, journal into) -> task<bool> {
        const auto stopped = me.spawn(
          [](self inner, journal into_too) -> task<> {
            const auto token = inner.stop_token();
            for (int round = 0; round < 2; ++round) {
              auto pause = inner.sleep(1h);
              auto paused = co_await pause;
              into_too->push_back(paused ? "slept" : "cancelled");
            }
            into_too->push_back(token.stop_requested() ? "knows" : "does not know");
          },
          into);
        auto pause = me.sleep(1ms);
        (void)co_await pause;
        stopped.request_stop();
        stopped.request_stop();
        auto second = me.sleep(1ms);
        auto outcome = co_await second;
        co_return outcome.has_value();
      },
      log);
    world.advance(2ms);
    REQUIRE(done.is_done());
    CHECK(done.value());
    CHECK(*log == lines{"cancelled", "cancelled", "knows"});
  }

  TEST_CASE("stop: the whole actor's coroutines complete as cancelled, and then it ends in good order") {
    for_each_seed(5, [](simulation& world) {
      const auto log = new_journal();
      const auto actor = weir::spawn(world.system(), spawn_three, log);
      world.settle();
      actor.request_stop();
      world.settle();
      const auto ended = actor.wait_for(0ms);
      REQUIRE(ended.has_value());
      CHECK(ended->has_value());
      CHECK(log->size() == 6);
      CHECK(std::ranges::count(*log, "first was stopped") == 1);
      CHECK(std::ranges::count(*log, "third was stopped") == 1);
    });
  }

  TEST_CASE("kill: frames are destroyed once, newest first, without being resumed") {
    for_each_seed(5, [](simulation& world) {
      const auto log = new_journal();
      const auto actor = weir::spawn(world.system(), spawn_three, log);
      world.settle();
      actor.kill();
      world.settle();
      const auto ended = actor.wait_for(0ms);
      REQUIRE(ended.has_value());
      REQUIRE_FALSE(ended->has_value());
      CHECK(ended->error() == errc::actor_stopped);
      CHECK(*log == lines{"third ends", "second ends", "first ends"});
    });
  }

  TEST_CASE("kill: before the first turn nothing ever runs, and what was handed over is let go") {
    simulation world{1};
    const auto log = new_journal();
    const auto actor = weir::spawn(world.system(), spawn_three, log);
    actor.kill();
    world.settle();
    REQUIRE(actor.wait_for(0ms).has_value());
    CHECK(log->empty());
    CHECK(log.use_count() == 1);
  }

  TEST_CASE("kill: a chain of calls is destroyed from the innermost frame out") {
    simulation world{1};
    const auto log = new_journal();
    const auto actor = weir::spawn(
      world.system(),
      [](self me, journal into) -> task<> {
        const trace outer{into, "outer"};
        const auto middle = [](self inner, journal log_too) -> task<> {
          const trace here{log_too, "middle"};
          auto innermost = note(inner, log_too, "innermost", 1h);
          co_await std::move(innermost);
        };
        auto called = middle(me, into);
        co_await std::move(called);
      },
      log);
    world.settle();
    actor.kill();
    world.settle();
    CHECK(*log == lines{"innermost ends", "middle", "outer"});
  }
}

TEST_SUITE("failures") {
  TEST_CASE("an exception that leaves a coroutine ends its actor with its text and the actor's name") {
    for_each_seed(3, [](simulation& world) {
      const auto log = new_journal();
      const auto actor = weir::spawn(
        world.system(), weir::spawn_options{.name = "the.thrower"},
        [](self me, journal into) -> task<> {
          const auto bystander = me.spawn(note, into, std::string{"bystander"}, 1h);
          CHECK(bystander.is_running());
          auto throwing = note_and_throw(me, into);
          co_await std::move(throwing);
        },
        log);
      world.advance(1ms);
      const auto ended = actor.wait_for(0ms);
      REQUIRE(ended.has_value());
      REQUIRE_FALSE(ended->has_value());
      const auto& why = ended->error();
      CHECK(why == errc::coroutine_failed);
      CHECK(why.fact_of("what") == "out of reach");
      CHECK(why.fact_of("actor") == "the.thrower");
      CHECK(why.sentence().find("out of reach") != std::string::npos);
      CHECK(*log == lines{"thrower ends", "bystander ends"});
    });
  }

  TEST_CASE("something that is no std::exception ends the actor too") {
    simulation world{1};
    const auto actor = weir::spawn(world.system(), [](self me) -> task<> {
      auto pause = me.yield();
      co_await pause;
      throw 7; // NOLINT(misc-throw-by-value-catch-by-reference)
    });
    world.settle();
    const auto ended = actor.wait_for(0ms);
    REQUIRE(ended.has_value());
    CHECK(ended->error() == errc::coroutine_failed);
  }

  TEST_CASE("the first of several exceptions of one turn is the one that is told") {
    simulation world{1};
    const auto actor = weir::spawn(world.system(), [](self me) -> task<> {
      const auto fall = [](self, std::string text) -> task<> {
        const std::string kept = text;
        throw std::runtime_error{kept};
        co_return;
      };
      me.spawn(fall, std::string{"one"});
      me.spawn(fall, std::string{"two"});
      auto pause = me.sleep(1h);
      (void)co_await pause;
    });
    world.settle();
    CHECK(actor.wait_for(0ms).value().error().fact_of("what") == "one");
  }

  TEST_CASE("a coroutine that fails its own actor goes on until it next waits, and is then destroyed") {
    for_each_seed(3, [](simulation& world) {
      const auto log = new_journal();
      const auto actor = weir::spawn(world.system(), fail_own_host, log);
      world.settle();
      const auto ended = actor.wait_for(0ms);
      REQUIRE(ended.has_value());
      CHECK(ended->error() == errc::source_failed);
      CHECK(*log == lines{"went on after fail()", "other ends", "failing ends"});
    });
  }

  TEST_CASE("a coroutine that stops its own actor is told so where it next waits") {
    simulation world{1};
    const auto log = new_journal();
    const auto actor = weir::spawn(world.system(), stop_own_host, log);
    world.settle();
    CHECK(actor.wait_for(0ms).value().has_value());
    CHECK(std::ranges::count(*log, "was stopped") == 1);
    CHECK(std::ranges::count(*log, "stopping ends") == 1);
    CHECK(std::ranges::count(*log, "other ends") == 1);
  }

  TEST_CASE("the last coroutine's end is the actor's end") {
    simulation world{1};
    const auto before = world.running_actors();
    const auto actor = weir::spawn(world.system(), wait_for_ever);
    world.settle();
    CHECK(world.running_actors() == before + 1);
    CHECK_FALSE(actor.wait_for(0ms).has_value());
    actor.request_stop();
    world.settle();
    CHECK(world.running_actors() == before);
    CHECK(actor.wait_for(0ms).value().has_value());
    actor.request_stop(); // to an actor that has ended: nothing
    actor.kill();
    world.settle();
  }
}
