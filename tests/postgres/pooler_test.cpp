#include "bus_faults.hpp"
#include "pooler.hpp"

#include <doctest/doctest.h>

using namespace bus_suite;
using postgres_tests::account;
using postgres_tests::actors;
using postgres_tests::pooler;
using postgres_tests::server;
using postgres_tests::wait_until;
using postgres_tests::wait_until_heard;
using weir::errc;

namespace {

bool names_pooler(const std::optional<weir::error>& why) {
  return why && *why == errc::unsupported && why->sentence().find("pooler") != std::string::npos;
}

} // namespace

TEST_CASE("postgres bus: a pooler that gives each transaction another session is refused by name") {
  actors in;
  pooler between{server().port()};
  for (const int sessions : {1, 2, 3, 20})
    for (const bool takes_turns : {false, true}) {
      CAPTURE(sessions);
      CAPTURE(takes_turns);
      between.start({.mode = "transaction", .sessions = sessions, .takes_turns = takes_turns, .warm = std::min(sessions, 5)});
      CHECK(names_pooler(in.refused(in.options(between.url()))));
      CHECK(names_pooler(in.refused(in.options(between.url(), true)))); // which is not the same as down
      between.stop();
    }
}

TEST_CASE("postgres bus: a pooler that does not know the database or the user is not down") {
  actors in;
  pooler between{server().port()};
  const auto refused = [&](const std::string& user, const std::string& database) {
    const auto port = between.url().substr(between.url().rfind(':'));
    return in.refused(in.options("postgres://" + user + "@127.0.0.1" + port.substr(0, port.find('/') + 1) + database, true));
  };
  between.start({.mode = "session", .knows_all = false});
  CHECK(refused("weir", "nonesuch") == errc::not_found);
  CHECK(refused("nobody", "postgres") == errc::permission_denied);
  between.stop();
  between.start({.mode = "session"});
  CHECK(refused("weir", "nonesuch") == errc::not_found);
}

TEST_CASE("postgres bus: a pooler that keeps sessions carries a bus") {
  actors in;
  pooler between{server().port()};
  between.start({.mode = "session"});
  auto how = in.options(between.url());
  how.beacon = 1h; // a slow machine is no lost link
  auto bus = in.open_with(how);
  auto other = in.open();
  auto heard_here = subscribed(bus, "t");
  REQUIRE(bus.publish("t", "through it"));
  CHECK(heard(heard_here, 1) == "through it");
  CHECK(in.commit(other, "t", "around it"));
  CHECK(heard(heard_here, 1) == "around it");
}

TEST_CASE("postgres bus: a bus that meets the pooler only later says so, and goes on when another one is there") {
  actors in;
  pooler between{server().port()};
  auto bus = in.open_at(between.url(), true);
  auto heard = subscribed(bus, "t");
  REQUIRE(bus.stats().trouble);
  CHECK(!names_pooler(bus.stats().trouble));
  between.start({.mode = "transaction"});
  wait_until([&] { return names_pooler(bus.stats().trouble); });
  between.stop();
  between.start({.mode = "session"});
  std::uint64_t sent = 0;
  account told;
  wait_until_heard(bus, heard, "t", sent, told);
  CHECK(told.first_loss == weir::loss_cause::link_gap);
  CHECK(!bus.stats().trouble);
}

TEST_CASE("postgres bus: a pooler that comes between a bus and its server is found out") {
  actors in;
  pooler between{server().port()};
  between.start({.mode = "session"});
  auto bus = in.open_at(between.url());
  between.stop();
  between.start({.mode = "transaction"});
  wait_until([&] { return names_pooler(bus.stats().trouble); });
}
