#include <weir/channel.hpp>
#include <weir/shared_wiring.hpp>

#include "actors/script.hpp"
#include "core/lane_items.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <optional>

// Actors that would wait for each other in a circle are refused, when they attach.

using actor_tests::for_each_seed;
using actor_tests::script;
using actor_tests::simulation;
using weir::errc;
using weir::result;
using weir::self;
using weir::task;

namespace {

struct ends {
  std::optional<weir::producer<weir::lane_item>> out;
  std::optional<weir::consumer<weir::lane_item>> in;
};

/// An actor with a producer on one lane and a consumer on another.
struct stage {
  explicit stage(simulation& world) : held{std::make_shared<ends>()}, host{world, "stage", held} {}

  result<std::uint64_t> produce(const weir::stream& over) {
    held->out.reset();
    held->out.emplace(over.lane("a").value().producer());
    return host.complete(host.begin(
      [](self, ends* mine) -> task<result<std::uint64_t>> {
        auto attaching = mine->out->attach();
        co_return co_await attaching;
      },
      held.get()));
  }
  result<std::uint64_t> consume(const weir::stream& over) {
    held->in.emplace(over.lane("a").value().consumer());
    return host.complete(host.begin(
      [](self, ends* mine) -> task<result<std::uint64_t>> {
        auto attaching = mine->in->attach();
        co_return co_await attaching;
      },
      held.get()));
  }
  void stop_consuming() {
    (void)host.complete(host.begin(
      [](self, ends* mine) -> task<bool> {
        const bool there = mine->in.has_value();
        mine->in.reset();
        co_return there;
      },
      held.get()));
  }

  std::shared_ptr<ends> held;
  script host;

  ~stage() {
    stop_consuming();
    (void)host.complete(host.begin(
      [](self, ends* mine) -> task<bool> {
        const bool there = mine->out.has_value();
        mine->out.reset();
        co_return there;
      },
      held.get()));
  }
};

} // namespace

TEST_SUITE("wait cycles") {
  TEST_CASE("streams that feed each other in a circle: the end that would close it is refused, with the path") {
    for_each_seed(3, [](simulation& world) {
      const auto wiring = std::make_shared<weir::shared_wiring>();
      const auto there = weir::channel::open(world.system(), {.lanes = {"a"}, .wiring = wiring}).value();
      const auto back = weir::channel::open(world.system(), {.lanes = {"a"}, .wiring = wiring}).value();
      stage left{world};
      stage right{world};
      CHECK(left.produce(there).has_value());
      CHECK(right.consume(there).has_value());
      CHECK(right.produce(back).has_value());
      const auto closing = left.consume(back);
      REQUIRE_FALSE(closing.has_value());
      CHECK(closing.error() == errc::wait_cycle);
      CHECK(closing.error().fact_of("lane") == "a");
      CHECK_FALSE(closing.error().fact_of("path").empty());
      left.stop_consuming();
      right.stop_consuming(); // the circle is open now
      CHECK(left.consume(back).has_value());
    });
  }

  TEST_CASE("streams that share no wiring, and both ends in one actor, are no circle") {
    simulation world{1};
    const auto there = weir::channel::open(world.system(), {.lanes = {"a"}}).value();
    const auto back = weir::channel::open(world.system(), {.lanes = {"a"}}).value();
    stage left{world};
    stage right{world};
    CHECK(left.produce(there).has_value());
    CHECK(right.consume(there).has_value());
    CHECK(right.produce(back).has_value());
    CHECK(left.consume(back).has_value());
    stage alone{world};
    const auto loop = weir::channel::open(world.system(), {.lanes = {"a"}}).value();
    CHECK(alone.produce(loop).has_value());
    CHECK(alone.consume(loop).has_value());
  }
}
