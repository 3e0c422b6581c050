#include <weir/blocking_producer.hpp>
#include <weir/channel.hpp>
#include <weir/configure.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using weir::errc;
using weir::lane_item;
using weir::self;
using weir::task;

namespace {

/// A stream of one lane that holds two items, with real threads.
struct small_stream {
  struct configuration : caf::actor_system_config {
    configuration() { weir::configure(*this); }
  };
  configuration config;
  caf::actor_system system{config};
  weir::stream over = weir::channel::open(system, {.lanes = {"a"}, .bound = {.items = 2}}).value();

  weir::blocking_producer producer() { return weir::blocking_producer::start(system, over.lane("a").value().producer()); }
};

lane_item live(std::uint64_t seq) {
  return weir::batch{.at = weir::position{.epoch = 1, .seq = seq}, .changes = 1};
}

/// A snapshot's batch: it has no position, so that any order will do.
lane_item row(std::uint64_t number) {
  return weir::batch{.changes = number, .request = weir::request_id{1, 1}};
}

/// Takes so many items, acknowledges each, and sums up their changes.
task<std::uint64_t> take(self, weir::consumer<lane_item> in, std::size_t count) {
  std::uint64_t sum = 0;
  for (; count > 0; --count) {
    auto receiving = in.receive();
    auto received = co_await receiving;
    if (!received)
      break;
    sum += std::get<weir::batch>(received.value().item()).changes;
    (void)received.value().ack();
  }
  co_return sum;
}

} // namespace

TEST_SUITE("blocking producer") {
  TEST_CASE("what is published for a thread arrives, and a full lane takes nothing more") {
    small_stream lanes;
    auto out = lanes.producer();
    auto first = live(1);
    auto second = live(2);
    auto third = live(3);
    CHECK(out.publish_for(first, 1h).has_value());
    CHECK(out.try_publish(second).has_value());
    CHECK(out.try_publish(third).error() == errc::would_wait);
    CHECK(out.publish_for(third, 1ms).error() == errc::timed_out);
    REQUIRE(position_of(third) != nullptr); // it stayed with the caller
    CHECK(position_of(third)->seq == 3);
    auto again = live(2);
    CHECK(weir::sync_wait(lanes.system, take, lanes.over.lane("a").value().consumer(), std::size_t{2}).value() == 2);
    CHECK(out.publish_for(third, 1h).has_value());
    CHECK(out.try_publish(again).error() == errc::position_not_above);
    CHECK(position_of(again)->seq == 2);
  }

  TEST_CASE("many threads at once: each item arrives once, and whoever waits is let in") {
    small_stream lanes;
    auto out = lanes.producer();
    constexpr std::uint64_t threads = 8;
    constexpr std::uint64_t each = 200;
    std::vector<std::thread> callers;
    for (std::uint64_t caller = 0; caller < threads; ++caller)
      callers.emplace_back([&, caller] {
        for (std::uint64_t number = 1; number <= each; ++number) {
          auto item = row(caller * each + number);
          CHECK(out.publish_for(item, 1h).has_value());
        }
      });
    const auto sum =
      weir::sync_wait(lanes.system, take, lanes.over.lane("a").value().consumer(), static_cast<std::size_t>(threads * each));
    for (auto& one : callers)
      one.join();
    CHECK(sum.value() == threads * each * (threads * each + 1) / 2);
  }

  TEST_CASE("a closed stream, a retired lane: everybody who waits is told") {
    small_stream lanes;
    auto out = lanes.producer();
    for (const std::uint64_t seq : {1u, 2u}) {
      auto item = live(seq);
      REQUIRE(out.publish_for(item, 1h).has_value());
    }
    std::vector<std::thread> callers;
    for (std::uint64_t caller = 0; caller < 4; ++caller)
      callers.emplace_back([&] {
        auto item = live(3);
        CHECK(out.publish_for(item, 1h).error() == errc::lane_retired);
        CHECK(position_of(item)->seq == 3);
      });
    CHECK(lanes.over.retire_lane("a").has_value());
    for (auto& one : callers)
      one.join();
    auto item = live(4);
    CHECK(out.try_publish(item).error() == errc::lane_retired);
  }

  TEST_CASE("what was published is delivered though the end is gone, and a moved-from one is nothing") {
    small_stream lanes;
    {
      auto out = lanes.producer();
      auto other = std::move(out);
      auto item = row(7);
      CHECK(other.publish_for(item, 1h).has_value());
    }
    CHECK(weir::sync_wait(lanes.system, take, lanes.over.lane("a").value().consumer(), std::size_t{1}).value() == 7);
  }
}
