#include "actors/scripted_pipeline.hpp"

#include <doctest/doctest.h>

#include <algorithm>

// The sink engine: what it gives its destination, when it acknowledges, and what it does about failures.

using namespace std::chrono_literals;
using actor_tests::broken;
using actor_tests::for_each_seed;
using actor_tests::lines;
using actor_tests::scripted_pipeline;
using actor_tests::simulation;
using core_tests::live_with;
using core_tests::position_at;
using weir::errc;
using weir::error;
using weir::sink_policy;
using weir::sink_state;
using weir::write_outcome;

namespace {

constexpr std::uint64_t few = 8;
using times = std::vector<std::int64_t>;

write_outcome later(std::chrono::milliseconds wait) {
  write_outcome made;
  made.try_later = wait;
  return made;
}

write_outcome refusing(std::size_t item) {
  write_outcome made;
  made.rejected.push_back(weir::rejected_record{item, 0, error{errc::rejected, "not that one"}});
  return made;
}

sink_policy setting_aside(std::uint32_t failures = 5) {
  sink_policy made;
  made.on_failure = weir::failure_policy::dead_letter;
  made.failures_before_dead_letter = failures;
  return made;
}

std::optional<errc> code_of(const std::optional<error>& why) {
  return why ? std::optional{why->code()} : std::nullopt;
}

} // namespace

TEST_SUITE("sink engine: writing") {
  TEST_CASE("what is ready goes to one write, a flush follows each, and only then it is acknowledged") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.sink().writes->hold();
      at.start_sink();
      at.publish(1, {1});
      at.publish(1, {2, 3, 4, 5, 6});
      at.sink().flushes->hold();
      at.sink().writes->let_go();
      world.settle();
      CHECK(at.log->of({"a."}) == lines{"a.open", "a.write 1:1", "a.flush"});
      CHECK(at.figures().acknowledged == 0);

      at.sink().flushes->let_go();
      world.settle();
      CHECK(at.log->of({"a."}) == lines{"a.open", "a.write 1:1", "a.flush", "a.write 1:2 1:3 1:4 1:5 1:6", "a.flush"});
      CHECK(at.figures().acknowledged == 6);
      CHECK(at.sink().held() == lines{"1:1", "1:2", "1:3", "1:4", "1:5", "1:6"});
      CHECK(at.over.idle());
      CHECK(at.log->now() == 0);
    });
  }

  TEST_CASE("no more items than the policy says go to one write") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.sink().writes->hold();
      sink_policy policy;
      policy.items_per_write = 3;
      at.start_sink("a", policy);
      at.publish(1, {1});
      at.publish(1, {2, 3, 4, 5, 6});
      at.sink().writes->let_go();
      world.settle();
      CHECK(at.log->of({"a.write"}) == lines{"a.write 1:1", "a.write 1:2 1:3 1:4", "a.write 1:5 1:6"});
      CHECK(at.log->of({"a.flush"}).size() == 3);
    });
  }

  TEST_CASE("the lane ends: everything is written, and so does the engine") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.publish(1, {1, 2, 3});
      at.start_sink();
      at.over.close(weir::close_mode::drain);
      world.settle();
      CHECK(at.has_ended());
      CHECK(at.sink().held() == lines{"1:1", "1:2", "1:3"});
      CHECK(at.log->of({"a.close", "failing"}).empty());
    });
  }
}

TEST_SUITE("sink engine: failures") {
  TEST_CASE("it closes, waits 1 s, 2 s, 4 s and so on up to 60 s, opens again and gives the same; after progress 1 s again") {
    for_each_seed(12, [](simulation& world) {
      scripted_pipeline at{world};
      const auto which = world.random().below(3);
      auto& sink = at.sink();
      at.start_sink();
      world.settle();
      constexpr int failures = 8;
      sink.writes->next(broken());
      for (int count = 1; count < failures; ++count) {
        if (which == 0)
          sink.writes->next(broken());
        else if (which == 1)
          sink.flushes->next(broken());
        else
          sink.opens->next(broken());
      }
      at.publish(1, {1});
      world.advance(200s);
      CHECK(at.log->times({"a.open"}) == times{0, 1000, 3000, 7000, 15000, 31000, 63000, 123000, 183000});
      CHECK(at.log->times({"a.close"}) == times{0, 1000, 3000, 7000, 15000, 31000, 63000, 123000});
      CHECK(at.log->last({"seen.failure"}) == "seen.failure a io_failed 60000");
      CHECK(at.log->of({"seen.recovery"}).size() == (which == 2 ? 1u : 8u));
      for (const auto& written : at.log->of({"a.write"}))
        CHECK(written == "a.write 1:1");
      CHECK(at.sink().held() == lines{"1:1"});
      CHECK(at.figures().acknowledged == 1);

      at.log->clear();
      const auto from = at.log->now();
      sink.writes->next(broken());
      at.publish(1, {2});
      world.advance(999ms);
      CHECK(at.log->of({"a."}) == lines{"a.write 1:2", "a.close"});
      world.advance(1ms);
      CHECK(at.log->times({"a.open"}) == times{from + 1000});
      CHECK(at.sink().held() == lines{"1:1", "1:2"});
      CHECK(at.opened.size() == 1);
    });
  }

  TEST_CASE("nothing is acknowledged of a group whose flush failed, and all of it comes again, in order") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.sink().writes->hold();
      at.start_sink();
      at.publish(1, {1});
      at.publish(1, {2, 3, 4});
      at.sink().flushes->next(weir::success());
      at.sink().flushes->next(broken());
      at.sink().writes->let_go();
      world.settle();
      CHECK(at.figures().acknowledged == 1);
      at.log->clear();
      at.publish(1, {5}); // does not overtake
      world.advance(1s);
      REQUIRE_FALSE(at.log->of({"a.write"}).empty());
      CHECK(at.log->first({"a.write"}).starts_with("a.write 1:2"));
      CHECK(at.sink().held() == lines{"1:1", "1:2", "1:3", "1:4", "1:5"});
      CHECK(at.figures().acknowledged == 5);
    });
  }

  TEST_CASE("a destination that throws has failed, wherever it does") {
    for_each_seed(12, [](simulation& world) {
      scripted_pipeline at{world};
      const auto which = world.random().below(3);
      at.start_sink();
      world.settle();
      if (which == 0)
        at.sink().writes->next_throws("nonsense");
      else
        at.sink().flushes->next_throws("nonsense");
      if (which == 2)
        at.sink().closes->next_throws("more nonsense");
      at.publish(1, {1});
      CHECK(at.log->of({"seen.failure", "a.close"}) == lines{"a.close", "seen.failure a sink_failed 1000"});
      CHECK(at.figures().acknowledged == 0);
      world.advance(1s);
      CHECK(at.sink().held() == lines{"1:1"});
      CHECK(at.figures().acknowledged == 1);
      CHECK_FALSE(at.has_ended());
    });
  }

  TEST_CASE("a first open that fails or throws is told, once, and ends the engine") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      const auto throws = world.random().chance(50);
      if (throws)
        at.sink().opens->next_throws("nonsense");
      else
        at.sink().opens->next(broken());
      at.start_sink();
      world.settle();
      REQUIRE(at.opened.size() == 1);
      REQUIRE(at.opened.front().has_value());
      CHECK(at.opened.front()->code() == (throws ? errc::sink_failed : errc::io_failed));
      if (throws)
        CHECK(at.opened.front()->fact_of("what") == "nonsense");
      CHECK(at.has_ended());
    });
  }

  TEST_CASE("a lane that is not there is told like an open that failed") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.start_sink("nowhere");
      world.settle();
      REQUIRE(at.opened.size() == 1);
      CHECK(code_of(at.opened.front()) == errc::unknown_lane);
      CHECK(at.has_ended("nowhere"));
      CHECK(at.log->of({"nowhere."}).empty());
    });
  }

  TEST_CASE("a stop during a pause, or while the destination is overloaded, ends the engine at once") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.start_sink();
      if (world.random().chance(50))
        at.sink().writes->next(broken());
      else
        at.sink().writes->next(later(10s));
      at.publish(1, {1});
      world.advance(500ms);
      at.engine().request_stop();
      world.settle();
      CHECK(at.has_ended());
      CHECK(at.log->now() == 500);
      CHECK(at.log->of({"a.write"}).size() == 1);
      CHECK(at.log->of({"failing"}).empty());
      CHECK(at.figures().acknowledged == 0);
    });
  }
}

TEST_SUITE("sink engine: overload and refusal") {
  TEST_CASE("try later: waits for just that long, gives the same, counts as no failure, acknowledges nothing meanwhile") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.publish(1, {1, 2, 3});
      at.sink().writes->next(later(500ms));
      at.sink().writes->next(later(70s));
      at.start_sink("a", setting_aside(1));
      world.advance(499ms);
      CHECK(at.log->times({"a.write"}) == times{0});
      world.advance(1ms);
      CHECK(at.log->times({"a.write"}) == times{0, 500});
      world.advance(69s);
      CHECK(at.figures().acknowledged == 0);
      CHECK(at.log->of({"a.flush"}).empty());
      world.advance(1s);
      CHECK(at.log->times({"a.write"}) == times{0, 500, 70500});
      const auto written = at.log->of({"a.write"});
      REQUIRE(written.size() == 3);
      CHECK(written == lines(3, written.front()));
      CHECK(at.log->of({"seen.overload"}) == lines{"seen.overload a 500", "seen.overload a 70000"});
      CHECK(at.log->of({"a.close", "seen.failure", "letters"}).empty());
      world.settle();
      CHECK(at.figures().acknowledged == 3);
    });
  }

  TEST_CASE("refused under stop: nothing is flushed or set aside, and the same comes again") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.sink().writes->hold();
      at.start_sink();
      at.publish(1, {1});
      at.publish(1, {2, 3});
      at.sink().writes->next(write_outcome{});
      at.sink().writes->next(refusing(1));
      at.sink().writes->let_go();
      world.settle();
      CHECK(at.log->of({"a."}) == lines{"a.open", "a.write 1:1", "a.flush", "a.write 1:2 1:3", "a.close"});
      CHECK(at.log->of({"seen.failure"}) == lines{"seen.failure a rejected 1000"});
      CHECK(at.letters->added.empty());
      CHECK(at.figures().acknowledged == 1);
      at.log->clear();
      world.advance(1s);
      CHECK(at.log->first({"a.write"}).starts_with("a.write 1:2"));
      CHECK(at.sink().held() == lines{"1:1", "1:2", "1:3"});
    });
  }

  TEST_CASE("refused under dead_letter: set aside after the flush, with reason and position, and all is acknowledged then") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.sink().writes->hold();
      at.start_sink("a", setting_aside());
      at.publish(1, {1});
      at.publish(1, {2, 3, 4});
      at.sink().writes->next(write_outcome{});
      at.sink().writes->next(refusing(1));
      at.letters->adds->hold();
      at.sink().writes->let_go();
      world.settle();
      CHECK(at.log->of({"a.", "letters"})
            == lines{"a.open", "a.write 1:1", "a.flush", "a.write 1:2 1:3 1:4", "a.flush", "letters.add a rejected 1:3"});
      CHECK(at.figures().acknowledged == 1);
      at.letters->adds->let_go();
      world.settle();
      CHECK(at.figures().acknowledged == 4);
      CHECK(at.log->of({"seen."}) == lines{"seen.letters a 1"});
      REQUIRE(at.letters->added.size() == 1);
      CHECK(at.letters->added.front().record.has_value());
      CHECK(at.letters->added.front().reason.sentence() == "not that one");
    });
  }

  TEST_CASE("dead letters that can't be kept are a failure: nothing is acknowledged, and the same comes again") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world, {.has_letters = world.random().chance(50)}};
      at.start_sink("a", setting_aside());
      at.sink().writes->next(refusing(0));
      at.letters->adds->next(broken());
      at.publish(1, {1});
      CHECK(at.log->of({"a.close"}).size() == 1);
      CHECK(at.figures().acknowledged == 0);
      world.advance(1s);
      CHECK(at.log->of({"a.write"}) == lines{"a.write 1:1", "a.write 1:1"});
      CHECK(at.figures().acknowledged == 1);
    });
  }

  TEST_CASE("an item that failed too often is tried alone, then set aside, and its neighbours are written") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.sink().writes->hold();
      at.start_sink("a", setting_aside(2));
      at.publish(1, {1});
      at.publish(1, {2, 3, 4});
      at.sink().poison = "1:3";
      at.sink().writes->let_go();
      world.advance(120s);
      CHECK(at.log->of({"letters"}) == lines{"letters.add a sink_failed 1:3"});
      CHECK(at.sink().held() == lines{"1:1", "1:2", "1:3 empty", "1:4"});
      CHECK(at.figures().acknowledged == 4);
      CHECK(at.over.idle());
      // Two failures are allowed; whatever came before the third was given with its neighbours.
      const auto written = at.log->of({"a.write"});
      REQUIRE(written.size() >= 4);
      CHECK(written[1].starts_with("a.write 1:2 1:3"));
      CHECK(written[2].starts_with("a.write 1:2 1:3"));
      CHECK(written[3] == "a.write 1:2");
      CHECK(std::ranges::find(written, "a.write 1:3") != written.end());
    });
  }

  TEST_CASE("so often, and no sooner: a single item fails three times where two are allowed") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.start_sink("a", setting_aside(2));
      at.sink().poison = "1:1";
      at.publish(1, {1});
      world.advance(2999ms);
      CHECK(at.log->times({"a.write"}) == times{0, 1000});
      CHECK(at.letters->added.empty());
      world.advance(1ms);
      CHECK(at.log->times({"a.write"}) == times{0, 1000, 3000, 3000});
      CHECK(at.letters->added.size() == 1);
      CHECK(at.figures().acknowledged == 1);
      CHECK(at.sink().held() == lines{"1:1 empty"}); // it has moved on all the same
    });
  }

  TEST_CASE("a destination that fails whatever it is given sets nothing aside") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.start_sink("a", setting_aside(2));
      at.sink().writes->usual = broken();
      at.publish(1, {1, 2});
      world.advance(300s);
      CHECK(at.letters->added.empty());
      CHECK(at.figures().acknowledged == 0);
      at.sink().writes->usual = write_outcome{};
      world.advance(60s);
      CHECK(at.letters->added.empty());
      CHECK(at.sink().held() == lines{"1:1", "1:2"});
      CHECK(at.over.idle());
    });
  }

  TEST_CASE("a full disk sets nothing aside, though an empty batch would still fit") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.start_sink("a", setting_aside(1));
      for (int times = 0; times < 4; ++times)
        at.sink().writes->next(error{errc::storage_full, "no room"});
      at.publish(1, {1});
      world.advance(300s);
      CHECK(at.letters->added.empty());
      CHECK(at.sink().held() == lines{"1:1"});
      CHECK(at.over.idle());
    });
  }

  TEST_CASE("dead letters are kept once, however often the flush behind them fails") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.start_sink("a", setting_aside(1));
      at.sink().poison = "1:1";
      at.sink().flushes->usual = broken();
      at.publish(1, {1});
      world.advance(300s);
      CHECK(at.letters->added.size() == 1);
      CHECK(at.figures().acknowledged == 0);
      at.sink().flushes->usual = weir::success();
      world.advance(60s);
      CHECK(at.letters->added.size() == 1);
      CHECK(at.sink().held() == lines{"1:1 empty"});
      CHECK(at.over.idle());
    });
  }

  TEST_CASE("an exact destination is not behind for what was set aside") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      sink_state exact;
      exact.is_exact = true;
      at.sink().opens->usual = exact;
      at.start_sink("a", setting_aside(1));
      at.sink().poison = "1:1";
      at.publish(1, {1});
      world.advance(1s);
      CHECK(at.letters->added.size() == 1);
      exact.committed = position_at(1, 1);
      at.sink().opens->usual = exact;
      at.sink().writes->next(broken());
      at.publish(1, {2});
      world.advance(10s);
      CHECK(at.sink().held() == lines{"1:1 empty", "1:2"});
      CHECK(at.over.idle());
    });
  }

  TEST_CASE("a marker is never set aside: its backfill would not end") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.start_sink("a", setting_aside(1));
      at.sink().poison = "complete";
      at.publish({core_tests::marker()});
      world.advance(300s);
      CHECK(at.letters->added.empty());
      CHECK(at.figures().acknowledged == 0);
      at.sink().poison.clear();
      world.advance(60s);
      CHECK(at.over.idle());
    });
  }
}
