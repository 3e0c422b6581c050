#include <weir/resume_point.hpp>

#include "lane_items.hpp"

#include <doctest/doctest.h>

using core_tests::position_at;
using weir::lacks;
using weir::position;
using weir::resume_point;

TEST_SUITE("resume point") {
  TEST_CASE("the highest that is held counts, whoever says it first") {
    resume_point from;
    from.add_held(std::nullopt);
    CHECK_FALSE(from.held.has_value());
    for (const auto& one : {position_at(1, 7), position_at(2, 3), position_at(1, 9)})
      from.add_held(one);
    REQUIRE(from.held.has_value());
    CHECK(*from.held == position_at(2, 3));
    auto open = position_at(2, 4);
    open.ends_transaction = false;
    from.add_held(open);
    from.add_held(position_at(2, 4)); // the whole transaction is more than its first part
    CHECK(from.held->ends_transaction);
    from.add_held(open);
    CHECK(from.held->ends_transaction);
  }

  TEST_CASE("the next epoch lies above everything that anybody knows") {
    CHECK(resume_point{}.next_epoch() == 1);
    CHECK(resume_point{position_at(3, 1), {}}.next_epoch() == 4);
    CHECK(resume_point{{}, position_at(2, 1)}.next_epoch() == 3);
    CHECK(resume_point{position_at(3, 1), position_at(2, 9)}.next_epoch() == 4);
    CHECK(resume_point{position_at(3, 1), position_at(7, 0)}.next_epoch() == 8);
  }

  TEST_CASE("who holds less than was confirmed lacks something") {
    CHECK_FALSE(lacks(std::nullopt, std::nullopt));
    CHECK_FALSE(lacks(position_at(1, 1), std::nullopt));
    CHECK(lacks(std::nullopt, position_at(1, 1)));
    CHECK(lacks(position_at(1, 1), position_at(1, 2)));
    CHECK(lacks(position_at(1, 9), position_at(2, 0)));
    CHECK_FALSE(lacks(position_at(1, 2), position_at(1, 2)));
    CHECK_FALSE(lacks(position_at(2, 0), position_at(1, 9)));
    auto part = position_at(1, 2);
    part.ends_transaction = false;
    CHECK(lacks(part, position_at(1, 2)));
  }

  TEST_CASE("a stream's source goes on behind what every lane has whole, or has acknowledged where the rest is gone") {
    using lanes = std::vector<weir::stored_lane>;
    const auto at = [](std::uint64_t seq) { return std::optional{position_at(1, seq)}; };
    const auto behind = [](const lanes& all, std::optional<position> confirmed = {}) {
      return weir::resume_behind(all, confirmed);
    };
    CHECK_FALSE(behind({}).has_value());
    CHECK(behind({}, at(3)) == at(3));
    CHECK(behind({{at(7)}, {at(5)}, {at(9)}}) == at(5));
    CHECK_FALSE(behind({{at(7)}, {std::nullopt}}).has_value());
    CHECK_FALSE(behind({{std::nullopt}, {at(7)}}).has_value());
    // The source has what was not confirmed to it, and reads it again for a lane whose items are gone.
    CHECK(behind({{at(9), at(3), true}, {at(7)}}, at(2)) == at(3));
    CHECK(behind({{at(9), at(3), true}, {at(2)}}, at(2)) == at(2));
    CHECK_FALSE(behind({{at(9), std::nullopt, true}, {at(7)}}).has_value());
    // What was confirmed it won't read again: that is lost to the lane.
    CHECK(behind({{at(9), at(3), true}, {at(7)}}, at(5)) == at(5));
    CHECK(behind({{at(9), at(3), true}, {at(9), at(4), true}}, at(6)) == at(6));
    CHECK(behind({{at(9), at(3), true}, {at(9), at(4), true}}) == at(3));
    CHECK(weir::begin_anew_behind(at(3), at(5)) == at(5));
    CHECK(weir::begin_anew_behind(at(5), at(3)) == at(5));
    CHECK(weir::begin_anew_behind(std::nullopt, at(3)) == at(3));
    CHECK_FALSE(weir::begin_anew_behind(std::nullopt, std::nullopt).has_value());
  }

  TEST_CASE("a lane has from before what lies behind the source's place and is covered by its last item, whole") {
    using weir::is_repeated;
    const auto resume = std::optional{position_at(1, 5)};
    const auto last = position_at(1, 9);
    CHECK_FALSE(is_repeated(position_at(1, 4), last, resume)); // the source has no business there
    CHECK_FALSE(is_repeated(position_at(1, 5), last, resume));
    CHECK(is_repeated(position_at(1, 6), last, resume));
    CHECK(is_repeated(position_at(1, 6, false), last, resume));
    CHECK(is_repeated(position_at(1, 9), last, resume));
    CHECK_FALSE(is_repeated(position_at(1, 10), last, resume));
    CHECK_FALSE(is_repeated(position_at(2, 1), last, resume));
    CHECK(is_repeated(position_at(1, 1), last, std::nullopt));
    // Inside of a transaction: another part of it is news, and so is its end.
    const auto part = position_at(1, 9, false);
    CHECK(is_repeated(position_at(1, 8), part, resume));
    CHECK_FALSE(is_repeated(position_at(1, 9, false), part, resume));
    CHECK_FALSE(is_repeated(position_at(1, 9), part, resume));
  }
}
