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
}
