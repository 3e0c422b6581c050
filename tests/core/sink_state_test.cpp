#include <weir/sink_state.hpp>

#include "lane_items.hpp"

#include <doctest/doctest.h>

using core_tests::position_at;
using weir::sink_state;

TEST_SUITE("sink state") {
  TEST_CASE("only a destination that is exact can be seen to lack something") {
    for (const bool is_exact : {false, true}) {
      const sink_state nothing{.is_exact = is_exact};
      CHECK_FALSE(nothing.lacks(std::nullopt));
      CHECK(nothing.lacks(position_at(1, 1)) == is_exact);
      const sink_state some{.committed = position_at(2, 3), .is_exact = is_exact};
      CHECK_FALSE(some.lacks(std::nullopt));
      CHECK_FALSE(some.lacks(position_at(1, 9)));
      CHECK_FALSE(some.lacks(position_at(2, 3)));
      CHECK(some.lacks(position_at(2, 4)) == is_exact);
      const sink_state part{.committed = position_at(2, 3, false), .is_exact = is_exact};
      CHECK(part.lacks(position_at(2, 3)) == is_exact);
    }
  }

  TEST_CASE("seeded is what holds all of the epoch that it has come to") {
    CHECK_FALSE(sink_state{}.is_seeded());
    CHECK_FALSE(sink_state{.committed = position_at(1, 5)}.is_seeded());
    CHECK(sink_state{.seeded_epoch = 1}.is_seeded());
    CHECK(sink_state{.committed = position_at(1, 5), .seeded_epoch = 1}.is_seeded());
    CHECK(sink_state{.committed = position_at(1, 5), .seeded_epoch = 2}.is_seeded());
    CHECK_FALSE(sink_state{.committed = position_at(2, 0), .seeded_epoch = 1}.is_seeded());
    CHECK_FALSE(sink_state{.seeded_epoch = 1, .unfinished = weir::unfinished_backfill{{1, 2}}}.is_seeded());
  }
}
