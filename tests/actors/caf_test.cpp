#include <weir/caf.hpp>
#include <weir/configure.hpp>
#include <weir/spawn.hpp>

#include "actors/script.hpp"
#include "actors/simulation.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

// Where coroutines meet an application's own CAF actors.

using namespace std::chrono_literals;
using actor_tests::for_each_seed;
using actor_tests::pending;
using actor_tests::script;
using actor_tests::simulation;
using weir::errc;
using weir::result;
using weir::self;
using weir::task;

namespace {

/// Doubles numbers; keeps the question when it is odd, until told to let go; refuses negative ones.
class doubler final : public caf::event_based_actor {
public:
  explicit doubler(caf::actor_config& config) : caf::event_based_actor(config) {}

protected:
  caf::behavior make_behavior() override {
    return {
      [this](int number) -> caf::result<int> {
        if (number < 0)
          return caf::make_error(caf::sec::invalid_argument);
        auto promise = make_response_promise<int>();
        if (number % 2 == 0)
          promise.deliver(2 * number);
        else
          kept_.push_back(promise);
        return promise;
      },
      [this](bool answer) {
        if (answer)
          for (auto& one : kept_)
            one.deliver(-1);
        kept_.clear();
        if (!answer)
          quit();
      },
    };
  }

private:
  std::vector<caf::typed_response_promise<int>> kept_;
};

/// Sends what it is told to send, and remembers the answer.
class asker final : public caf::event_based_actor {
public:
  struct seen {
    std::optional<int> answer;
    std::optional<std::string> failure;
  };
  asker(caf::actor_config& config, caf::actor to, int number, std::shared_ptr<seen> into)
    : caf::event_based_actor(config),
      to_{std::move(to)},
      number_{number},
      into_{std::move(into)} {}

protected:
  caf::behavior make_behavior() override {
    request(to_, caf::infinite, number_)
      .then([into = into_](int answer) { into->answer = answer; },
        [into = into_](const caf::error& why) { into->failure = weir::describe(why); });
    to_ = {};
    return {};
  }

private:
  caf::actor to_;
  int number_;
  std::shared_ptr<seen> into_;
};

task<result<int>> ask(self me, caf::actor to, int number, weir::deadline until) {
  auto asking = weir::request_until<int>(me, until, to, number);
  co_return co_await asking;
}

task<> answer_all(self me, std::size_t bound, std::shared_ptr<std::vector<int>> into) {
  weir::inbox<int> questions{me, bound};
  for (;;) {
    auto receiving = questions.receive();
    auto next = co_await receiving;
    if (!next)
      co_return;
    into->push_back(next.value().value());
    auto pause = me.sleep(10ms);
    auto paused = co_await pause;
    if (!paused)
      co_return;
    if (next.value().value() != 13) // that one is dropped
      next.value().answer(next.value().value() + 1);
  }
}

} // namespace

TEST_SUITE("CAF actors") {
  TEST_CASE("request: an answer, an error, an actor that is gone, one that never was") {
    for_each_seed(5, [](simulation& world) {
      script host{world};
      const auto to = world.system().spawn<doubler>();
      auto good = host.perform(ask, to, 4, weir::deadline::never());
      REQUIRE(good.is_done());
      CHECK(good.value().value() == 8);
      auto refused = host.perform(ask, to, -4, weir::deadline::never());
      REQUIRE(refused.is_done());
      CHECK(refused.value().error() == errc::invalid_argument);
      auto kept = host.perform(ask, to, 5, weir::deadline::never());
      CHECK_FALSE(kept.is_done());
      caf::anon_send(to, false);
      world.settle();
      auto late = host.perform(ask, to, 4, weir::deadline::never());
      REQUIRE(late.is_done());
      CHECK(late.value().error() == errc::actor_stopped);
    });
  }

  TEST_CASE("request: cancelled, timed out, destroyed: an answer that comes late finds nobody") {
    for_each_seed(10, [](simulation& world) {
      const auto to = world.system().spawn<doubler>();
      {
        script host{world};
        auto timed_out = host.perform(ask, to, 5, weir::deadline{10ms});
        auto cancelled = host.perform(ask, to, 7, weir::deadline::never());
        auto destroyed = host.perform(ask, to, 9, weir::deadline::never());
        world.advance(11ms);
        REQUIRE(timed_out.is_done());
        CHECK(timed_out.value().error() == errc::timed_out);
        cancelled.request_stop();
        world.settle();
        REQUIRE(cancelled.is_done());
        CHECK(cancelled.value().error() == errc::cancelled);
        caf::anon_send(to, true);
        if (world.random().chance(50))
          host.kill();
        world.settle();
        CHECK((destroyed.is_done() || host.has_ended()));
      }
      caf::anon_send(to, false);
    });
  }

  TEST_CASE("inbox: one at a time, bounded, and a question that is dropped is answered") {
    for_each_seed(5, [](simulation& world) {
      const auto log = std::make_shared<std::vector<int>>();
      const auto actor = weir::spawn(world.system(), answer_all, std::size_t{2}, log);
      world.settle();
      std::vector<std::shared_ptr<asker::seen>> seen;
      for (const int number : {1, 13, 3, 4}) {
        seen.push_back(std::make_shared<asker::seen>());
        world.system().spawn<asker>(weir::to_caf(actor.ref()), number, seen.back());
        world.settle();
      }
      CHECK(*log == std::vector<int>{1});
      REQUIRE(seen[3]->failure.has_value());
      CHECK(seen[3]->failure->find("full") != std::string::npos);
      world.advance(100ms);
      CHECK(*log == std::vector<int>{1, 13, 3});
      CHECK(seen[0]->answer == 2);
      REQUIRE(seen[1]->failure.has_value());
      CHECK(seen[1]->failure->find("dropped") != std::string::npos);
      CHECK(seen[2]->answer == 4);
      actor.request_stop();
      world.settle();
      CHECK(actor.wait_for(0ms).has_value());
    });
  }

  TEST_CASE("inbox: whoever asked is told when the actor ends with the question in its hands, or in its mailbox") {
    for_each_seed(10, [](simulation& world) {
      const auto log = std::make_shared<std::vector<int>>();
      const auto actor = weir::spawn(world.system(), answer_all, std::size_t{8}, log);
      std::vector<std::shared_ptr<asker::seen>> seen;
      for (const int number : {1, 2, 3}) {
        seen.push_back(std::make_shared<asker::seen>());
        world.system().spawn<asker>(weir::to_caf(actor.ref()), number, seen.back());
      }
      for (auto steps = world.random().below(10); steps != 0; --steps)
        world.step();
      actor.kill();
      world.settle();
      for (const auto& one : seen)
        CHECK((one->failure.has_value() || one->answer.has_value()));
    });
  }

  TEST_CASE("inbox: a receive that timed out took nothing") {
    simulation world{1};
    script host{world};
    auto received = host.begin([](self me) -> task<int> {
      weir::inbox<int> numbers{me, 4};
      auto early = numbers.receive(5ms);
      auto first = co_await early;
      auto later = numbers.receive(50ms);
      auto second = co_await later;
      co_return first || !second ? 0 : second.value().value();
    });
    world.advance(6ms);
    caf::anon_send(weir::to_caf(host.actor().ref()), 7);
    world.settle();
    REQUIRE(received.is_done());
    CHECK(received.value() == 7);
  }

  TEST_CASE("configure: a turn is bounded, there are two workers at least, and the policy is the one that was asked for") {
    caf::actor_system_config config;
    weir::configure(config);
    CHECK(caf::get_or(config, "scheduler.max-throughput", std::size_t{0}) == 64);
    CHECK(caf::get_or(config, "scheduler.max-threads", std::size_t{0}) >= 2);
    CHECK(caf::get_or(config, "scheduler.policy", caf::atom("")) == caf::atom("stealing"));
    CHECK(caf::get_or(config, "work-stealing.relaxed-sleep-duration", caf::timespan{}) == caf::timespan{500us});
    weir::scheduler_settings settings;
    settings.policy = weir::scheduler_policy::sharing;
    settings.threads = 3;
    weir::configure(config, settings);
    CHECK(caf::get_or(config, "scheduler.policy", caf::atom("")) == caf::atom("sharing"));
    CHECK(caf::get_or(config, "scheduler.max-threads", std::size_t{0}) == 3);
  }
}
