#include "bus_faults.hpp"
#include "relay.hpp"

#include <doctest/doctest.h>

#include <array>

using namespace bus_suite;
using postgres_tests::account;
using postgres_tests::actors;
using postgres_tests::relay;
using postgres_tests::server;
using postgres_tests::wait_until;

namespace {

/// One bus behind a relay, another one beside it, and three topics on which both have been heard: two go on, one falls silent.
struct half_open {
  half_open() {
    for (auto& one : topics)
      one.heard = subscribed(behind, one.name, {.buffer = 10'000});
    say("first", true);
    for (auto& one : topics)
      one.told.read(one.heard, one.sent);
  }

  /// On every topic, or on those that go on; what the outbox has no room for is not sent.
  void say(const std::string& payload, bool everywhere) {
    for (auto& one : topics)
      if (everywhere || one.goes_on)
        for (auto* const by : {&behind, &beside})
          if (by->publish(one.name, payload))
            ++one.sent;
  }

  struct topic {
    std::string name;
    bool goes_on = true;
    weir::subscription heard = {};
    std::uint64_t sent = 0;
    account told = {};
  };

  actors in;
  relay between{server().port()};
  weir::bus behind = in.open_at(between.url());
  weir::bus beside = in.open();
  std::array<topic, 3> topics{{{"a"}, {"b"}, {"falls silent", false}}};
};

void check_that_all_is_accounted_for(half_open& all) {
  all.say("last", false);
  for (auto& one : all.topics) {
    CAPTURE(one.name);
    one.told.read(one.heard, one.sent);
    CHECK(one.told.first_loss == weir::loss_cause::link_gap);
    CHECK(one.told.lost > 0);
  }
}

std::size_t connections() {
  return std::stoul(server().sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'weir bus'"));
}

} // namespace

TEST_CASE("postgres bus: a listening connection through which nothing comes is noticed, and what fell into the gap is told") {
  half_open all;
  const auto before = all.behind.stats().reconnects;
  all.between.stall(relay::links::listening);
  for (int one = 0; one < 20; ++one)
    all.say("not heard", true);
  wait_until([&] { return all.behind.stats().reconnects > before; }); // what is connected now goes through
  check_that_all_is_accounted_for(all);
}

TEST_CASE("postgres bus: a link that is dead both ways is noticed, and what comes out of it late is told once") {
  half_open all;
  all.between.stall(relay::links::all);
  all.between.greet(relay::greeting::swallow);
  for (int one = 0; one < 20; ++one)
    all.say("not heard", true);
  wait_until([&] { return all.behind.stats().trouble.has_value(); });
  CHECK(*all.behind.stats().trouble != weir::errc::unsupported);
  all.between.greet(relay::greeting::forward);
  wait_until([&] { return !all.behind.stats().trouble; });
  all.say("heard again", false);
  all.between.go_on(); // what the dead connections still held reaches the server now
  wait_until([&] { return connections() == 4; });
  check_that_all_is_accounted_for(all);
}

TEST_CASE("postgres bus: a link that stalls and goes on loses nothing") {
  actors in;
  relay between{server().port()};
  auto how = in.options(between.url());
  how.beacon = 1h;
  auto behind = in.open_with(how);
  auto beside = in.open();
  auto heard = subscribed(behind, "t", {.buffer = 200});
  between.stall(relay::links::all);
  for (int one = 1; one <= 100; ++one)
    REQUIRE(beside.publish("t", std::to_string(one)));
  REQUIRE(in.commit(beside, "t", "last"));
  between.go_on();
  CHECK(heard_before(heard, "last") == numbers(1, 100));
  CHECK(behind.stats().reconnects == 0);
}
