#include <weir/watermark_table.hpp>

#include "seeds.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

using weir::lane_floor;
using weir::position;
using weir::watermark_table;

namespace {

position at(std::uint64_t epoch, std::uint64_t seq, bool ends_transaction = true) {
  return {.epoch = epoch, .seq = seq, .stamp = {}, .time = 0, .ends_transaction = ends_transaction};
}

lane_floor floor_at(std::uint64_t epoch, std::uint64_t seq) {
  return {at(epoch, seq), at(epoch, seq)};
}

/// A position as a number whose order says what covers what: an open part comes before its transaction's end.
using place = std::tuple<std::uint64_t, std::uint64_t, bool>;

std::optional<place> place_of(const std::optional<position>& one) {
  return one ? std::optional<place>{{one->epoch, one->seq, one->ends_transaction}} : std::nullopt;
}

} // namespace

TEST_SUITE("watermark") {
  TEST_CASE("it is the minimum of the lanes' floors") {
    watermark_table table;
    CHECK_FALSE(table.watermark().has_value()); // no lanes
    CHECK(table.add(1, floor_at(1, 5)));
    CHECK(table.add(2, floor_at(1, 3)));
    CHECK(table.watermark() == at(1, 3));
    CHECK(table.confirmable() == at(1, 3));
    CHECK(table.move(2, floor_at(1, 9)));
    CHECK(table.watermark() == at(1, 5));
    CHECK(table.lanes() == 2);
  }

  TEST_CASE("a lane without a floor keeps it from being") {
    watermark_table table;
    CHECK(table.add(1, floor_at(1, 5)));
    CHECK(table.add(2, {}));
    CHECK_FALSE(table.watermark().has_value());
    CHECK(table.move(2, {at(1, 2, false), std::nullopt})); // the first part of a transaction, none ended yet
    CHECK(table.watermark() == at(1, 2));
    CHECK_FALSE(table.confirmable().has_value());
    CHECK(table.move(2, floor_at(1, 2)));
    CHECK(table.confirmable() == at(1, 2));
  }

  TEST_CASE("a batch boundary inside a transaction never lets the source pass its commit") {
    watermark_table table;
    CHECK(table.add(1, floor_at(1, 4)));
    CHECK(table.add(2, floor_at(1, 4)));
    CHECK(table.move(1, floor_at(1, 5)));
    CHECK(table.move(2, {at(1, 5, false), at(1, 4)}));
    CHECK(place_of(table.watermark()) == place{1, 5, false});
    CHECK(table.confirmable() == at(1, 4));
    CHECK(table.move(2, floor_at(1, 5)));
    CHECK(place_of(table.watermark()) == place{1, 5, true});
    CHECK(table.confirmable() == at(1, 5));
  }

  TEST_CASE("a floor that lies behind, or in an older epoch, moves nothing") {
    watermark_table table;
    CHECK(table.add(1, floor_at(2, 5)));
    CHECK(table.move(1, floor_at(2, 4)));
    CHECK(table.move(1, floor_at(1, 900)));
    CHECK(table.move(1, {at(2, 5, false), std::nullopt}));
    CHECK(place_of(table.watermark()) == place{2, 5, true});
    CHECK(table.move(1, floor_at(3, 1)));
    CHECK(table.watermark() == at(3, 1));
  }

  TEST_CASE("a lane is added once, with its floor, and leaves the minimum at once") {
    watermark_table table;
    CHECK(table.add(1, floor_at(1, 5)));
    CHECK_FALSE(table.add(1, floor_at(1, 9)));
    CHECK(table.add(2, floor_at(1, 2)));
    CHECK(table.watermark() == at(1, 2));
    CHECK(table.retire(2));
    CHECK_FALSE(table.retire(2));
    CHECK_FALSE(table.move(2, floor_at(1, 9)));
    CHECK(table.watermark() == at(1, 5));
    CHECK(table.retire(1));
    CHECK_FALSE(table.watermark().has_value());
    CHECK(table.lanes() == 0);
  }

  TEST_CASE("lanes that acknowledge one history in any order: the source confirms the last transaction that all have") {
    for (const auto seed : core_tests::seeds(40)) {
      CAPTURE(core_tests::replay(seed));
      core_tests::random_source random{seed};
      // One history for all lanes: transactions of one to three parts, now and then a new epoch.
      std::vector<position> history{at(1, 1)};
      while (history.size() < 80) {
        const auto& last = history.back();
        if (!last.ends_transaction)
          history.push_back(at(last.epoch, last.seq, random.chance(50)));
        else if (random.chance(5))
          history.push_back(at(last.epoch + 1, 1, random.chance(70)));
        else
          history.push_back(at(last.epoch, last.seq + 1, random.chance(70)));
      }
      auto floor_after = [&](std::size_t acknowledged) {
        lane_floor floor;
        for (std::size_t index = 0; index < acknowledged; ++index) {
          floor.reached = history[index];
          if (history[index].ends_transaction)
            floor.confirmable = history[index];
        }
        return floor;
      };
      watermark_table table;
      std::map<std::uint64_t, std::size_t> lanes; // how much of the history each has acknowledged
      std::optional<place> before;
      for (int step = 0; step < 300; ++step) {
        const auto lane = random.below(4);
        const bool known = lanes.contains(lane);
        bool same_lanes = true;
        if (random.chance(5)) {
          const auto start = static_cast<std::size_t>(random.below(history.size()));
          REQUIRE(table.add(lane, floor_after(start)) == !known);
          lanes.emplace(lane, start);
          same_lanes = known;
        } else if (random.chance(3)) {
          REQUIRE(table.retire(lane) == known);
          lanes.erase(lane);
          same_lanes = !known;
        } else if (random.chance(30)) { // what comes late
          const auto old = static_cast<std::size_t>(random.below(known ? lanes[lane] + 1 : 5));
          REQUIRE(table.move(lane, floor_after(old)) == known);
        } else if (known) {
          lanes[lane] = std::min<std::size_t>(history.size(), lanes[lane] + random.below(4));
          REQUIRE(table.move(lane, floor_after(lanes[lane])));
        }
        const auto least = std::ranges::min_element(lanes, {}, [](const auto& one) { return one.second; });
        const auto expected = least == lanes.end() ? lane_floor{} : floor_after(least->second);
        REQUIRE(place_of(table.watermark()) == place_of(expected.reached));
        REQUIRE(place_of(table.confirmable()) == place_of(expected.confirmable));
        const auto now = place_of(table.watermark());
        const bool never_back = !same_lanes || now >= before;
        REQUIRE(never_back);
        before = now;
      }
    }
  }
}
