#include <weir/progress.hpp>

#include "seeds.hpp"

#include <doctest/doctest.h>

#include <set>
#include <vector>

using weir::progress_tracker;

namespace {

std::vector<std::uint64_t> complete(progress_tracker& tracker, std::uint64_t number) {
  std::vector<std::uint64_t> passed;
  tracker.complete(number, [&](std::uint64_t one) { passed.push_back(one); });
  return passed;
}

using numbers = std::vector<std::uint64_t>;

} // namespace

TEST_SUITE("progress") {
  TEST_CASE("the prefix grows when its hole is filled") {
    progress_tracker tracker{10};
    CHECK(tracker.all_done());
    CHECK(tracker.open() == 10);
    CHECK(tracker.open() == 11);
    CHECK(tracker.open() == 12);
    CHECK(complete(tracker, 11) == numbers{});
    CHECK(complete(tracker, 12) == numbers{});
    CHECK(tracker.prefix_end() == 10);
    CHECK(tracker.end() == 13);
    CHECK(complete(tracker, 10) == numbers{10, 11, 12});
    CHECK(tracker.prefix_end() == 13);
    CHECK(tracker.all_done());
    CHECK(tracker.open() == 13);
  }

  TEST_CASE("completing twice, or what was never opened, changes nothing and says so") {
    progress_tracker tracker;
    auto never = [](std::uint64_t) { FAIL("nothing may pass"); };
    CHECK_FALSE(tracker.complete(0, never));
    tracker.open();
    tracker.open();
    CHECK(tracker.complete(1, never));
    CHECK_FALSE(tracker.complete(1, never));
    CHECK_FALSE(tracker.complete(2, never));
    CHECK(complete(tracker, 0) == numbers{0, 1});
    CHECK_FALSE(tracker.complete(0, never));
    CHECK_FALSE(tracker.is_open(0));
  }

  TEST_CASE("inside the callback the number that passed is counted as passed") {
    progress_tracker tracker;
    tracker.open();
    tracker.complete(0, [&](std::uint64_t number) { CHECK(tracker.prefix_end() == number + 1); });
  }

  TEST_CASE("it does what a set of done numbers does") {
    for (const auto seed : core_tests::seeds(20)) {
      CAPTURE(core_tests::replay(seed));
      core_tests::random_source random{seed};
      const auto first = random.below(100);
      progress_tracker tracker{first};
      std::set<std::uint64_t> done;
      auto end = first;
      auto prefix = first;
      for (int step = 0; step < 500; ++step) {
        if (random.chance(50)) {
          REQUIRE(tracker.open() == end++);
        } else {
          const auto number = random.between(prefix > 2 ? prefix - 2 : 0, end + 1);
          const bool fresh = number >= first && number < end && done.insert(number).second;
          numbers expected;
          while (done.contains(prefix))
            expected.push_back(prefix++);
          REQUIRE(tracker.is_open(number) == fresh);
          REQUIRE(complete(tracker, number) == expected);
          REQUIRE_FALSE(tracker.is_open(number));
        }
        REQUIRE(tracker.prefix_end() == prefix);
        REQUIRE(tracker.end() == end);
        REQUIRE(tracker.all_done() == (prefix == end));
      }
    }
  }
}
