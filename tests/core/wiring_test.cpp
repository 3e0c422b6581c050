#include <weir/wiring.hpp>

#include "seeds.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

using weir::wiring;

TEST_SUITE("wiring") {
  TEST_CASE("lines, branches and joins are no circles") {
    wiring lanes;
    CHECK(lanes.connect("source", "left").has_value());
    CHECK(lanes.connect("source", "right").has_value());
    CHECK(lanes.connect("left", "sink").has_value());
    CHECK(lanes.connect("right", "sink").has_value());
    CHECK(lanes.connect("source", "sink").has_value());
    CHECK(lanes.edges() == 5);
  }

  TEST_CASE("a circle is refused, its path is printed, and nothing is changed") {
    wiring lanes;
    CHECK(lanes.connect("ingest", "lane").has_value());
    CHECK(lanes.connect("ingest", "other").has_value());
    CHECK(lanes.connect("lane", "sink").has_value());
    const auto refused = lanes.connect("sink", "ingest");
    REQUIRE(!refused);
    CHECK(refused.error() == weir::errc::wait_cycle);
    CHECK(refused.error().fact_of("path") == "sink -> ingest -> lane -> sink");
    CHECK(lanes.edges() == 3);
    CHECK(lanes.connect("sink", "archive").has_value());
  }

  TEST_CASE("who would wait for itself is a circle of one") {
    wiring lanes;
    const auto refused = lanes.connect("lane", "lane");
    REQUIRE(!refused);
    CHECK(refused.error().fact_of("path") == "lane -> lane");
    CHECK(lanes.edges() == 0);
  }

  TEST_CASE("a lane that is gone no longer stands in the way; one that is there twice is gone after two goodbyes") {
    wiring lanes;
    CHECK(lanes.connect("a", "b").has_value());
    CHECK(lanes.connect("a", "b").has_value());
    lanes.disconnect("a", "b");
    CHECK_FALSE(lanes.connect("b", "a").has_value());
    lanes.disconnect("a", "c");
    lanes.disconnect("a", "b");
    lanes.disconnect("a", "b");
    CHECK(lanes.edges() == 0);
    CHECK(lanes.connect("b", "a").has_value());
  }

  TEST_CASE("a chain of fifty thousand actors is followed to its end") {
    wiring lanes;
    const int length = 50'000;
    for (int number = 0; number < length; ++number)
      REQUIRE(lanes.connect(std::to_string(number), std::to_string(number + 1)).has_value());
    CHECK_FALSE(lanes.connect(std::to_string(length), "0").has_value());
    CHECK(lanes.connect("0", std::to_string(length)).has_value());
  }

  TEST_CASE("a lane is refused exactly when its receiver reaches its sender, and the printed path is real") {
    for (const auto seed : core_tests::seeds(20)) {
      CAPTURE(core_tests::replay(seed));
      core_tests::random_source random{seed};
      constexpr std::size_t actors = 6;
      wiring lanes;
      std::multiset<std::pair<std::size_t, std::size_t>> edges;
      auto name = [](std::size_t actor) { return std::string(1, static_cast<char>('a' + actor)); };
      for (int step = 0; step < 120; ++step) {
        const std::size_t from = random.below(actors);
        const std::size_t to = random.below(actors);
        if (random.chance(40)) {
          lanes.disconnect(name(from), name(to));
          if (const auto edge = edges.find({from, to}); edge != edges.end())
            edges.erase(edge);
        } else {
          std::set<std::size_t> reached{to};
          for (bool grew = true; grew;) {
            grew = false;
            for (const auto& [tail, head] : edges)
              if (reached.contains(tail))
                grew = reached.insert(head).second || grew;
          }
          const auto connected = lanes.connect(name(from), name(to));
          REQUIRE(connected.has_value() == !reached.contains(from));
          if (connected) {
            edges.emplace(from, to);
          } else {
            const std::string path{connected.error().fact_of("path")};
            REQUIRE(path.starts_with(name(from) + " -> " + name(to)));
            REQUIRE(path.ends_with(" -> " + name(from)));
            for (std::size_t at = 5; at + 5 < path.size() + 1; at += 5)
              REQUIRE(edges.contains({static_cast<std::size_t>(path[at] - 'a'), static_cast<std::size_t>(path[at + 5] - 'a')}));
          }
        }
        REQUIRE(lanes.edges() == edges.size());
      }
    }
  }
}
