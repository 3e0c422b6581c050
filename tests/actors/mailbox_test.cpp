#include <weir/detail/stream_state.hpp>
#include <weir/spawn.hpp>
#include <weir/stream.hpp>

#include "actors/simulation.hpp"
#include "core/lane_items.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

// How many messages an actor's mailbox can hold, derived from the message set, and that it does hold as many.

using namespace std::chrono_literals;
using actor_tests::for_each_seed;
using actor_tests::simulation;
using core_tests::live;
using core_tests::live_with;
using core_tests::position_at;
using weir::self;
using weir::task;

namespace {

/// A lane's mailbox, for one producer end and one consumer end at a time:
/// - data: each message carries at least one item, and every item spends the producer's credit;
/// - from the consumer: each delivery ends by one message of its own at the most (acknowledged_one, returned_one); with each
/// that
///   ends, and with each that is taken, the consumer may send one acknowledged_below;
/// - from the producer: probe, one at a time;
/// - for each end: attach_end, and detach_end twice (it is cancelled, and then destroyed), or a down;
/// - close_lane, retire_lane, stop_host, the lane's timer.
constexpr std::size_t lane_mailbox(std::size_t bound, std::size_t window, std::size_t ends) {
  return bound + 3 * window + 1 + 4 * ends + 4;
}

/// A host's mailbox, for each consumer end: data within its window; attached, end_of_lane, cancel. For each producer end: a
/// grant for every half of the bound (at most one not taken in, and one for a probe), attached, cancel, and one wake of the
/// budget. Itself: a turn, at most a hundred timers, stop and kill.
constexpr std::size_t host_mailbox(std::size_t window, std::size_t consumers, std::size_t producers) {
  return consumers * (window + 3) + producers * 5 + 1 + 104 + 2;
}

struct streams {
  explicit streams(simulation& world, std::size_t lanes, weir::lane_bound bound)
    : state{std::make_shared<weir::detail::stream_state>(
        world.system(), weir::detail::stream_settings{.policy = {.bound = bound},
                          .budget = 1u << 30,
                          .collections = {},
                          .wiring = std::make_shared<weir::shared_wiring>()})},
      over{state} {
    for (std::size_t lane = 0; lane < lanes; ++lane)
      REQUIRE(state->add_lane(name(lane), std::nullopt).has_value());
  }

  static std::string name(std::size_t lane) { return "lane" + std::to_string(lane); }
  weir::actor_ref actor_of(std::size_t lane) const { return state->directory().find(name(lane)).value().actor->ref(); }
  weir::lane_figures figures(std::size_t lane) const { return over.figures().lanes.at(lane); }

  std::shared_ptr<weir::detail::stream_state> state;
  weir::stream over;
};

/// One item per turn, so that each is a message of its own.
task<> publish_singly(self me, weir::stream over, std::size_t lane, std::uint64_t count, std::size_t payload) {
  auto out = over.lane(streams::name(lane)).value().producer();
  for (std::uint64_t seq = 1; seq <= count; ++seq) {
    auto item = payload == 0 ? live(1, seq) : live_with(position_at(1, seq), payload);
    auto publishing = out.publish(std::move(item));
    auto published = co_await publishing;
    if (!published)
      co_return;
    auto pause = me.sleep(1ms);
    auto paused = co_await pause;
    if (!paused)
      co_return;
  }
}

task<> publish_fast(self, weir::stream over, std::size_t lane, std::uint64_t count, std::size_t payload) {
  auto out = over.lane(streams::name(lane)).value().producer();
  for (std::uint64_t seq = 1; seq <= count; ++seq) {
    auto item = payload == 0 ? live(1, seq) : live_with(position_at(1, seq), seq % 10 == 0 ? 50 * payload : payload);
    auto publishing = out.publish(std::move(item));
    auto published = co_await publishing;
    if (!published)
      co_return;
  }
}

/// Acknowledges in an order of its own, or returns, and takes its time.
task<> consume(self me, weir::stream over, std::size_t lane, std::uint64_t count, weir::window granted, std::uint64_t pauses) {
  auto in = over.lane(streams::name(lane)).value().consumer(granted);
  for (std::uint64_t taken = 0; taken < count;) {
    auto receiving = in.receive_some(3, 1u << 30);
    auto group = co_await std::move(receiving);
    if (!group)
      co_return;
    auto& all = group.value();
    std::ranges::reverse(all);
    for (auto& one : all) {
      if (pauses != 0 && (one.sequence() + one.attempt()) % 7 == 0 && one.attempt() < 3)
        continue; // dropped: it comes again
      if (one.ack())
        ++taken;
    }
    for (std::uint64_t round = 0; round < pauses; ++round) {
      auto pause = me.yield();
      co_await pause;
    }
  }
}

task<> hold_everything(self me, weir::stream over, std::size_t lanes, weir::window granted) {
  std::vector<weir::consumer<weir::lane_item>> ends;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    ends.push_back(over.lane(streams::name(lane)).value().consumer(granted));
    auto attaching = ends.back().attach();
    (void)co_await attaching;
  }
  auto pause = me.sleep(weir::deadline::never());
  (void)co_await pause;
}

} // namespace

TEST_SUITE("mailboxes") {
  TEST_CASE("a lane whose actor does not run gets as many data messages as its bound, and not one more") {
    for (const std::size_t senders : {1u, 2u, 4u, 8u}) {
      CAPTURE(senders);
      simulation world{senders};
      const std::size_t bound = 6;
      const streams all{world, senders, {.items = bound, .bytes = 1u << 20}};
      std::vector<weir::spawned> hosts;
      for (std::size_t lane = 0; lane < senders; ++lane) {
        hosts.push_back(weir::spawn(world.system(), publish_singly, all.over, lane, std::uint64_t{20}, std::size_t{0}));
        world.settle(); // attached, one item published
        world.hold(all.actor_of(lane));
      }
      world.advance(100ms);
      for (std::size_t lane = 0; lane < senders; ++lane) {
        const auto& meter = world.mailbox_meter(all.actor_of(lane));
        CHECK(meter.depth == bound - 1); // the first is in the lane
        CHECK(all.figures(lane).published == bound);
        world.let_go(all.actor_of(lane));
      }
      world.settle();
      for (std::size_t lane = 0; lane < senders; ++lane) {
        CHECK(world.mailbox_meter(all.actor_of(lane)).depth == 0);
        CHECK(world.mailbox_meter(all.actor_of(lane)).peak <= bound);
        CHECK(all.figures(lane).peak_items == bound);
        CHECK(all.figures(lane).bound_violations == 0);
      }
      for (const auto& host : hosts)
        host.kill();
    }
  }

  TEST_CASE("a consumer's actor that does not run gets the sum of its windows, and not one more") {
    for (const std::size_t senders : {1u, 2u, 4u, 8u}) {
      CAPTURE(senders);
      simulation world{senders};
      const std::size_t window = 5;
      const streams all{world, senders, {.items = 12, .bytes = 1u << 20}};
      const auto receiver =
        weir::spawn(world.system(), hold_everything, all.over, senders, weir::window{.items = window, .bytes = 1u << 20});
      world.settle();
      world.hold(receiver.ref());
      std::vector<weir::spawned> hosts;
      for (std::size_t lane = 0; lane < senders; ++lane)
        hosts.push_back(weir::spawn(world.system(), publish_singly, all.over, lane, std::uint64_t{40}, std::size_t{0}));
      world.advance(100ms);
      CHECK(world.mailbox_meter(receiver.ref()).depth == senders * window);
      CHECK(world.mailbox_meter(receiver.ref()).peak == senders * window);
      CHECK(world.mailbox_depth(receiver.ref()) <= host_mailbox(window, senders, 0));
      for (std::size_t lane = 0; lane < senders; ++lane)
        CHECK(all.figures(lane).peak_items == 12);
      world.let_go(receiver.ref());
      receiver.kill();
      for (const auto& host : hosts)
        host.kill();
    }
  }

  TEST_CASE("a mailbox that is dropped counts nothing any more") {
    simulation world{1};
    const streams all{world, 1, {.items = 12, .bytes = 1u << 20}};
    const auto receiver = weir::spawn(world.system(), hold_everything, all.over, std::size_t{1}, weir::window{});
    world.settle();
    world.hold(receiver.ref());
    const auto sender = weir::spawn(world.system(), publish_fast, all.over, std::size_t{0}, std::uint64_t{10}, std::size_t{0});
    world.settle();
    CHECK(world.mailbox_meter(receiver.ref()).depth > 0);
    receiver.kill();
    world.let_go(receiver.ref());
    world.settle();
    CHECK(world.mailbox_meter(receiver.ref()).depth == 0);
  }

  TEST_CASE(
    "1 to 8 senders, slow and fast consumers, byte bounds, items beyond every bound: never more than derived, and full") {
    for_each_seed(12, [](simulation& world) {
      const auto senders = static_cast<std::size_t>(world.random().between(1, 8));
      const auto bound = static_cast<std::size_t>(world.random().between(1, 16));
      const auto window = static_cast<std::size_t>(world.random().between(1, 16));
      const bool by_weight = world.random().chance(40);
      const std::size_t payload = by_weight ? 100 : 0;
      const auto bytes = by_weight ? std::size_t{5000} : std::size_t{1} << 20;
      const bool one_receiver = world.random().chance(50);
      const std::uint64_t count = 100;
      CAPTURE(senders);
      CAPTURE(bound);
      CAPTURE(window);
      const streams all{world, senders, {.items = bound, .bytes = bytes}};
      std::vector<weir::spawned> sending;
      std::vector<weir::spawned> receiving;
      for (std::size_t lane = 0; lane < senders; ++lane) {
        sending.push_back(weir::spawn(world.system(), publish_fast, all.over, lane, count, payload));
        if (!one_receiver)
          receiving.push_back(weir::spawn(world.system(), consume, all.over, lane, count,
            weir::window{.items = window, .bytes = bytes}, world.random().below(4)));
      }
      if (one_receiver)
        receiving.push_back(weir::spawn(
          world.system(),
          [](self me, weir::stream over, std::size_t lanes, std::uint64_t each, weir::window granted) -> task<> {
            const auto count_each = each;
            for (std::size_t lane = 0; lane < lanes; ++lane)
              me.spawn(consume, over, lane, count_each, granted, std::uint64_t{lane % 3});
            co_return;
          },
          all.over, senders, count, weir::window{.items = window, .bytes = bytes}));
      const auto slow_first = world.random().chance(50);
      if (slow_first)
        for (const auto& one : receiving)
          world.hold(one.ref());
      std::size_t steps = 0;
      do {
        if (slow_first && steps == 4000)
          for (const auto& one : receiving)
            world.let_go(one.ref());
        for (std::size_t lane = 0; lane < senders; ++lane)
          REQUIRE(world.mailbox_depth(all.actor_of(lane)) <= lane_mailbox(bound, window, 2));
        for (const auto& one : receiving)
          REQUIRE(world.mailbox_depth(one.ref()) <= host_mailbox(window, one_receiver ? senders : 1, 0));
        for (const auto& one : sending)
          REQUIRE(world.mailbox_depth(one.ref()) <= host_mailbox(window, 0, 1));
        ++steps;
        if (slow_first && steps < 4000) {
          (void)world.step();
          continue;
        }
      } while ((slow_first && steps <= 4000) || world.step() || world.advance_to_next_timer());
      for (std::size_t lane = 0; lane < senders; ++lane) {
        const auto figures = all.figures(lane);
        CHECK(figures.acknowledged == count);
        CHECK(figures.bound_violations == 0);
        CHECK(figures.peak_items <= bound);
        if (!by_weight && slow_first)
          CHECK(figures.peak_items == bound);
        CHECK(figures.held_bytes == 0);
      }
      for (const auto& one : receiving)
        CHECK(one.wait_for(0ms).has_value());
    });
  }
}
