#include "actors/scripted_pipeline.hpp"

#include <doctest/doctest.h>

#include <algorithm>

// The sink engine: the backfills it asks for, and destinations that have lost something.

using namespace std::chrono_literals;
using actor_tests::broken;
using actor_tests::for_each_seed;
using actor_tests::lines;
using actor_tests::scripted_pipeline;
using actor_tests::simulation;
using core_tests::position_at;
using weir::errc;
using weir::error;
using weir::sink_state;

namespace {

constexpr std::uint64_t few = 8;

weir::lane_item marker_of(weir::request_id id) {
  return weir::snapshot_complete{id, {"files"}};
}

std::optional<errc> code_of(const std::optional<error>& why) {
  return why ? std::optional{why->code()} : std::nullopt;
}

} // namespace

TEST_SUITE("sink engine: backfills") {
  TEST_CASE("not seeded: the destination is told first, then the request is published, after what is committed") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world, {.collections = {"files", "users"}}};
      at.sink().holds_state = true;
      const bool has_some = world.random().chance(50);
      if (has_some)
        at.sink().opens->usual = sink_state{.committed = position_at(3, 5)};
      at.sink().begins->hold();
      at.start_sink();
      world.settle();
      CHECK(at.log->of({"a."}) == lines{"a.open", has_some ? "a.backfill 3" : "a.backfill 1"});
      CHECK(at.over.figures().requests == 0);
      CHECK(at.opened.empty());
      at.sink().begins->let_go();
      world.settle();
      CHECK(at.opened.size() == 1);
      const auto asked = at.next_request();
      REQUIRE(asked.has_value());
      CHECK(asked->id == at.sink().begun.at(0).id);
      CHECK(asked->sink == "a");
      CHECK(asked->collections == lines{"files", "users"});
      CHECK(asked->not_before == (has_some ? std::optional{position_at(3, 5)} : std::nullopt));
      CHECK_FALSE(asked->after.has_value());
      CHECK_FALSE(at.next_request().has_value());
    });
  }

  TEST_CASE("an unfinished backfill goes on where it was") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.sink().holds_state = true;
      const bool is_first = world.random().chance(50);
      at.sink().opens->usual = sink_state{.committed = position_at(2, 5),
        .seeded_epoch = is_first ? std::nullopt : std::optional<std::uint64_t>{1},
        .unfinished = weir::unfinished_backfill{weir::request_id{7, 8}, "k3"}};
      at.start_sink();
      world.settle();
      CHECK(at.log->of({"a."}) == lines{"a.open", "a.backfill 2 after k3"});
      const auto asked = at.next_request();
      REQUIRE(asked.has_value());
      CHECK(asked->id == weir::request_id{7, 8});
      CHECK(asked->after == "k3");
    });
  }

  TEST_CASE("nobody asks where the state is complete, where none is held, and where no collections are named") {
    for_each_seed(few, [](simulation& world) {
      const auto which = world.random().below(3);
      scripted_pipeline at{world, {.collections = which == 0 ? lines{} : lines{"files"}}};
      at.sink().holds_state = which != 1;
      if (which == 2)
        at.sink().opens->usual = sink_state{.committed = position_at(1, 5), .seeded_epoch = 1};
      at.start_sink();
      at.publish(1, {6, 7});
      CHECK(at.log->of({"a.backfill"}).empty());
      CHECK(at.over.figures().requests == 0);
      CHECK(at.sink().held() == lines{"1:6", "1:7"});
    });
  }

  TEST_CASE("a destination that was seeded in an older epoch than it has committed is seeded anew") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.sink().holds_state = true;
      at.sink().opens->usual = sink_state{.committed = position_at(2, 7), .seeded_epoch = 1};
      at.start_sink();
      world.settle();
      CHECK(at.log->of({"a."}) == lines{"a.open", "a.backfill 2"});
      CHECK(at.next_request().has_value());
    });
  }

  TEST_CASE("a batch of a higher epoch asks anew also where it is tried alone, and set aside") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.sink().holds_state = true;
      at.sink().opens->usual = sink_state{.committed = position_at(1, 5), .seeded_epoch = 1};
      weir::sink_policy policy;
      policy.on_failure = weir::failure_policy::dead_letter;
      policy.failures_before_dead_letter = 1;
      at.start_sink("a", policy);
      at.sink().poison = "2:1";
      at.publish(2, {1});
      world.advance(60s);
      CHECK(at.log->of({"a.backfill", "a.write"})
            == lines{"a.backfill 2", "a.write 2:1", "a.backfill 2", "a.write 2:1", "a.write 2:1 empty"});
      CHECK(at.letters->added.size() == 1);
      CHECK(at.sink().held() == lines{"2:1 empty"});
    });
  }

  TEST_CASE("a batch of a higher epoch asks anew before it is written, once") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.sink().holds_state = true;
      at.sink().opens->usual = sink_state{.committed = position_at(1, 5), .seeded_epoch = 1};
      at.sink().writes->hold();
      at.start_sink();
      at.publish(1, {6});
      at.publish(1, {7, 8});
      at.publish(2, {1, 2});
      at.sink().writes->let_go();
      world.settle();
      CHECK(
        at.log->of({"a.write", "a.backfill"}) == lines{"a.write 1:6", "a.write 1:7 1:8", "a.backfill 2", "a.write 2:1 2:2"});
      at.publish(2, {3});
      const auto asked = at.next_request();
      REQUIRE(asked.has_value());
      CHECK_FALSE(at.next_request().has_value());

      at.publish(std::vector{marker_of({99, 99})}); // another's
      CHECK(at.log->of({"seen.backfill"}) == lines{"seen.backfill a begun"});
      at.publish(std::vector{marker_of(asked->id)});
      CHECK(at.log->of({"seen.backfill"}) == lines{"seen.backfill a begun", "seen.backfill a complete"});
      at.publish(2, {4});
      CHECK(at.log->of({"a.backfill"}).size() == 1);
      at.publish(3, {1});
      CHECK(at.log->of({"a.backfill"}) == lines{"a.backfill 2", "a.backfill 3"});
    });
  }

  TEST_CASE("a destination that can't begin a backfill has failed: later it is told again, and only then the request comes") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.sink().holds_state = true;
      at.sink().opens->usual = sink_state{.committed = position_at(1, 5), .seeded_epoch = 1};
      if (world.random().chance(50))
        at.sink().begins->next(broken());
      else
        at.sink().begins->next_throws("nonsense");
      at.start_sink();
      at.publish(2, {1});
      CHECK(at.log->of({"a."}) == lines{"a.open", "a.backfill 2", "a.close"});
      CHECK(at.over.figures().requests == 0);
      world.advance(1s);
      CHECK(at.over.figures().requests == 1);
      CHECK(at.sink().held() == lines{"2:1"});
    });
  }
}

TEST_SUITE("sink engine: destinations that have lost something") {
  TEST_CASE("less than was confirmed: seeded anew although it was complete, without resuming what it had begun") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world, {.confirmed = position_at(2, 10)}};
      at.sink().holds_state = true;
      at.sink().opens->usual = sink_state{.committed = position_at(1, 7),
        .seeded_epoch = 2,
        .unfinished = weir::unfinished_backfill{weir::request_id{7, 8}, "k3"},
        .is_exact = true};
      at.start_sink();
      world.settle();
      CHECK(at.log->of({"a."}) == lines{"a.open", "a.backfill 2"});
      const auto asked = at.next_request();
      REQUIRE(asked.has_value());
      CHECK(asked->not_before == position_at(2, 10));
      CHECK_FALSE(asked->after.has_value());
      CHECK(code_of(at.opened.at(0)) == std::nullopt);
    });
  }

  TEST_CASE("where nobody can seed it, opening fails with sink_behind") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world, {.collections = {}, .confirmed = position_at(2, 10)}};
      at.sink().holds_state = world.random().chance(50);
      at.sink().opens->usual = sink_state{.committed = position_at(2, 9), .seeded_epoch = 2, .is_exact = true};
      at.start_sink();
      world.settle();
      CHECK(code_of(at.opened.at(0)) == errc::sink_behind);
      CHECK(at.has_ended());
    });
  }

  TEST_CASE("one that is not exact, or holds all, is taken as it is") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world, {.collections = {}, .confirmed = position_at(2, 10)}};
      const bool is_exact = world.random().chance(50);
      at.sink().opens->usual = sink_state{.committed = position_at(2, is_exact ? 10 : 9), .is_exact = is_exact};
      at.start_sink();
      world.settle();
      REQUIRE(at.opened.size() == 1);
      CHECK(code_of(at.opened.front()) == std::nullopt);
      CHECK_FALSE(at.has_ended());
    });
  }

  TEST_CASE("what was acknowledged since and is gone after a failure ends the engine, and says so") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.sink().opens->usual = sink_state{.is_exact = true};
      at.start_sink();
      at.publish(1, {1, 2});
      CHECK(at.figures().acknowledged == 2);
      at.sink().writes->next(broken());
      at.publish(1, {3});
      at.sink().opens->next(sink_state{.committed = position_at(1, 1), .is_exact = true});
      world.advance(1s);
      CHECK(at.log->of({"failing"}) == lines{"failing a sink_behind"});
      CHECK(at.has_ended());
      CHECK(at.opened.size() == 1);
    });
  }
}
