#include <weir/retention.hpp>

#include "seeds.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using weir::retention_budget;
using weir::retention_holder;

namespace {

retention_holder consumer(
  std::int64_t offset, std::uint64_t entries = 0, std::uint64_t bytes = 0, std::chrono::seconds age = {}) {
  return {offset, entries, bytes, age, false};
}

struct shard_plan {
  std::int64_t through;
  std::vector<std::size_t> held_by;
  std::vector<std::size_t> expired;
};

/// Of a topic with one shard.
shard_plan plan_trim(std::int64_t asked, std::vector<retention_holder> holders, const retention_budget& budget) {
  auto plan = weir::plan_trim({{0, asked, std::move(holders)}}, budget);
  return {plan.through.at(0), std::move(plan.held_by), std::move(plan.expired)};
}

} // namespace

TEST_CASE("retention: nobody holds anything, and all goes that was asked for") {
  CHECK(plan_trim(41, {}, {}).through == 41);
  const auto plan = plan_trim(41, {consumer(41), consumer(100)}, {});
  CHECK(plan.through == 41);
  CHECK(plan.held_by.empty());
}

TEST_CASE("retention: the slowest within the budget decides, and is named") {
  const auto plan = plan_trim(41, {consumer(30), consumer(12), consumer(12), consumer(-1, 1000)}, {.entries = 999});
  CHECK(plan.through == 12);
  CHECK(plan.held_by == std::vector<std::size_t>{1, 2});
  CHECK(plan.expired == std::vector<std::size_t>{3});
}

TEST_CASE("retention: a budget of entries, of bytes and of age, each by itself, and up to its edge") {
  using namespace std::chrono_literals;
  const auto lagging = consumer(5, 10, 100, 60s);
  CHECK(plan_trim(9, {lagging}, {.entries = 10}).through == 5);
  CHECK(plan_trim(9, {lagging}, {.entries = 9}).through == 9);
  CHECK(plan_trim(9, {lagging}, {.bytes = 100}).through == 5);
  CHECK(plan_trim(9, {lagging}, {.bytes = 99}).through == 9);
  CHECK(plan_trim(9, {lagging}, {.age = 60s}).through == 5);
  CHECK(plan_trim(9, {lagging}, {.age = 59s}).through == 9);
}

TEST_CASE("retention: who is over the budget and loses nothing is not expired") {
  const auto plan = plan_trim(9, {consumer(5, 10), consumer(3)}, {.entries = 9});
  CHECK(plan.through == 3);
  CHECK(plan.expired.empty());
}

TEST_CASE("retention: a pin holds whatever the budget says") {
  const retention_holder pin{5, 1000, 1000, std::chrono::hours{1}, true};
  const auto plan = plan_trim(9, {pin}, {.entries = 1, .bytes = 1, .age = std::chrono::seconds{1}});
  CHECK(plan.through == 5);
  CHECK(plan.held_by == std::vector<std::size_t>{0});
}

TEST_CASE("retention: who is expired in one shard holds nothing back in another, and lets others be expired") {
  // 0 is over the budget in the first shard alone; without it the second goes as far as to expire 1, and that the third.
  const auto plan =
    weir::plan_trim({{0, 9, {consumer(1, 20), consumer(9), consumer(9)}}, {0, 9, {consumer(2), consumer(3, 20), consumer(9)}},
                      {0, 9, {consumer(9), consumer(4), consumer(8)}}},
      {.entries = 10});
  CHECK(plan.expired == std::vector<std::size_t>{0, 1});
  CHECK(plan.through == std::vector<std::int64_t>{9, 9, 8});
  CHECK(plan.held_by == std::vector<std::size_t>{2});
}

TEST_CASE("retention: where nothing is trimmed, nobody is expired") {
  const auto plan = weir::plan_trim({{10, 9, {consumer(1, 20)}}, {0, 5, {consumer(3)}}}, {.entries = 10});
  CHECK(plan.expired.empty());
  CHECK(plan.through == std::vector<std::int64_t>{9, 3});
}

TEST_CASE("retention: whoever holds, nobody within the budget loses an entry, and nobody is expired in silence") {
  for (const auto seed : core_tests::seeds(500)) {
    core_tests::random_source random{seed};
    std::vector<retention_holder> holders;
    for (auto count = random.below(6); count > 0; --count) {
      holders.push_back(consumer(static_cast<std::int64_t>(random.below(30)) - 1, random.below(20)));
      holders.back().is_pin = random.chance(20);
    }
    const retention_budget budget{.entries = random.below(20)};
    const auto asked = static_cast<std::int64_t>(random.below(30)) - 1;
    const auto plan = plan_trim(asked, holders, budget);
    CHECK(plan.through <= asked);
    bool somebody_holds = false;
    for (std::size_t one = 0; one < holders.size(); ++one) {
      const bool is_within = holders[one].is_pin || holders[one].lag_entries <= *budget.entries;
      const bool loses = holders[one].offset < plan.through;
      const bool is_expired = std::ranges::find(plan.expired, one) != plan.expired.end();
      CHECK(is_expired == loses);
      CHECK_FALSE((is_within && loses));
      somebody_holds = somebody_holds || (is_within && holders[one].offset == plan.through);
    }
    CHECK((plan.through == asked || somebody_holds));
    CHECK(plan.held_by.empty() == (plan.through == asked));
  }
}
