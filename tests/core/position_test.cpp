#include <weir/position.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

using weir::covers;
using weir::lesser;
using weir::may_follow;
using weir::position;

namespace {

position at(std::uint64_t epoch, std::uint64_t seq, bool ends_transaction = true) {
  return {.epoch = epoch, .seq = seq, .stamp = {}, .time = 0, .ends_transaction = ends_transaction};
}

} // namespace

TEST_SUITE("position") {
  TEST_CASE("a stamp holds up to 64 bytes of any value") {
    const std::string bytes("\0\xFF\n", 3);
    CHECK(weir::stamp::from(bytes).value().bytes() == bytes);
    CHECK(weir::stamp::from(std::string(64, 'x')).value().bytes() == std::string(64, 'x'));
    CHECK(weir::stamp::from("").value().empty());
    CHECK(weir::stamp{} == weir::stamp::from({}).value());
    CHECK_FALSE(weir::stamp::from("a").value() == weir::stamp::from(std::string("a\0", 2)).value());
  }

  TEST_CASE("a copy of a stamp is the same, whatever it replaces") {
    std::string bytes;
    for (int number = 0; number < 64; ++number)
      bytes += static_cast<char>(number * 5);
    for (std::size_t size = 0; size <= 64; ++size)
      for (std::size_t before = 0; before <= 64; ++before) {
        const auto from = weir::stamp::from(bytes.substr(0, size)).value();
        auto to = weir::stamp::from(std::string(before, 'x')).value();
        to = from;
        const weir::stamp made{to};
        REQUIRE(made.bytes() == bytes.substr(0, size));
        REQUIRE(made == from);
      }
  }

  TEST_CASE("a longer stamp is refused, and the error says how long it was") {
    const auto refused = weir::stamp::from(std::string(65, 'x'));
    REQUIRE(!refused);
    CHECK(refused.error() == weir::errc::stamp_too_long);
    CHECK(refused.error().fact_of("size") == "65");
  }

  TEST_CASE("positions are ordered by epoch and seq alone") {
    CHECK(at(1, 9) < at(2, 1));
    CHECK(at(1, 1) < at(1, 2));
    auto same = at(1, 2, false);
    same.stamp = weir::stamp::from("elsewhere").value();
    same.time = 17;
    CHECK(same == at(1, 2));
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    CHECK(at(most - 1, most) < at(most, 0));
    CHECK(at(most, most) > at(most, most - 1));
  }

  TEST_CASE("a lane goes up, or on with the transaction that its last position left open") {
    CHECK(may_follow(at(1, 5), at(1, 6)));
    CHECK(may_follow(at(1, 5), at(2, 1)));
    CHECK_FALSE(may_follow(at(1, 5), at(1, 5)));
    CHECK_FALSE(may_follow(at(1, 5), at(1, 5, false)));
    CHECK(may_follow(at(1, 5, false), at(1, 5, false)));
    CHECK(may_follow(at(1, 5, false), at(1, 5)));
    CHECK_FALSE(may_follow(at(1, 5, false), at(1, 4)));
    CHECK_FALSE(may_follow(at(2, 1), at(1, 9)));
  }

  TEST_CASE("an open part of a transaction does not cover its end") {
    CHECK(covers(at(1, 5), at(1, 5)));
    CHECK(covers(at(1, 5), at(1, 5, false)));
    CHECK(covers(at(1, 5, false), at(1, 5, false)));
    CHECK_FALSE(covers(at(1, 5, false), at(1, 5)));
    CHECK(covers(at(1, 6, false), at(1, 5)));
    CHECK_FALSE(covers(at(1, 9), at(2, 1)));
  }

  TEST_CASE("the lesser of any two covers no more than either") {
    std::vector<position> all;
    for (const std::uint64_t epoch : {1u, 2u})
      for (const std::uint64_t seq : {1u, 2u})
        for (bool ends : {false, true})
          all.push_back(at(epoch, seq, ends));
    for (const auto& left : all)
      for (const auto& right : all) {
        const auto& least = lesser(left, right);
        CHECK((&least == &left || &least == &right));
        CHECK(covers(left, least));
        CHECK(covers(right, least));
      }
    const auto first = at(1, 1);
    const auto second = at(1, 1);
    CHECK(&lesser(first, second) == &first);
  }

  TEST_CASE("a position prints as epoch and seq") {
    CHECK(to_string(at(3, 14, false)) == "3:14");
  }
}
