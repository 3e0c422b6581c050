#include <weir/bus_text.hpp>

#include "bus_faults.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <thread>

using namespace bus_suite;
using postgres_tests::account;
using postgres_tests::actors;
using postgres_tests::server;
using postgres_tests::wait_until;
using postgres_tests::wait_until_heard;
using weir::errc;

TEST_CASE("postgres bus: a listener that the server kills comes back, says so first, and all is accounted for") {
  actors in;
  auto publishing = in.open();
  auto listening = in.open();
  auto goes_on = subscribed(listening, "goes on", {.buffer = 10'000});
  auto falls_silent = subscribed(listening, "falls silent", {.buffer = 10'000});
  std::map<std::string, std::uint64_t> sent;
  const auto publish = [&](const std::string& topic, const std::string& payload) {
    REQUIRE(publishing.publish(topic, payload));
    ++sent[topic];
  };
  publish("goes on", "first");
  publish("falls silent", "first");
  account going;
  account silent;
  going.read(goes_on, "first");
  silent.read(falls_silent, "first");
  const auto reconnects = listening.stats().reconnects;
  CHECK(server().sql(postgres_tests::end_listeners(in.channel)) == "2");
  for (int one = 0; one < 20; ++one) {
    publish("goes on", "meanwhile");
    publish("falls silent", "meanwhile");
  }
  wait_until_heard(publishing, goes_on, "goes on", sent["goes on"], going);
  CHECK(listening.stats().reconnects > reconnects);
  CHECK(going.has_gap);
  publish("goes on", "last");
  going.read(goes_on, "last");
  CHECK(going.received + going.lost == sent["goes on"]);
  // Of the other topic nobody says anything more: what fell into the gap is told all the same.
  silent.read(falls_silent, sent["falls silent"]);
}

TEST_CASE("postgres bus: a server that stops and starts, with hints published meanwhile") {
  actors in;
  auto bus = in.open();
  auto heard = subscribed(bus, "t", {.buffer = 10'000});
  std::uint64_t sent = 0;
  account told;
  REQUIRE(bus.publish("t", "first"));
  ++sent;
  told.read(heard, "first");
  server().stop();
  for (int one = 0; one < 50; ++one)
    if (bus.publish("t", "meanwhile"))
      ++sent;
  server().start();
  wait_until_heard(bus, heard, "t", sent, told);
  REQUIRE(bus.publish("t", "last"));
  ++sent;
  told.read(heard, "last");
  CHECK(told.has_gap);
  CHECK(told.received + told.lost == sent);
  CHECK(!bus.stats().trouble);
}

TEST_CASE("postgres bus: a bus that is closed says first what it has published, and what is missing of that has a number") {
  actors in;
  auto how = in.options(server().url());
  how.beacon = 1h; // nothing else says how much there was
  auto listening = in.open_with(how);
  auto heard = subscribed(listening, "t", {.buffer = 10'000});
  account told;
  std::uint64_t sent = 1;
  {
    auto publishing = in.open_with(how);
    REQUIRE(publishing.publish("t", "first"));
    told.read(heard, "first");
    const auto reconnects = listening.stats().reconnects;
    server().sql(postgres_tests::end_listeners(in.channel));
    for (; sent <= 20; ++sent)
      REQUIRE(publishing.publish("t", "meanwhile"));
    postgres_tests::wait_until([&] { return listening.stats().reconnects > reconnects; });
  }
  told.read(heard, sent);
  CHECK(told.has_gap);
}

TEST_CASE("postgres bus: a bus may be opened while the server is down, and then says that it did not hear") {
  actors in;
  const auto url = server().url();
  server().stop();
  CHECK(in.refused(in.options(url)) == errc::disconnected);
  auto bus = in.open_at(url, true);
  auto heard = subscribed(bus, "t");
  CHECK(bus.stats().trouble);
  REQUIRE(bus.publish("t", "while it is down"));
  server().start();
  const auto gap = next(heard);
  REQUIRE(gap);
  CHECK(std::get<weir::lost>(gap.value()) == weir::lost{0, false, {}, weir::loss_cause::link_gap});
  std::uint64_t sent = 1;
  account told;
  wait_until_heard(bus, heard, "t", sent, told);
  CHECK(told.received > 0);
}

TEST_CASE("postgres bus: a server that does not answer any more is noticed, and a bus closes promptly all the same") {
  actors in;
  auto bus = in.open();
  auto other = in.open();
  auto heard = subscribed(bus, "t");
  server().freeze();
  const auto until = std::chrono::steady_clock::now() + 15s;
  while (!bus.stats().trouble && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(20ms);
  CHECK(bus.stats().trouble);
  const auto begun = std::chrono::steady_clock::now();
  other = in.open_at(server().url(), true); // the one before is closed, and this one waits for its patience
  CHECK(std::chrono::steady_clock::now() - begun < 15s);
  server().thaw();
  std::uint64_t sent = 0;
  account told;
  wait_until_heard(bus, heard, "t", sent, told);
  CHECK(told.has_gap);
}

TEST_CASE("postgres bus: a publisher that speaks seldom is asked before it is taken for gone") {
  actors in;
  auto how = in.options(server().url());
  how.beacon = 1h;
  auto seldom = in.open_with(how); // nobody hears its first beacon
  how.beacon = 1s;
  auto other = in.open_with(how);
  auto present = subscribed(other, "t", {.policy = weir::drop_policy::last_by_key});
  REQUIRE(seldom.publish("t", "here"));
  CHECK(heard(present, 1) == "here");
  const auto known = [&] {
    const auto all = other.stats().publishers;
    const auto one = std::ranges::find(all, seldom.id(), &weir::publisher_figures::publisher);
    return one == all.end() ? weir::publisher_figures{} : *one;
  };
  wait_until([&] { return known().is_gone || known().beacon == 1h; });
  CHECK_FALSE(known().is_gone);
}

TEST_CASE("postgres bus: what others say on the channel is counted and passed over") {
  actors in;
  auto bus = in.open();
  auto heard = subscribed(bus, "t");
  const auto notify = [&](const std::string& payload) {
    server().sql("SELECT pg_notify('" + in.channel + "', '" + payload + "')");
  };
  notify("hello");
  notify("");
  notify("W2h something newer");
  notify("W1h broken");
  const weir::bus_id stranger{77};
  notify(weir::encode_hint("t", "", "fine", {stranger, 1, 1, 0}));
  auto broken = weir::encode_hint("t", "", "payload", {stranger, 2, 2, 0});
  broken.replace(broken.size() - 9, 5, "~~~~~"); // no four bytes
  notify(broken);
  notify(weir::encode_hint("t", "", "fine again", {stranger, 3, 3, 0}));
  CHECK(bus_suite::heard(heard, 2) == "fine -1(undecodable) fine again");
  const auto stats = bus.stats();
  CHECK(stats.foreign == 3);
  CHECK(stats.undecodable == 2);
}

TEST_CASE("postgres bus: what is wrong is refused by name, and no password is told") {
  actors in;
  const auto port = std::to_string(server().port());
  CHECK(in.refused(in.options("postgres://locked:secret@127.0.0.1:" + port + "/postgres")) == errc::permission_denied);
  CHECK(in.refused(in.options(server().url("no_such_database"))) == errc::not_found);
  CHECK(in.refused(in.options(server().url("postgres", "nobody at all"))) != errc::disconnected);
  CHECK(in.refused(in.options(server().url("bytes"))) == errc::unsupported);
  CHECK(in.refused(in.options("postgres://weir:secret@127.0.0.1:1/postgres")) == errc::disconnected);
  CHECK(in.refused(in.options("postgres://weir:secret@127.0.0.1:port/postgres")) == errc::invalid_argument);
  CHECK(in.refused(in.options("password=secret nonsense")) == errc::invalid_argument);
  // No password where one is wanted, what libpq does not know, and an @ that was not written as %40.
  CHECK(in.refused(in.options("postgres://locked@127.0.0.1:" + port + "/postgres", true)) == errc::permission_denied);
  CHECK(in.refused(in.options(server().url() + "?sslmode=bogus", true)) == errc::invalid_argument);
  CHECK(in.refused(in.options("postgres://locked:a@secret@127.0.0.1:" + port + "/postgres", true)) == errc::invalid_argument);
  // The same, where the password has a slash that was not written as %2F.
  CHECK(in.refused(in.options("postgres://weir:4711/secret@127.0.0.1:" + port + "/postgres", true)) == errc::invalid_argument);
  auto how = in.options(server().url());
  how.channel = std::string(64, 'c');
  CHECK(in.refused(how) == errc::invalid_argument);
  how = in.options(server().url());
  how.beacon = 1ms;
  CHECK(in.refused(how) == errc::invalid_argument);
}

TEST_CASE("postgres bus: the outbox is bounded, and says so") {
  actors in;
  auto how = in.options(server().url());
  how.outgoing = 10;
  auto opened = weir::postgres::open_bus(in.system(), how);
  REQUIRE(opened);
  auto bus = std::move(opened).value();
  server().freeze();
  weir::result<void> refused = weir::success();
  for (int one = 0; one < 2'000 && refused; ++one)
    refused = bus.publish("t", "x");
  server().thaw();
  REQUIRE_FALSE(refused);
  CHECK(refused.error() == errc::bus_full);
}
