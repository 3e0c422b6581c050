#include <weir/offset_runs.hpp>

#include "seeds.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <map>

using core_tests::random_source;
using core_tests::replay;
using core_tests::seeds;
using weir::offset_runs;

TEST_SUITE("offset runs") {
  TEST_CASE("what is in front of the first is done with, and a gap is kept only where there is one") {
    offset_runs runs;
    for (const std::int64_t offset : {3, 4, 5, 6})
      runs.add(offset == 3 ? -1 : offset - 1, offset);
    runs.add(8, 10); // 7 and 8 were not wanted, 9 is missing
    CHECK(runs.size() == 5);
    CHECK(runs.runs() == 2);
    CHECK(runs.before_first() == -1);
    CHECK(runs.remove(3));
    CHECK(runs.before_first() == 3);
    CHECK(runs.remove(5));
    CHECK(runs.runs() == 3);
    CHECK(runs.before_first() == 3);
    CHECK(runs.remove(4));
    CHECK(runs.before_first() == 5);
    CHECK(runs.remove(6));
    CHECK(runs.before_first() == 8);
    CHECK(runs.size() == 1);
    CHECK(runs.remove(10));
    CHECK(runs.empty());
  }

  TEST_CASE("what is not in it can't be taken out") {
    offset_runs runs;
    CHECK_FALSE(runs.remove(0));
    runs.add(0, 1);
    runs.add(1, 2);
    runs.add(3, 4);
    for (const std::int64_t offset : {-1, 0, 3, 5})
      CHECK_FALSE(runs.remove(offset));
    CHECK(runs.remove(1));
    CHECK_FALSE(runs.remove(1));
    CHECK(runs.remove_through(0) == 0);
    CHECK(runs.size() == 2);
  }

  TEST_CASE("a part of a run is taken out through an offset, with everything in front of it") {
    offset_runs runs;
    for (const std::int64_t offset : {0, 1, 5, 6, 7})
      runs.add(offset == 5 ? 4 : offset - 1, offset);
    CHECK(runs.remove_through(3) == 2);
    CHECK(runs.before_first() == 4);
    CHECK(runs.remove_through(6) == 2);
    CHECK(runs.before_first() == 6);
    CHECK(runs.remove_through(100) == 1);
    CHECK(runs.empty());
  }

  TEST_CASE("a whole topic in flight is one run, and the last offset that a log can hold has a place") {
    offset_runs runs;
    for (std::int64_t offset = 0; offset < 100'000; ++offset)
      runs.add(offset - 1, offset);
    CHECK(runs.runs() == 1);
    constexpr auto last = std::numeric_limits<std::int64_t>::max() - 1;
    runs.add(last - 2, last - 1);
    runs.add(last - 1, last);
    CHECK(runs.runs() == 2);
    CHECK(runs.remove(last));
    CHECK(runs.remove_through(last) == 100'001);
  }

  TEST_CASE("it holds what a list of all offsets holds") {
    for (const auto seed : seeds(200)) {
      random_source random{seed};
      offset_runs runs;
      std::map<std::int64_t, std::int64_t> list; // offset → what is before it
      std::int64_t last = -1;
      for (int step = 0; step < 200; ++step) {
        const auto offset = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(last) + 3));
        const auto dice = random.below(10);
        if (dice < 5) {
          const auto before = last + static_cast<std::int64_t>(random.chance(80) ? 0 : random.below(2));
          last = before + 1 + static_cast<std::int64_t>(random.chance(80) ? 0 : random.below(2));
          runs.add(before, last);
          list.emplace(last, before);
        } else if (dice < 9) {
          const bool was_there = list.erase(offset) > 0;
          REQUIRE_MESSAGE(runs.remove(offset) == was_there, replay(seed));
        } else if (random.chance(30)) {
          const auto end = list.upper_bound(offset);
          const auto count = static_cast<std::uint64_t>(std::distance(list.begin(), end));
          list.erase(list.begin(), end);
          REQUIRE_MESSAGE(runs.remove_through(offset) == count, replay(seed));
        }
        REQUIRE_MESSAGE(runs.size() == list.size(), replay(seed));
        REQUIRE_MESSAGE(runs.runs() <= runs.size(), replay(seed));
        if (!list.empty())
          REQUIRE_MESSAGE(runs.before_first() == list.begin()->second, replay(seed));
      }
    }
  }
}
