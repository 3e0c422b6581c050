#include <weir/byte_budget.hpp>

#include "seeds.hpp"

#include <doctest/doctest.h>

#include <list>
#include <optional>
#include <utility>
#include <vector>

using weir::byte_budget;

TEST_SUITE("byte budget") {
  TEST_CASE("charges are taken up to the limit and given back") {
    byte_budget budget{100};
    CHECK(budget.try_charge(60));
    CHECK(budget.try_charge(40));
    CHECK_FALSE(budget.try_charge(1));
    CHECK(budget.used() == 100);
    budget.release(60);
    CHECK(budget.try_charge(50));
    CHECK(budget.used() == 90);
    CHECK(budget.limit() == 100);
  }

  TEST_CASE("a charge larger than the whole budget is admitted alone") {
    byte_budget budget{100};
    CHECK(budget.try_charge(500));
    CHECK_FALSE(budget.try_charge(1));
    budget.release(500);
    CHECK(budget.try_charge(1));
    CHECK_FALSE(budget.try_charge(500));
    const auto waiter = budget.wait(500);
    CHECK_FALSE(budget.admit().has_value());
    budget.release(1);
    CHECK(budget.admit() == waiter);
    CHECK(budget.used() == 500);
  }

  TEST_CASE("who comes first is admitted first, and nobody overtakes the line") {
    byte_budget budget{100};
    CHECK(budget.try_charge(90));
    const auto first = budget.wait(50);
    const auto second = budget.wait(5);
    CHECK_FALSE(budget.try_charge(5)); // would fit, but somebody waits
    CHECK_FALSE(budget.admit().has_value());
    budget.release(90);
    CHECK(budget.admit() == first);
    CHECK(budget.admit() == second);
    CHECK_FALSE(budget.admit().has_value());
    CHECK(budget.used() == 55);
    CHECK(budget.waiting() == 0);
  }

  TEST_CASE("who leaves the line makes room for the one behind; who was admitted can't leave any more") {
    byte_budget budget{100};
    CHECK(budget.try_charge(90));
    const auto large = budget.wait(50);
    const auto small = budget.wait(10);
    CHECK_FALSE(budget.admit().has_value());
    CHECK(budget.leave(large));
    CHECK_FALSE(budget.leave(large));
    CHECK(budget.admit() == small);
    CHECK_FALSE(budget.leave(small));
    CHECK(budget.used() == 100);
  }

  TEST_CASE("it does what a list of waiters does") {
    for (const auto seed : core_tests::seeds(40)) {
      CAPTURE(core_tests::replay(seed));
      core_tests::random_source random{seed};
      const auto limit = random.between(1, 100);
      byte_budget budget{limit};
      std::list<std::pair<byte_budget::ticket, std::uint64_t>> line;
      std::vector<std::uint64_t> charges;
      std::vector<byte_budget::ticket> seen;
      auto used = [&] {
        std::uint64_t sum = 0;
        for (const auto bytes : charges)
          sum += bytes;
        return sum;
      };
      auto fits = [&](std::uint64_t bytes) { return charges.empty() || used() + bytes <= limit; };
      for (int step = 0; step < 400; ++step) {
        const auto bytes = random.between(1, random.chance(10) ? limit * 2 : limit / 3 + 1);
        switch (random.below(5)) {
        case 0: {
          const bool taken = line.empty() && fits(bytes);
          REQUIRE(budget.try_charge(bytes) == taken);
          if (taken)
            charges.push_back(bytes);
          break;
        }
        case 1:
          line.emplace_back(budget.wait(bytes), bytes);
          seen.push_back(line.back().first);
          break;
        case 2:
          if (!seen.empty()) {
            const auto ticket = random.pick(seen);
            const auto waiting = std::erase_if(line, [&](const auto& one) { return one.first == ticket; });
            REQUIRE(budget.leave(ticket) == (waiting == 1));
          }
          break;
        default:
          if (!charges.empty()) {
            auto& gone = random.pick(charges);
            budget.release(gone);
            std::swap(gone, charges.back());
            charges.pop_back();
          }
        }
        for (auto admitted = budget.admit(); admitted; admitted = budget.admit()) {
          REQUIRE_FALSE(line.empty());
          REQUIRE(*admitted == line.front().first);
          REQUIRE(fits(line.front().second));
          charges.push_back(line.front().second);
          line.pop_front();
        }
        const bool still_waits = line.empty() || !fits(line.front().second);
        REQUIRE(still_waits);
        REQUIRE(budget.used() == used());
        REQUIRE(budget.waiting() == line.size());
        const bool bounded = budget.used() <= limit || charges.size() == 1;
        REQUIRE(bounded);
      }
    }
  }
}
