#include <weir/channel.hpp>
#include <weir/spawn.hpp>
#include <weir/stream.hpp>

#include "actors/simulation.hpp"
#include "actors/traces.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

using namespace std::chrono_literals;
using actor_tests::for_each_seed;
using actor_tests::journal;
using actor_tests::new_journal;
using actor_tests::simulation;
using actor_tests::trace;
using weir::errc;
using weir::self;
using weir::task;

namespace {

/// How far the machine's stack was used below the place where this was made.
class stack_gauge {
public:
  void measure() noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)); // sanitizers keep locals elsewhere
    highest_ = std::max(highest_, at);
    lowest_ = std::min(lowest_, at);
  }
  std::size_t span() const noexcept { return highest_ - lowest_; }

private:
  std::uintptr_t highest_ = 0;
  std::uintptr_t lowest_ = UINTPTR_MAX;
};

task<long> count_one(self, stack_gauge* used) {
  const long one = 1;
  used->measure();
  co_return one;
}

task<> count_to(self me, long limit, long* counted, stack_gauge* used) {
  long sum = 0;
  for (long round = 0; round < limit; ++round) {
    auto called = count_one(me, used);
    const auto one = co_await std::move(called);
    sum += one;
  }
  *counted = sum;
}

task<long> descend(self me, long levels, stack_gauge* used, weir::deadline rest) {
  long below = 0;
  used->measure();
  if (levels == 0) {
    auto pause = me.sleep(rest);
    (void)co_await pause;
    co_return below;
  }
  auto called = descend(me, levels - 1, used, rest);
  below = co_await std::move(called);
  used->measure();
  co_return below + 1;
}

task<> descend_to(self me, long levels, long* reached, stack_gauge* used, weir::deadline rest) {
  auto called = descend(me, levels, used, rest);
  const auto below = co_await std::move(called);
  *reached = below;
}

task<> sleep_long(self me, journal into) {
  const trace ends{into, "frame"};
  auto pause = me.sleep(1h);
  auto paused = co_await pause;
  into->push_back(paused ? "slept" : "was stopped");
}

task<> keep_busy(self me, long* rounds) {
  const auto stop = me.stop_token();
  while (!stop.stop_requested()) {
    ++*rounds;
    auto pause = me.yield();
    co_await pause;
  }
}

std::size_t largest_allocation = 0;
bool is_measuring = false;

/// What making the task allocates: its frame.
template <class F>
std::size_t frame_size(F make) {
  largest_allocation = 0;
  is_measuring = true;
  const auto made = make();
  is_measuring = false;
  return largest_allocation;
}

struct frame_sizes {
  std::size_t call = 0;
  std::size_t pause = 0;
  std::size_t publishing = 0;
  std::size_t receiving = 0;
  std::size_t receive_some = 0;
};

task<> pause_once(self me) {
  auto pause = me.sleep(1ms);
  (void)co_await pause;
}

task<> publish_all_of(self, weir::producer<weir::lane_item> out, std::shared_ptr<std::vector<weir::lane_item>> items) {
  const auto kept = items;
  for (auto& item : *kept) {
    auto publishing = out.publish(std::move(item));
    auto published = co_await publishing;
    if (!published)
      co_return;
  }
}

task<> acknowledge_all(self, weir::consumer<weir::lane_item> in) {
  auto from = std::move(in);
  for (;;) {
    auto receiving = from.receive();
    auto received = co_await receiving;
    if (!received)
      co_return;
    (void)received.value().ack();
  }
}

task<> measure_frames(self me, weir::stream over, frame_sizes* sizes) {
  const auto lane = over.lane("a").value();
  auto in = lane.consumer();
  stack_gauge used;
  sizes->call = frame_size([&] { return count_one(me, &used); });
  sizes->pause = frame_size([&] { return pause_once(me); });
  sizes->publishing = frame_size([&] { return publish_all_of(me, lane.producer(), nullptr); });
  sizes->receiving = frame_size([&] { return acknowledge_all(me, lane.consumer()); });
  sizes->receive_some = frame_size([&] { return in.receive_some(1, 1); });
  co_return;
}

} // namespace

// Frames come from the global operator new, which is how their size is seen.
void* operator new(std::size_t size) {
  if (is_measuring)
    largest_allocation = std::max(largest_allocation, size);
  if (void* memory = std::malloc(size))
    return memory;
  throw std::bad_alloc{};
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

TEST_SUITE("ending") {
  TEST_CASE("kill: an actor with 10,000 messages queued ends within a turn") {
    for_each_seed(3, [](simulation& world) {
      const auto log = new_journal();
      const auto actor = weir::spawn(world.system(), sleep_long, log);
      world.settle();
      for (int count = 0; count < 10'000; ++count)
        actor_tests::send_data_from_outside(actor.ref());
      actor.kill();
      const auto before = world.steps();
      while (!actor.wait_for(0ms).has_value() && world.step()) {
      }
      // One urgent message waits for at most three others in CAF's mailbox.
      CHECK(world.steps() - before <= 4);
      REQUIRE(actor.wait_for(0ms).has_value());
      CHECK(actor.wait_for(0ms)->error() == errc::actor_stopped);
      CHECK(*log == std::vector<std::string>{"frame"});
    });
  }

  TEST_CASE("stop: overtakes 10,000 messages that were there before") {
    simulation world{1};
    const auto log = new_journal();
    const auto actor = weir::spawn(world.system(), sleep_long, log);
    world.settle();
    for (int count = 0; count < 10'000; ++count)
      actor_tests::send_data_from_outside(actor.ref());
    actor.request_stop();
    const auto before = world.steps();
    while (log->empty() && world.step()) {
    }
    CHECK(world.steps() - before <= 4);
    CHECK(log->front() == "was stopped");
  }

  TEST_CASE("stop: reaches a coroutine that never waits for anything") {
    for_each_seed(3, [](simulation& world) {
      long rounds = 0;
      const auto actor = weir::spawn(world.system(), keep_busy, &rounds);
      for (int count = 0; count < 20; ++count)
        world.step();
      CHECK(rounds > 256);
      const auto before = rounds;
      actor.request_stop();
      world.settle();
      CHECK(actor.wait_for(0ms).has_value());
      CHECK(rounds - before <= 3 * 256);
    });
  }
}

TEST_SUITE("depth") {
  TEST_CASE("10,000,000 awaits that complete at once take a constant stack") {
    simulation world{1};
    const long limit = 10'000'000;
    long counted = 0;
    stack_gauge used;
    const auto actor = weir::spawn(world.system(), count_to, limit, &counted, &used);
    world.settle();
    CHECK(actor.wait_for(0ms).value().has_value());
    CHECK(counted == limit);
    CHECK(used.span() < 16u << 10);
  }

  TEST_CASE("100,000 calls deep: the stack holds a bounded number of them, down and up") {
    simulation world{1};
    const long levels = 100'000;
    long reached = 0;
    stack_gauge used;
    const auto actor = weir::spawn(world.system(), descend_to, levels, &reached, &used, weir::deadline{1ms});
    world.advance(1ms);
    CHECK(actor.wait_for(0ms).value().has_value());
    CHECK(reached == levels);
    CHECK(used.span() < 512u << 10);
  }

  TEST_CASE("100,000 calls deep: killed there, every frame goes, without a deep stack") {
    simulation world{1};
    long reached = 0;
    stack_gauge used;
    const auto actor = weir::spawn(world.system(), descend_to, 100'000L, &reached, &used, weir::deadline{1h});
    world.settle();
    actor.kill();
    world.settle();
    CHECK(actor.wait_for(0ms).has_value());
    CHECK(reached == 0);
  }
}

TEST_SUITE("frames") {
  TEST_CASE("sizes: a call, a chain's top, and loops over a lane") {
    simulation world{1};
    const auto over = weir::channel::open(world.system(), {.lanes = {"a"}}).value();
    frame_sizes sizes;
    const auto actor = weir::spawn(world.system(), measure_frames, over, &sizes);
    world.settle();
    CHECK(actor.wait_for(0ms).value().has_value());
    MESSAGE("bytes: call ", sizes.call, ", pause ", sizes.pause, ", publishing loop ", sizes.publishing, ", receiving loop ",
      sizes.receiving, ", receive_some ", sizes.receive_some);
    CHECK(sizes.call <= 192);
    CHECK(sizes.pause <= 512);
    CHECK(sizes.publishing <= 2048);
    CHECK(sizes.receiving <= 2048);
    CHECK(sizes.receive_some <= 2048);
  }
}
