#include "conformance/stream/ends.hpp"

#include <map>

// Backfill requests: rule 9.

using namespace std::chrono_literals;
using namespace stream_suite;
using actor_tests::for_each_seed;
using core_tests::live;
using core_tests::marker;
using core_tests::snapshot;
using weir::errc;
using weir::request;
using weir::request_id;
using weir::result;
using weir::self;
using weir::task;

namespace {

constexpr std::uint64_t few = 8;

/// A request as a test sees it; its lease stays in the server, under the handle.
struct asked {
  std::size_t handle = 0;
  std::uint32_t attempt = 0;
  request what;
};

/// An actor that serves requests when a test says so.
class server {
public:
  server(simulation& world, const weir::stream& over)
    : server{world, [&] {
               auto mine = std::make_shared<belongings>();
               mine->in.emplace(over.requests().consumer());
               return mine;
             }()} {}

  pending<result<asked>> begin_receive(weir::deadline until = weir::deadline::never()) {
    return script_.begin(&belongings::receive, mine_, until);
  }
  result<asked> receive() { return script_.complete(begin_receive()); }
  outcome ack(std::size_t handle) { return script_.complete(script_.begin(&belongings::ack, mine_, handle)); }
  outcome nack(std::size_t handle) { return script_.complete(script_.begin(&belongings::nack, mine_, handle)); }
  void drop(std::size_t handle) { CHECK(script_.complete(script_.begin(&belongings::drop, mine_, handle))); }
  void kill() {
    script_.kill();
    script_.world().settle();
  }

  /// Everything that can be received.
  std::vector<asked> receive_all() {
    std::vector<asked> all;
    for (;;) {
      auto next = begin_receive();
      script_.world().settle();
      if (!next.is_done()) {
        next.request_stop();
        script_.world().settle();
      }
      if (!next.value())
        return all;
      all.push_back(next.value().value());
    }
  }

private:
  struct belongings {
    std::optional<weir::consumer<request>> in;
    std::map<std::size_t, weir::delivery<request>> held; // goes before the end
    std::size_t next_handle = 1;

    static task<result<asked>> receive(self, belongings* mine, weir::deadline until) {
      auto op = mine->in->receive(until);
      auto received = co_await op;
      if (!received)
        co_return std::move(received).error();
      asked seen{mine->next_handle++, received.value().attempt(), received.value().item()};
      mine->held.emplace(seen.handle, std::move(received).value());
      co_return seen;
    }
    static task<outcome> ack(self, belongings* mine, std::size_t handle) {
      auto done = mine->held.at(handle).ack();
      co_return std::move(done);
    }
    static task<outcome> nack(self, belongings* mine, std::size_t handle) {
      auto done = mine->held.at(handle).nack();
      co_return std::move(done);
    }
    static task<bool> drop(self, belongings* mine, std::size_t handle) {
      const bool there = mine->held.erase(handle) == 1;
      co_return there;
    }
  };

  server(simulation& world, std::shared_ptr<belongings> mine)
    : mine_{mine.get()},
      script_{world, "server", std::exchange(mine, nullptr)} {}

  belongings* mine_;
  script script_;
};

request backfill(std::uint64_t number, const char* sink, std::vector<std::string> collections) {
  request made;
  made.id = request_id{0, number};
  made.sink = sink;
  made.collections = std::move(collections);
  return made;
}

std::vector<std::uint64_t> numbers_of(const std::vector<asked>& all) {
  std::vector<std::uint64_t> found;
  for (const auto& one : all)
    found.push_back(one.what.id.low);
  return found;
}

} // namespace

TEST_SUITE("stream: requests") {
  TEST_CASE("two sinks ask before anyone serves: both are served, in order") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open({.lanes = {"a", "b"}});
      REQUIRE(over.requests().producer().publish(backfill(1, "a", {"x", "y"})).has_value());
      REQUIRE(over.requests().producer().publish(backfill(2, "b", {"x"})).has_value());
      CHECK_FALSE(over.idle());
      world.settle();
      CHECK_FALSE(over.idle());
      server serving{world, over};
      const auto all = serving.receive_all();
      CHECK(numbers_of(all) == numbers{1, 2});
      CHECK(all[0].what.sink == "a");
      CHECK(all[0].what.collections == std::vector<std::string>{"x", "y"});
      CHECK(all[0].attempt == 1);
      CHECK(serving.ack(all[0].handle).has_value());
      CHECK_FALSE(over.idle());
      CHECK(serving.ack(all[1].handle).has_value());
      CHECK(over.idle());
      CHECK(over.figures().requests == 0);
    });
  }

  TEST_CASE("a newer request for the same sink and collection replaces one that waits") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open({.lanes = {"a", "b"}});
      const auto asking = over.requests().producer();
      REQUIRE(asking.publish(backfill(1, "a", {"x", "y"})).has_value());
      REQUIRE(asking.publish(backfill(2, "b", {"x"})).has_value());
      REQUIRE(asking.publish(backfill(3, "a", {"x"})).has_value());
      REQUIRE(asking.publish(backfill(4, "b", {"x", "x"})).has_value());
      server serving{world, over};
      const auto all = serving.receive_all();
      CHECK(numbers_of(all) == numbers{1, 3, 4});
      CHECK(all[0].what.collections == std::vector<std::string>{"y"});
      CHECK(all[2].what.collections == std::vector<std::string>{"x"});
      for (const auto& one : all)
        CHECK(serving.ack(one.handle).has_value());
      CHECK(over.idle());
    });
  }

  TEST_CASE("a newer request waits behind one that runs, so a late duplicate marker can't complete it") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open();
      const auto asking = over.requests().producer();
      REQUIRE(asking.publish(backfill(1, "a", {"x"})).has_value());
      server serving{world, over};
      const auto running = serving.receive();
      REQUIRE(asking.publish(backfill(2, "a", {"x"})).has_value());
      auto parked = serving.begin_receive();
      world.settle();
      CHECK_FALSE(parked.is_done());
      CHECK(serving.ack(running.value().handle).has_value());
      REQUIRE(parked.is_done());
      CHECK(parked.value().value().what.id == request_id{0, 2});
    });
  }

  TEST_CASE("at least once: a lease that is returned, dropped or whose server dies is due again, before anything newer") {
    for (const int how : {0, 1, 2, 3}) {
      CAPTURE(how);
      for_each_seed(few, [&](simulation& world) {
        bench at{world};
        const auto over = at.open({.lanes = {"a", "b"}});
        const auto asking = over.requests().producer();
        REQUIRE(asking.publish(backfill(1, "a", {"x"})).has_value());
        auto serving = std::make_unique<server>(world, over);
        const auto first = serving->receive();
        REQUIRE(first.has_value());
        switch (how) {
        case 0: REQUIRE(serving->nack(first.value().handle).has_value()); break;
        case 1: serving->drop(first.value().handle); break;
        case 2: serving->kill(); break;
        default: break; // taken over
        }
        REQUIRE(asking.publish(backfill(2, "b", {"x"})).has_value());
        CHECK_FALSE(over.idle());
        server next{world, over};
        const auto all = next.receive_all();
        CHECK(numbers_of(all) == numbers{1, 2});
        CHECK(all[0].attempt == 2);
        CHECK(all[1].attempt == 1);
        if (how == 3) {
          CHECK(fault(serving->ack(first.value().handle)) == errc::stale_delivery);
          CHECK(fault(serving->receive()) == errc::fenced);
          world.settle();
          CHECK(over.figures().requests == 2);
        }
        for (const auto& one : all)
          CHECK(next.ack(one.handle).has_value());
        CHECK(over.idle());
        CHECK(fault(next.ack(all[0].handle)) == errc::stale_delivery);
      });
    }
  }

  TEST_CASE("a running request that is returned gives way to a newer one for the same pair") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open();
      const auto asking = over.requests().producer();
      REQUIRE(asking.publish(backfill(1, "a", {"x", "y"})).has_value());
      server serving{world, over};
      const auto running = serving.receive();
      REQUIRE(asking.publish(backfill(2, "a", {"x"})).has_value());
      world.settle();
      serving.kill();
      server next{world, over};
      const auto all = next.receive_all();
      CHECK(numbers_of(all) == numbers{1, 2});
      CHECK(all[0].what.collections == std::vector<std::string>{"y"});
    });
  }

  TEST_CASE("asking never waits, not even while that sink's lane is full and nobody serves") {
    if (no_lane_fills_up())
      return;
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open({.bound = {.items = 1, .bytes = 1u << 20}});
      publisher out{world, over};
      REQUIRE(out.publish(live(1, 1)).has_value());
      auto blocked = out.begin_publish(live(1, 2));
      world.settle();
      for (std::uint64_t number = 1; number <= 100; ++number)
        REQUIRE(over.requests().producer().publish(backfill(number, "a", {"x"})).has_value());
      world.settle();
      CHECK(over.figures().requests == 1);
      // The ingest side is blocked on the lane, and serves the request all the same.
      server serving{world, over};
      const auto asked_last = serving.receive();
      CHECK(asked_last.value().what.id.low == 100);
      CHECK_FALSE(blocked.is_done());
    });
  }

  TEST_CASE("what nobody could serve is refused, and changes nothing") {
    for_each_seed(2, [](simulation& world) {
      bench at{world};
      const auto over = at.open({.lanes = {"a", weir::lane_id{"s", "x"}}, .collections = {"x", "y"}});
      const auto asking = over.requests().producer();
      CHECK(fault(asking.publish(backfill(1, "nobody", {"x"}))) == errc::unknown_lane);
      CHECK(fault(asking.publish(backfill(1, "a", {"z"}))) == errc::unknown_collection);
      CHECK(fault(asking.publish(backfill(1, "a", {"x", "z"}))) == errc::unknown_collection);
      CHECK(fault(asking.publish(backfill(1, "a", {}))) == errc::invalid_argument);
      CHECK(fault(asking.publish(backfill(1, "s", {"y"}))) == errc::unknown_lane);
      world.settle();
      CHECK(over.idle());
      CHECK(over.figures().requests == 0);
      CHECK(asking.publish(backfill(1, "s", {"x"})).has_value());
      CHECK(asking.publish(backfill(1, "a", {"x", "y"})).has_value());
    });
  }

  TEST_CASE("retiring a sink's lane forgets what that lane asked for, and nothing else") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      auto over = at.open({.lanes = {weir::lane_id{"s", "x"}, weir::lane_id{"s", "y"}, "t"}});
      const auto asking = over.requests().producer();
      REQUIRE(asking.publish(backfill(1, "s", {"x", "y"})).has_value());
      REQUIRE(asking.publish(backfill(2, "t", {"x"})).has_value());
      REQUIRE(over.retire_lane(weir::lane_id{"s", "x"}).has_value());
      server serving{world, over};
      const auto all = serving.receive_all();
      CHECK(numbers_of(all) == numbers{1, 2});
      CHECK(all[0].what.collections == std::vector<std::string>{"y"});
      for (const auto& one : all)
        CHECK(serving.ack(one.handle).has_value());
      CHECK(over.idle());
    });
  }

  TEST_CASE("the request's id comes back on the lane: with the batches, and with the marker") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open();
      REQUIRE(over.requests().producer().publish(backfill(7, "a", {"x"})).has_value());
      server serving{world, over};
      publisher out{world, over};
      subscriber in{world, over};
      const auto running = serving.receive();
      weir::batch rows;
      rows.request = running.value().what.id;
      rows.walked = "k";
      REQUIRE(out.publish(rows).has_value());
      REQUIRE(out.publish(weir::snapshot_complete{running.value().what.id, {"x"}}).has_value());
      REQUIRE(serving.ack(running.value().handle).has_value());
      const auto all = in.receive_all();
      CHECK(std::get<weir::batch>(all[0].item).request == request_id{0, 7});
      CHECK(std::get<weir::batch>(all[0].item).walked == "k");
      CHECK(std::get<weir::snapshot_complete>(all[1].item).request == request_id{0, 7});
    });
  }
}
