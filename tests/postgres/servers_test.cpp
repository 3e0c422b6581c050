#include "bus_faults.hpp"

#include <doctest/doctest.h>

using namespace bus_suite;
using postgres_tests::actors;
using postgres_tests::postgres_server;
using weir::errc;

TEST_CASE("postgres bus: what sslmode wants and does not get is named, and is not a server that is down") {
  actors in;
  postgres_server plain;
  CHECK(in.refused(in.options(plain.url() + "?sslmode=require", true)) == errc::unsupported);
  const auto certificate = plain.use_tls();
  const auto url = plain.url() + "?sslmode=";
  CHECK(in.refused(in.options(url + "verify-ca&sslrootcert=/nonesuch", true)) == errc::invalid_argument);
  CHECK(in.refused(in.options(url + "verify-full&sslrootcert=" + certificate, true)) == errc::permission_denied);
  postgres_server other;
  CHECK(in.refused(in.options(url + "verify-ca&sslrootcert=" + other.use_tls(), true)) == errc::permission_denied);
}

TEST_CASE("postgres bus: a standby carries no bus, and is not down") {
  actors in;
  postgres_server other;
  other.become_standby();
  CHECK(in.refused(in.options(other.url(), true)) == errc::unsupported);
}

TEST_CASE("postgres bus: hints go over TLS") {
  actors in;
  postgres_server guarded;
  const auto certificate = guarded.use_tls();
  auto bus = in.open_with(in.options(guarded.url() + "?sslmode=verify-ca&sslrootcert=" + certificate));
  auto here = subscribed(bus, "t");
  for (const auto* one : {"one", "two", "three"})
    REQUIRE(bus.publish("t", one));
  CHECK(heard(here, 3) == "one two three");
  CHECK(
    guarded.sql("SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'weir bus'")
    == "t");
}
