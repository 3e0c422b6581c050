#include "bus_faults.hpp"
#include "relay.hpp"

#include <doctest/doctest.h>

using namespace bus_suite;
using postgres_tests::account;
using postgres_tests::actors;
using postgres_tests::relay;
using postgres_tests::server;
using postgres_tests::wait_until;
using weir::errc;

namespace {

/// A role that may connect, and may publish only while nobody has withdrawn that.
class speaker {
public:
  speaker() { server().sql("CREATE ROLE speaker LOGIN"); }
  ~speaker() {
    allow();
    server().sql("DROP ROLE speaker");
  }
  speaker(const speaker&) = delete;
  speaker& operator=(const speaker&) = delete;

  std::string url() const { return server().url("postgres", "speaker"); }
  void forbid() { server().sql("REVOKE EXECUTE ON FUNCTION pg_notify(text, text) FROM PUBLIC"); }
  void allow() { server().sql("GRANT EXECUTE ON FUNCTION pg_notify(text, text) TO PUBLIC"); }
};

std::size_t refusals() {
  const auto log = server().log();
  std::size_t found = 0;
  for (std::size_t at = 0; (at = log.find("permission denied for function pg_notify", at)) != std::string::npos; ++at)
    ++found;
  return found;
}

} // namespace

TEST_CASE("postgres bus: what the server refuses is a typed failure to the publisher and a loss to everybody else") {
  speaker may;
  actors in;
  auto how = in.options(may.url());
  how.beacon = 1s; // so long it has to answer
  auto bus = in.open_with(how);
  how = in.options(server().url());
  how.beacon = 1h;
  auto other = in.open_with(how);
  auto here = subscribed(bus, "t");
  auto there = subscribed(other, "t");
  REQUIRE(in.commit(bus, "t", "before"));
  CHECK(heard(here, 1) == "before");
  CHECK(heard(there, 1) == "before");
  may.forbid();
  const auto refused = in.commit(bus, "t", "refused");
  REQUIRE_FALSE(refused);
  CHECK(refused.error() == errc::permission_denied);
  CHECK(refused.error().fact_of("sqlstate") == "42501");
  REQUIRE(bus.publish("t", "refused, and nobody waits for it"));
  CHECK(!in.commit(bus, "t", "refused"));
  const auto trouble = bus.stats().trouble;
  REQUIRE(trouble);
  CHECK(*trouble == errc::permission_denied);
  // It hears on: that its own beacons do not come back is no sign of a dead link.
  const auto reconnects = bus.stats().reconnects;
  const auto before = refusals();
  wait_until([&] { return refusals() > before + 4; });
  REQUIRE(in.commit(other, "t", "meanwhile"));
  CHECK(heard_before(here, "meanwhile").find("link_gap") == std::string::npos);
  CHECK(heard_before(there, "meanwhile").find("link_gap") == std::string::npos);
  may.allow();
  CHECK(in.commit(bus, "t", "after"));
  CHECK(bus.stats().reconnects == reconnects);
  CHECK(!bus.stats().trouble);
  for (auto* const one : {&here, &there}) {
    CHECK(heard_before(*one, "after") == "-3(publisher)");
    CHECK(one->stats().received == 3);
    CHECK(one->stats().lost == 3);
  }
}

TEST_CASE("postgres bus: a publishing connection that dies while nobody publishes costs no hint") {
  actors in;
  auto how = in.options(server().url());
  how.beacon = 1h;
  auto bus = in.open_with(how);
  auto heard = subscribed(bus, "t");
  REQUIRE(in.commit(bus, "t", "before"));
  const auto ended =
    server().sql("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'weir bus'"
                 " AND query NOT LIKE 'LISTEN%'");
  CHECK(ended == "1");
  wait_until([&] { return bus.stats().reconnects == 1; });
  CHECK(in.commit(bus, "t", "after"));
  CHECK(bus_suite::heard(heard, 2) == "before after");
}

TEST_CASE("postgres bus: what was accepted while the publishing connection was dead is said when the bus closes") {
  actors in;
  auto other = in.open();
  auto heard = subscribed(other, "t");
  {
    auto bus = in.open();
    REQUIRE(in.commit(bus, "t", "before"));
    server().sql("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'weir bus'"
                 " AND query NOT LIKE 'LISTEN%'");
    for (const auto* one : {"2", "3", "4", "5"})
      REQUIRE(bus.publish("t", one));
  }
  // All are accounted for; or where it could not connect in time, everybody knows that something may be missing.
  account told;
  for (bool is_vague = false; told.received + told.lost < 5 && !is_vague;) {
    const auto record = next(heard);
    REQUIRE(record);
    told.take(record.value());
    const auto* missing = std::get_if<weir::lost>(&record.value());
    is_vague = missing != nullptr && !missing->is_exact && missing->publisher;
  }
}

TEST_CASE(
  "postgres bus: of a bus that dies while its publishing connection is cut, everybody is told that something may be missing") {
  actors in;
  auto listening = in.open();
  auto heard = subscribed(listening, "t");
  relay between{server().port()};
  auto cut_off = in.open_at(between.url());
  REQUIRE(in.commit(cut_off, "t", "before"));
  CHECK(bus_suite::heard(heard, 1) == "before");
  between.greet(relay::greeting::refuse);
  between.cut();
  REQUIRE(cut_off.publish("t", "nobody hears that"));
  cut_off = in.open();
  const auto record = next(heard);
  REQUIRE(record);
  REQUIRE(std::holds_alternative<weir::lost>(record.value()));
  CHECK(!std::get<weir::lost>(record.value()).is_exact);
}

TEST_CASE("postgres bus: of a bus whose first words are refused, nothing is lost silently") {
  speaker may;
  actors in;
  auto listening = in.open();
  auto in_time = subscribed(listening, "t");
  may.forbid();
  auto how = in.options(may.url());
  how.beacon = 1h;
  auto bus = in.open_with(how);
  for (int one = 0; one < 3; ++one)
    CHECK(!in.commit(bus, "t", "refused"));
  may.allow();
  REQUIRE(in.commit(bus, "t", "heard"));
  // How many there were since somebody subscribes, nobody knows who has not heard of that bus before.
  CHECK(heard_before(in_time, "heard") == "-0+(publisher)");
  REQUIRE(in.commit(bus, "t", "heard again"));
  CHECK(heard(in_time, 1) == "heard again");
}
