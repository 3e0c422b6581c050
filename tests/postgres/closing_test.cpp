#include "bus_faults.hpp"
#include "relay.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace bus_suite;
using postgres_tests::actors;
using postgres_tests::relay;
using postgres_tests::server;
using postgres_tests::wait_until;

TEST_CASE("postgres bus: closing does not wait for a backoff") {
  constexpr std::size_t buses = 8;
  constexpr std::size_t tries = 6; // the next pause is 1.6 s to 3.2 s
  actors in;
  relay between{server().port()};
  between.greet(relay::greeting::refuse);
  std::vector<weir::bus> all;
  for (std::size_t one = 0; one < buses; ++one)
    all.push_back(in.open_at(between.url(), true));
  wait_until([&] { return between.accepted() >= buses * (1 + 2 * tries); });
  const auto begun = std::chrono::steady_clock::now();
  all.clear(); // one after the other
  CHECK(std::chrono::steady_clock::now() - begun < 5s);
}

TEST_CASE("postgres bus: closing does not wait for a server that takes connections and never answers") {
  actors in;
  relay between{server().port()};
  auto how = in.options(between.url());
  how.patience = 1h;
  auto bus = in.open_with(how);
  auto heard = subscribed(bus, "t");
  const auto accepted = between.accepted();
  between.greet(relay::greeting::swallow);
  between.cut();
  wait_until([&] { return between.accepted() >= accepted + 2; });
  bus = in.open(); // the one before is closed, an hour before it would have given up
  const auto record = next(heard);
  REQUIRE_FALSE(record);
  CHECK(record.error() == weir::errc::bus_closed);
}

TEST_CASE("postgres bus: closing does not wait for a server that does not answer a statement") {
  actors in;
  relay between{server().port()};
  auto how = in.options(between.url());
  how.patience = 1h;
  how.beacon = 1h;
  how.outgoing = 1;
  auto bus = in.open_with(how);
  for (int one = 0; one < 2; ++one) // behind what it says and asks at its beginning
    REQUIRE(in.commit(bus, "t", "x"));
  between.stall(relay::links::all);
  REQUIRE(bus.publish("t", "x"));
  wait_until([&] { return bus.publish("t", "y").has_value(); }); // there is room again: the first one is in the statement
  CHECK(bus.stats().outgoing == 2);
  bus = in.open();
}
