#include "conformance/durable/durable_place.hpp"

#include <algorithm>

// A log whose calls fail: in passing, for too long, and for good.

using namespace std::chrono_literals;
using namespace durable_suite;
using namespace stream_suite;
using core_tests::live;
using core_tests::position_at;
using weir::errc;
using weir::self;
using weir::task;

namespace {

constexpr std::uint64_t few = 6;

using reading = weir::result<weir::watermark_reading>;

task<reading> reach(self, weir::stream over, weir::position wanted) {
  auto op = over.watermark().reaches(wanted);
  auto reached = co_await op;
  co_return reached;
}

task<outcome> serve(self, weir::stream over) {
  auto end = over.requests().consumer();
  auto receiving = end.receive();
  auto asked = co_await receiving;
  outcome served = asked ? weir::success() : outcome{asked.error()};
  co_return served;
}

/// Every kind of end, in use: what becomes of them when the stream fails.
class all_ends {
public:
  explicit all_ends(process& only) : only_{only} {
    only.world().settle();
    REQUIRE(a.take(5) == up_to(5));
    parked_ = a.begin_receive();
    reaching_.emplace(watcher.begin(reach, only.stream(), position_at(9, 9)));
    serving_.emplace(server.begin(serve, only.stream()));
    only.world().settle();
  }

  bool wait() { return !parked_->is_done() && !reaching_->is_done() && !serving_->is_done(); }

  void check_failed(errc code) {
    for (const auto& why : {parked_->value().error(), reaching_->value().error(), serving_->value().error()})
      check(why, code);
    // Whoever comes later hears the same.
    check(a.receive().error(), code);
    check(watcher.complete(watcher.begin(reach, only_.stream(), position_at(9, 9))).error(), code);
    check(server.complete(server.begin(serve, only_.stream())).error(), code);
    subscriber late{only_.world(), only_.stream(), "b"};
    check(late.receive().error(), code);
    publisher later{only_.world(), only_.stream()};
    check(later.publish(live(1, 100)).error(), code);
  }

  static void check(const weir::error& why, errc code) {
    CHECK(why.code() == code);
    CHECK(why.sentence() == "the test wants it to fail");
  }

private:
  process& only_;
  subscriber a{only_.world(), only_.stream(), "a"};
  script watcher{only_.world(), "watcher"};
  script server{only_.world(), "server"};
  std::optional<pending<weir::result<arrival>>> parked_;
  std::optional<pending<reading>> reaching_;
  std::optional<pending<outcome>> serving_;
};

weir::durable::options impatient(std::vector<weir::lane_id> names = {"a", "b"}) {
  auto wanted = lanes(std::move(names));
  wanted.log.give_up_after = 1s;
  return wanted;
}

/// Publishes a few to each of both lanes, all of them stored.
void publish_stored(publisher& out, std::uint64_t last, std::uint64_t first = 1) {
  for (const auto seq : up_to(last, first))
    for (const auto& published : out.publish_all(live(1, seq)))
      REQUIRE(published);
}

} // namespace

TEST_SUITE("durable: faults") {
  TEST_CASE("appends that fail in passing are tried again, in order: nothing is lost, nothing there twice") {
    for (const auto code : {errc::io_failed, errc::storage_full, errc::in_use, errc::timed_out}) {
      auto wanted = lanes({"a"});
      wanted.log.line_items = 7;
      for_each_process(few, wanted, [&](durable_place& at, process& only) {
        CAPTURE(name_of(code));
        auto& world = only.world();
        publisher out{world, only.stream()};
        std::vector<pending<outcome>> offered;
        for (const auto seq : up_to(100)) {
          offered.push_back(out.begin_publish(live(1, seq)));
          for (auto steps = world.random().below(20); steps != 0; --steps)
            world.step();
          if (world.random().chance(10))
            only.log().fail(log_call::append, code, world.random().between(1, 5));
          if (world.random().chance(20))
            world.advance(5ms);
        }
        world.advance(1h);
        for (auto& one : offered)
          REQUIRE(!fault(one.value()));
        CHECK(bounds_of(at).head == 101);
        CHECK(!only.stream().trouble());
        subscriber in{world, only.stream()};
        CHECK(in.take(100) == up_to(100));
      });
    }
  }

  TEST_CASE("appends that fail for too long, or for good: every end wakes with the log's error, and what is stored is there") {
    for (const auto code : {errc::storage_full, errc::corrupt}) {
      auto wanted = impatient();
      wanted.log.line_items = 2;
      for_each_process(few, wanted, [&](durable_place& at, process& only) {
        CAPTURE(name_of(code));
        publisher out{only.world(), only.stream(), {"a", "b"}};
        publish_stored(out, 5);
        CHECK(only.stream().figures().unstored == 0);
        CHECK(!only.stream().failure());
        all_ends ends{only};
        only.log().fail_for_good(log_call::append, code);
        std::vector<pending<std::vector<outcome>>> offered;
        for (const auto seq : up_to(9, 6))
          offered.push_back(out.begin_publish_all(live(1, seq)));
        only.world().settle();
        CHECK(only.stream().figures().unstored > 0);
        if (is_passing(code)) {
          REQUIRE(only.stream().trouble());
          CHECK(only.stream().trouble()->code() == code);
          only.world().advance(500ms);
          CHECK(ends.wait());
          CHECK_FALSE(offered.back().is_done());
          only.world().advance(1s);
        }
        REQUIRE(offered.back().is_done());
        for (const auto& published : offered.back().value())
          all_ends::check(published.error(), code);
        CHECK(offered.back().value()[0].error().fact_of("topic") == "stream");
        REQUIRE(only.stream().failure());
        CHECK(only.stream().failure()->code() == code);
        CHECK(!only.stream().trouble()); // it is not tried again
        ends.check_failed(code);
        for (const auto& published : out.publish_all(live(1, 10)))
          all_ends::check(published.error(), code);
        CHECK(bounds_of(at).head == 6);
        only.kill();

        process next{at, 2, wanted};
        CHECK(next.opened().resume == position_at(1, 5));
        publisher again{next.world(), next.stream(), {"a", "b"}};
        publish_stored(again, 9, 6);
        subscriber b{next.world(), next.stream(), "b"};
        CHECK(b.take(9) == up_to(9));
      });
    }
  }

  TEST_CASE("also where no lane is left") {
    for_each_process(few, impatient({"a"}), [&](durable_place&, process& only) {
      script watcher{only.world(), "watcher"};
      script server{only.world(), "server"};
      auto reaching = watcher.begin(reach, only.stream(), position_at(9, 9));
      auto serving = server.begin(serve, only.stream());
      only.world().settle();
      only.log().fail_for_good(log_call::drop, errc::corrupt);
      REQUIRE(only.stream().retire_lane("a"));
      only.world().settle();
      REQUIRE(reaching.is_done());
      REQUIRE(serving.is_done());
      all_ends::check(reaching.value().error(), errc::corrupt);
      all_ends::check(serving.value().error(), errc::corrupt);
    });
  }

  TEST_CASE("a stream that has failed ends like any other") {
    for_each_process(few, impatient(), [&](durable_place& at, process& only) {
      publisher out{only.world(), only.stream(), {"a", "b"}};
      publish_stored(out, 3);
      only.log().fail_for_good(log_call::append, errc::io_failed);
      (void)out.publish_all(live(1, 4));
      only.world().advance(2s);
      CHECK(fault(out.publish(live(1, 5))) == errc::io_failed);
      REQUIRE(only.stream().retire_lane("b"));
      REQUIRE(only.stream().add_lane("c", std::nullopt));
      subscriber c{only.world(), only.stream(), "c"};
      CHECK(fault(c.receive()) == errc::io_failed);
      only.stream().close(weir::close_mode::drain);
      only.world().settle();
      only.log().mend(log_call::append);
      only.leave();
      CHECK(bounds_of(at).head == 4);
      CHECK(checkpoints_of(at).size() == 2); // nothing is forgotten of one that can't be stored
    });
  }

  TEST_CASE("requests that can't be stored fail the stream, too") {
    for_each_process(few, impatient(), [&](durable_place&, process& only) {
      publisher out{only.world(), only.stream(), {"a", "b"}};
      publish_stored(out, 5);
      REQUIRE(only.stream().requests().producer().publish({.id = {7, 1}, .sink = "a", .collections = {"x"}}));
      only.log().fail(log_call::append, errc::io_failed, 3, "stream.requests");
      only.world().advance(1s);
      REQUIRE(out.publish(live(1, 6)));
      only.log().fail_for_good(log_call::append, errc::read_only, "stream.requests");
      REQUIRE(only.stream().requests().producer().publish({.id = {7, 2}, .sink = "a", .collections = {"y"}}));
      only.world().advance(2s);
      CHECK(fault(out.publish(live(1, 7))) == errc::read_only);
    });
  }

  TEST_CASE("checkpoints that fail in passing: acknowledgements go on, and the watermark follows later") {
    for_each_process(few, impatient(), [&](durable_place& at, process& only) {
      publisher out{only.world(), only.stream(), {"a", "b"}};
      publish_stored(out, 10);
      subscriber a{only.world(), only.stream(), "a"};
      subscriber b{only.world(), only.stream(), "b"};
      only.log().fail_for_good(log_call::commit, errc::in_use);
      CHECK(a.take(10) == up_to(10));
      CHECK(b.take(10) == up_to(10));
      only.world().advance(900ms);
      CHECK(!read_watermark(only.world(), only.stream()).watermark);
      CHECK(only.stream().trouble());
      publish_stored(out, 11, 11);
      only.log().mend(log_call::commit);
      only.world().advance(1s);
      CHECK(!only.stream().trouble());
      CHECK(read_watermark(only.world(), only.stream()).watermark == position_at(1, 10));
      CHECK(a.take(1) == numbers{11});
      only.log().fail(log_call::commit, errc::io_failed, 3);
      CHECK(b.take(1) == numbers{11});
      only.world().advance(1s); // patience begins again
      CHECK(read_watermark(only.world(), only.stream()).watermark == position_at(1, 11));
      for (const auto& one : checkpoints_of(at))
        CHECK(one.offsets.front() == 11);
    });
  }

  TEST_CASE("checkpoints that fail for too long, or for good, fail the stream; what was acknowledged comes again") {
    for (const auto code : {errc::io_failed, errc::corrupt})
      for_each_process(few, impatient(), [&](durable_place& at, process& only) {
        CAPTURE(name_of(code));
        publisher out{only.world(), only.stream(), {"a", "b"}};
        publish_stored(out, 5);
        all_ends ends{only};
        only.log().fail_for_good(log_call::commit, code);
        {
          subscriber b{only.world(), only.stream(), "b"};
          CHECK(b.ack(b.receive().value().handle));
        }
        only.world().settle();
        CHECK(ends.wait() == is_passing(code));
        only.world().advance(3s);
        ends.check_failed(code);
        const auto refused = out.publish(live(1, 6));
        all_ends::check(refused.error(), code);
        CHECK(refused.error().fact_of("lane") == "b");
        only.kill();
        process next{at, 2, impatient()};
        subscriber again{next.world(), next.stream(), "b"};
        CHECK(again.take(5) == up_to(5));
      });
  }

  TEST_CASE("a retired lane whose checkpoint can't be dropped in passing is forgotten later") {
    for_each_process(few, impatient(), [&](durable_place& at, process& only) {
      publisher out{only.world(), only.stream(), {"a", "b"}};
      publish_stored(out, 3);
      only.log().fail_for_good(log_call::drop, errc::in_use);
      REQUIRE(only.stream().retire_lane("b"));
      REQUIRE(only.stream().add_lane("b", position_at(1, 3)));
      only.world().advance(500ms);
      REQUIRE(out.publish(live(1, 4)));
      CHECK(checkpoints_of(at).size() == 2);
      only.log().mend(log_call::drop);
      only.world().advance(1s);
      subscriber b{only.world(), only.stream(), "b"};
      publisher to_b{only.world(), only.stream(), {"b"}};
      REQUIRE(to_b.publish(live(1, 4)));
      CHECK(b.take(1) == numbers{4});
      only.world().settle();
      CHECK(checkpoints_of(at)[1].offsets.front() == 5);
    });
  }

  TEST_CASE("reads that fail in passing are tried again") {
    auto wanted = impatient();
    wanted.log.recent_bytes = 1;
    wanted.bound.items = 3;
    for_each_process(few, wanted, [&](durable_place&, process& only) {
      publisher out{only.world(), only.stream(), {"a", "b"}};
      publish_stored(out, 20);
      only.log().fail(log_call::read, errc::io_failed, 6);
      numbers taken;
      subscriber a{only.world(), only.stream(), "a"};
      for (int times = 0; times < 40; ++times) {
        for (const auto& one : a.receive_all()) {
          taken.push_back(one.seq());
          CHECK(a.ack(one.handle));
        }
        only.world().advance(100ms);
      }
      CHECK(taken == up_to(20));
      subscriber b{only.world(), only.stream(), "b"};
      CHECK(b.take(20) == up_to(20));
    });
  }

  TEST_CASE("reads that fail for too long, or for good, end that lane's consumer alone") {
    for (const auto code : {errc::io_failed, errc::corrupt_entry}) {
      auto wanted = impatient();
      wanted.log.recent_bytes = 1;
      wanted.bound.items = 3;
      for_each_process(few, wanted, [&](durable_place& at, process& only) {
        CAPTURE(name_of(code));
        publisher out{only.world(), only.stream(), {"a", "b"}};
        subscriber a{only.world(), only.stream(), "a"};
        for (const auto seq : up_to(20)) {
          publish_stored(out, seq, seq);
          CHECK(a.take(1) == numbers{seq});
        }
        only.log().fail_for_good(log_call::read, code);
        subscriber b{only.world(), only.stream(), "b"};
        for (const auto& one : b.receive_all())
          CHECK(b.ack(one.handle));
        only.world().advance(3s);
        only.log().mend(log_call::read);
        only.world().advance(3s);
        const auto ended = b.receive();
        REQUIRE(!ended);
        all_ends::check(ended.error(), code);
        CHECK(ended.error().fact_of("lane") == "b");
        CHECK(ended.error().fact_of("topic") == "stream");
        publish_stored(out, 30, 21);
        CHECK(a.take(10) == up_to(30, 21));
        only.world().settle();
        only.kill();
        process next{at, 2, wanted};
        subscriber again{next.world(), next.stream(), "b"};
        CHECK(seqs(again.receive_all()).size() == 3);
        subscriber other{next.world(), next.stream(), "a"};
        CHECK(other.is_empty());
      });
    }
  }
}
