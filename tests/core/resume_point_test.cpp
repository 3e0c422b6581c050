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

  TEST_CASE("a stream's source goes on behind what every lane has whole; lanes that begin anew don't hold it back") {
    using lanes = std::vector<weir::stored_lane>;
    const auto at = [](std::uint64_t seq) { return std::optional{position_at(1, seq)}; };
    CHECK_FALSE(weir::resume_behind({}).has_value());
    CHECK(weir::resume_behind(lanes{{at(7)}, {at(5)}, {at(9)}}) == at(5));
    CHECK_FALSE(weir::resume_behind(lanes{{at(7)}, {std::nullopt}}).has_value());
    CHECK_FALSE(weir::resume_behind(lanes{{std::nullopt}, {at(7)}}).has_value());
    CHECK(weir::resume_behind(lanes{{at(3), true}, {at(7)}, {std::nullopt, true}}) == at(7));
    CHECK(weir::resume_behind(lanes{{at(3), true}, {at(4), true}, {std::nullopt, true}}) == at(4));
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
