#include <weir/lease.hpp>

#include "seeds.hpp"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

using weir::lease_table;

namespace {

using numbers = std::vector<std::uint64_t>;

numbers out_now(const lease_table& table) {
  numbers sequences;
  table.for_each([&](std::uint64_t, std::uint64_t sequence) { sequences.push_back(sequence); });
  return sequences;
}

/// For end_below(): what ended, one by one.
auto note_in(numbers& ended) {
  return [&ended](std::uint64_t sequence, std::uint64_t count) {
    for (; count > 0; --count)
      ended.push_back(sequence++);
  };
}

} // namespace

TEST_SUITE("lease") {
  TEST_CASE("an item that is delivered twice has two leases, and the first one is dead") {
    lease_table table;
    CHECK(table.lend(7) == 0);
    CHECK(table.end(0, [](std::uint64_t sequence) { CHECK(sequence == 7); }));
    CHECK(table.lend(7) == 1);
    CHECK_FALSE(table.end(0, [](std::uint64_t) { FAIL("this lease has ended"); }));
    CHECK(table.active() == 1);
    CHECK(table.end(1, [](std::uint64_t sequence) { CHECK(sequence == 7); }));
    CHECK(table.active() == 0);
  }

  TEST_CASE("leases end in any order, each once") {
    lease_table table;
    for (std::uint64_t sequence = 10; sequence < 15; ++sequence)
      table.lend(sequence);
    auto ignore = [](std::uint64_t) {};
    CHECK(table.end(3, ignore));
    CHECK(table.end(0, ignore));
    CHECK_FALSE(table.end(3, ignore));
    CHECK_FALSE(table.end(5, ignore));
    CHECK(out_now(table) == numbers{11, 12, 14});
    CHECK(table.next_ordinal() == 5);
  }

  TEST_CASE("ending all below a number ends what is still out, oldest first") {
    lease_table table;
    for (std::uint64_t sequence = 10; sequence < 16; ++sequence)
      table.lend(sequence);
    table.end(2, [](std::uint64_t) {});
    numbers ended;
    auto note = note_in(ended);
    table.end_below(4, note);
    CHECK(ended == numbers{10, 11, 13});
    table.end_below(4, note);
    table.end_below(1, note);
    CHECK(ended.size() == 3);
    table.end_below(100, note);
    CHECK(ended == numbers{10, 11, 13, 14, 15});
    CHECK(table.next_ordinal() == 6);
  }

  TEST_CASE("a new generation starts at ordinal 0 and knows nothing of the old one") {
    lease_table table;
    table.lend(1);
    table.lend(2);
    table.restart();
    CHECK(table.active() == 0);
    CHECK_FALSE(table.end(1, [](std::uint64_t) { FAIL("of the generation before"); }));
    CHECK(table.lend(3) == 0);
  }

  TEST_CASE("it does what a list of leases does") {
    for (const auto seed : core_tests::seeds(20)) {
      CAPTURE(core_tests::replay(seed));
      core_tests::random_source random{seed};
      lease_table table;
      std::vector<std::pair<std::uint64_t, bool>> all; // sequence, still out
      for (int step = 0; step < 400; ++step) {
        const auto ordinal = random.below(all.size() + 2);
        switch (random.below(4)) {
        case 0:
        case 1:
          all.emplace_back(random.below(50), true);
          REQUIRE(table.lend(all.back().first) == all.size() - 1);
          break;
        case 2: {
          const bool is_out = ordinal < all.size() && all[ordinal].second;
          numbers ended;
          REQUIRE(table.end(ordinal, [&](std::uint64_t sequence) { ended.push_back(sequence); }) == is_out);
          REQUIRE(ended == (is_out ? numbers{all[ordinal].first} : numbers{}));
          if (is_out)
            all[ordinal].second = false;
          break;
        }
        case 3:
          if (random.chance(30)) {
            numbers ended;
            numbers expected;
            table.end_below(ordinal, note_in(ended));
            for (std::uint64_t one = 0; one < ordinal && one < all.size(); ++one)
              if (std::exchange(all[one].second, false))
                expected.push_back(all[one].first);
            REQUIRE(ended == expected);
          }
          break;
        }
        numbers expected;
        for (const auto& [sequence, is_out] : all)
          if (is_out)
            expected.push_back(sequence);
        REQUIRE(out_now(table) == expected);
        REQUIRE(table.active() == expected.size());
        REQUIRE(table.next_ordinal() == all.size());
      }
    }
  }
}
