#include <weir/cli/scoreboard.hpp>

#include <doctest/doctest.h>

namespace {

using namespace weir;
using namespace weir::cli;
using namespace std::chrono_literals;

position place(std::uint64_t epoch, std::uint64_t seq) {
  return {epoch, seq, {}, 0, true};
}

stream_figures lanes(std::uint64_t published, std::uint64_t acknowledged) {
  stream_figures figures;
  figures.lanes.push_back({.id = "a", .published = published, .acknowledged = acknowledged});
  figures.charged_bytes = 4'096;
  return figures;
}

std::vector<std::string> messages(scoreboard& score) {
  std::vector<std::string> all;
  for (const auto& event : score.take_events())
    all.push_back(event.message);
  return all;
}

TEST_CASE("the figures follow what the engines tell") {
  scoreboard score{{"a", "b"}, std::nullopt};
  auto now = score.now(5s, lanes(0, 0));
  CHECK(now.elapsed == 5s);
  CHECK(now.changes == 0);
  CHECK(now.lag == 0);
  score.on_read(10, place(1, 4));
  score.on_read(5, place(1, 7));
  CHECK_FALSE(score.now(5s, lanes(0, 0)).lag.has_value());
  score.on_confirmed(place(1, 5));
  score.on_written("a", 10);
  score.on_written("nobody", 10);
  now = score.now(5s, lanes(9, 7));
  CHECK(now.changes == 15);
  CHECK(now.lag == 2);
  CHECK(now.bytes_held == 4'096);
  REQUIRE(now.lanes.size() == 2);
  CHECK(now.lanes[0] == lane_standing{"a", 2, lane_state::flowing});
  CHECK(now.lanes[1] == lane_standing{"b", 0, lane_state::flowing});
  CHECK(score.changes() == 15);
  CHECK(score.confirmed() == place(1, 5));
  CHECK(score.written() == std::vector<std::pair<std::string, std::uint64_t>>{{"a", 10}, {"b", 0}});
}

TEST_CASE("across epochs there is no telling how far behind") {
  scoreboard score{{"a"}, place(1, 90)};
  score.on_read(1, place(1, 95));
  CHECK(score.now(0ms, {}).lag == 5);
  score.on_read(1, place(2, 3));
  CHECK_FALSE(score.now(0ms, {}).lag.has_value());
  CHECK(messages(score) == std::vector<std::string>{"the source has opened a new epoch"});
  score.on_confirmed(place(2, 3));
  CHECK(score.now(0ms, {}).lag == 0);
}

TEST_CASE("a lane shows what its sink is at") {
  scoreboard score{{"a"}, std::nullopt};
  const auto state = [&] { return score.now(0ms, {}).lanes[0].state; };
  score.on_backfill("a", false);
  CHECK(state() == lane_state::filling);
  score.on_failure("a", error{errc::storage_full, "no room"}, 2s);
  CHECK(state() == lane_state::waiting);
  score.on_recovery("a");
  CHECK(state() == lane_state::filling);
  score.on_backfill("a", true);
  CHECK(state() == lane_state::flowing);
  score.on_overload("a", 50ms);
  CHECK(state() == lane_state::waiting);
  score.on_written("a", 1);
  CHECK(state() == lane_state::flowing);
  CHECK(messages(score)
        == std::vector<std::string>{"the backfill of a has begun", "the sink a failed, next try in 2s: no room",
          "the sink a is open again", "the backfill of a is complete", "the sink a asks to be left alone for a while"});
  CHECK(messages(score).empty());
}

TEST_CASE("an overload that goes on is told once") {
  scoreboard score{{"a"}, std::nullopt};
  for (int round = 0; round < 5; ++round)
    score.on_overload("a", 50ms);
  CHECK(messages(score).size() == 1);
}

TEST_CASE("dead letters are counted and told with the first reason") {
  scoreboard score{{"a"}, std::nullopt};
  score.on_dead_letters("source", 3, error{errc::bad_record, "line 5: no", {{"line", "5"}}});
  CHECK(score.dead_letters() == 3);
  const auto events = score.take_events();
  REQUIRE(events.size() == 1);
  CHECK(events[0].level == severity::warning);
  CHECK(events[0].message == "3 records of source went to the dead letters: line 5: no");
  CHECK(events[0].facts == std::vector<std::pair<std::string, std::string>>{{"code", "bad_record"}, {"line", "5"}});
}

TEST_CASE("what can't be announced is told") {
  scoreboard score{{"a"}, std::nullopt};
  score.on_unannounced("a", error{errc::bus_full, "too much is on its way"});
  const auto events = score.take_events();
  REQUIRE(events.size() == 1);
  CHECK(events[0].level == severity::warning);
  CHECK(events[0].message == "the sink a can't announce what it has committed: too much is on its way");
}

TEST_CASE("only standard output fails for good, and only when its reader has gone") {
  scoreboard score{{"a", "screen"}, std::nullopt, "screen"};
  score.on_failure("a", error{errc::sink_failed, "no"}, 1s);
  score.on_failure("screen", error{errc::storage_full, "no"}, 1s);
  CHECK_FALSE(score.final_failure().has_value());
  score.on_failure("screen", error{errc::sink_failed, "gone"}, 1s);
  REQUIRE(score.final_failure().has_value());
  CHECK(score.final_failure()->sentence() == "gone");
  CHECK(messages(score).size() == 2);
}

TEST_CASE("events that nobody takes do not pile up") {
  scoreboard score{{"a"}, std::nullopt};
  for (int round = 0; round < 1'000; ++round)
    score.on_recovery("a");
  const auto events = score.take_events();
  CHECK(events.size() == 257);
  CHECK(events.back().message == "744 events left out of the log");
}

} // namespace
