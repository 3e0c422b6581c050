#include "bus_place.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <poll.h>
#include <thread>

using namespace bus_suite;
using weir::errc;

namespace {

errc fault(const weir::result<weir::bus_record>& outcome) {
  REQUIRE_FALSE(outcome);
  return outcome.error().code();
}

/// Awaits one record in an actor, and tells how that ended.
weir::task<weir::result<weir::bus_record>> await_next(
  weir::self me, std::shared_ptr<weir::subscription> from, std::chrono::milliseconds at_most) {
  auto waiting = from->next(weir::deadline::at(me.now() + at_most));
  auto record = co_await waiting;
  co_return record;
}

weir::task<weir::result<void>> commit(weir::self me, weir::bus to, std::string payload) {
  auto publishing = to.publish_committed(me, "t", std::move(payload));
  auto published = co_await std::move(publishing);
  co_return published;
}

/// Waits until it is stopped, and says what it heard then.
weir::task<> wait_on(weir::self, std::shared_ptr<weir::subscription> from, std::shared_ptr<std::atomic<int>> heard) {
  auto waiting = from->next();
  auto record = co_await waiting;
  *heard = record ? 0 : static_cast<int>(record.error().code());
}

std::ptrdiff_t entries_of(const char* directory) {
  return std::distance(std::filesystem::directory_iterator{directory}, {});
}

} // namespace

TEST_CASE("bus: a closed subscription keeps what it has, and then says that it was closed") {
  const auto place = make_place();
  auto bus = place->open();
  auto in = subscribed(bus, "t");
  auto other = subscribed(bus, "t");
  REQUIRE(bus.publish("t", "a"));
  CHECK(heard(other, 1) == "a");
  in.close();
  in.close();
  REQUIRE(bus.publish("t", "b"));
  CHECK(heard(other, 1) == "b");
  CHECK(heard(in, 1) == "a");
  CHECK(fault(in.try_next()) == errc::closed);
  CHECK(bus.stats().subscriptions == 1);
}

TEST_CASE("bus: a closed bus ends its own subscriptions, and no others") {
  const auto place = make_place();
  auto bus = place->open();
  auto other = place->open();
  auto in = subscribed(bus, "t");
  auto elsewhere = subscribed(other, "t");
  REQUIRE(bus.publish("t", "a"));
  CHECK(heard(elsewhere, 1) == "a");
  while (in.stats().buffered == 0) // the two buses hear each by itself
    std::this_thread::yield();
  bus.close();
  bus.close();
  CHECK(heard(in, 1) == "a");
  CHECK(fault(next(in)) == errc::bus_closed);
  const auto refused = bus.publish("t", "b");
  REQUIRE_FALSE(refused);
  CHECK(refused.error() == errc::bus_closed);
  const auto late = bus.subscribe("t");
  REQUIRE_FALSE(late);
  CHECK(late.error() == errc::bus_closed);
  REQUIRE(other.publish("t", "c"));
  CHECK(heard(elsewhere, 1) == "c");
}

TEST_CASE("bus: the policy to end ends with evicted, behind what is there") {
  const auto place = make_place();
  auto bus = place->open();
  auto in = subscribed(bus, "t", {.buffer = 2, .policy = weir::drop_policy::end});
  auto live = subscribed(bus, "t");
  for (int number = 1; number <= 5; ++number)
    REQUIRE(bus.publish("t", std::to_string(number)));
  CHECK(heard(live, 5) == "1 2 3 4 5");
  CHECK(heard(in, 2) == "1 2 -1(buffer_full)");
  CHECK(fault(next(in)) == errc::evicted);
}

TEST_CASE("bus: with last by key only the newest of each key waits, and a bus that was closed is gone") {
  const auto place = make_place();
  auto bus = place->open();
  auto members = place->open();
  auto in = subscribed(bus, "room", {.policy = weir::drop_policy::last_by_key});
  auto live = subscribed(bus, "room");
  REQUIRE(members.publish("room", "here", "ann"));
  REQUIRE(members.publish("room", "here", "bob"));
  REQUIRE(members.publish("room", "away", "ann"));
  CHECK(heard(live, 3) == "here here away");
  CHECK(heard(in, 2) == "-1(conflated) here away");
  const auto who = members.id();
  members.close();
  const auto record = next(in);
  REQUIRE(record);
  CHECK(std::get<weir::gone>(record.value()).publisher == who);
}

TEST_CASE("bus: an actor waits for the next hint, up to a deadline, or until it is stopped") {
  const auto place = make_place();
  auto bus = place->open();
  const auto in = std::make_shared<weir::subscription>(subscribed(bus, "t"));
  CHECK(fault(weir::sync_wait(place->system(), await_next, in, 20ms)) == errc::timed_out);
  std::jthread publishing{[&] {
    std::this_thread::sleep_for(20ms); // while it waits, or before: both are right
    REQUIRE(bus.publish("t", "x"));
  }};
  const auto record = weir::sync_wait(place->system(), await_next, in, std::chrono::milliseconds{long_enough});
  REQUIRE(record);
  CHECK(std::get<weir::hint>(record.value()).payload() == "x");
  const auto heard = std::make_shared<std::atomic<int>>(-1);
  const auto waiting = weir::spawn(place->system(), wait_on, in, heard);
  waiting.request_stop();
  CHECK(waiting.wait());
  CHECK(*heard == static_cast<int>(errc::cancelled));
  const auto closing = weir::spawn(place->system(), wait_on, in, heard);
  bus.close();
  CHECK(closing.wait());
  CHECK(*heard == static_cast<int>(errc::bus_closed));
}

TEST_CASE("bus: a publisher that wants to know waits until the link has it") {
  const auto place = make_place();
  auto bus = place->open();
  auto in = subscribed(bus, "t");
  CHECK(weir::sync_wait(place->system(), commit, bus, std::string{"x"}));
  CHECK(heard(in, 1) == "x");
  const auto refused = weir::sync_wait(place->system(), commit, bus, std::string(weir::max_hint_bytes + 1, 'x'));
  REQUIRE_FALSE(refused);
  CHECK(refused.error() == errc::too_large);
}

TEST_CASE("bus: closing from two sides while hints come is safe, and nobody hears anything behind the end") {
  const auto place = make_place();
  for (int round = 0; round < 20; ++round) {
    auto bus = place->open();
    auto other = place->open();
    auto in = subscribed(bus, "t");
    std::atomic<bool> is_over{false};
    std::jthread publishing{[&] {
      while (!is_over)
        (void)other.publish("t", "x");
    }};
    REQUIRE(next(in));
    std::jthread closing{[&] { bus.close(); }};
    in.close();
    closing.join();
    is_over = true;
    publishing.join();
    while (in.try_next()) {
    }
    const auto why = fault(in.try_next()); // of whichever came first
    CHECK((why == errc::closed || why == errc::bus_closed));
  }
}

TEST_CASE("bus: the descriptor is readable while there is something to read, and only then") {
  const auto place = make_place();
  auto bus = place->open();
  auto in = subscribed(bus, "t");
  const auto is_readable = [&] {
    pollfd asked{in.descriptor(), POLLIN, 0};
    return ::poll(&asked, 1, 0) == 1;
  };
  CHECK_FALSE(is_readable());
  REQUIRE(bus.publish("t", "a"));
  REQUIRE(bus.publish("t", "b"));
  REQUIRE(next(in));
  REQUIRE(next(in));
  CHECK_FALSE(is_readable());
  in.close();
  CHECK(is_readable());
}

TEST_CASE("bus: options that are none are refused by name") {
  const auto place = make_place();
  auto bus = place->open();
  for (const auto buffer : {std::size_t{0}, (std::size_t{1} << 20U) + 1}) {
    const auto refused = bus.subscribe("t", {.buffer = buffer});
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == errc::invalid_argument);
    CHECK(refused.error().fact_of("option") == "buffer");
  }
}

TEST_CASE("bus: buses and subscriptions leave no thread and no descriptor behind") {
  const auto place = make_place();
  const auto use = [&] {
    auto bus = place->open();
    auto in = subscribed(bus, "t");
    REQUIRE(bus.publish("t", "x"));
    CHECK(heard(in, 1) == "x");
  };
  use();
  const auto descriptors = entries_of("/proc/self/fd");
  const auto threads = entries_of("/proc/self/task");
  for (int round = 0; round < 10; ++round)
    use();
  CHECK(entries_of("/proc/self/fd") == descriptors);
  CHECK(entries_of("/proc/self/task") == threads);
}
