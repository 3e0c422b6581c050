#include "pattern.hpp"

// Awaits inside conditions and operators: bodies that g++ 12 skips (GCC PR 106188), operands that it destroys twice.

namespace patterns {

namespace {

task<bool> in_an_if() {
  if (co_await later(true))
    co_return true;
  co_return false;
}

task<bool> in_a_while() {
  while (co_await later(true))
    co_return true;
  co_return false;
}

task<bool> in_a_switch() {
  switch (co_await later(3)) {
  case 3: co_return true;
  default: co_return false;
  }
}

task<void> in_a_negated_if_inner(bool* arrived) {
  if (!co_await later(true))
    co_return;
  *arrived = true;
}

verdict in_a_negated_if() {
  auto arrived = false;
  return run_to_end(in_a_negated_if_inner(&arrived), arrived);
}

task<bool> in_an_if_inside_try() {
  try {
    if (co_await later(true))
      co_return true;
  } catch (...) {
    co_return false;
  }
  co_return false;
}

task<bool> in_an_if_behind_a_declaration() {
  auto local = tracked{1};
  if (co_await later(true))
    co_return local.value() == 1;
  co_return false;
}

task<bool> on_both_sides_of_a_conditional() {
  auto left = true;
  auto got = left ? co_await later(tracked{1}) : co_await later(tracked{2});
  co_return got.value() == 1;
}

task<bool> on_one_side_of_a_conditional() {
  auto left = true;
  auto got = left ? co_await later(tracked{1}) : tracked{2};
  co_return got.value() == 1;
}

task<bool> behind_a_logical_and() {
  auto local = true;
  auto got = local && co_await later(true);
  co_return got;
}

task<bool> behind_a_logical_or() {
  auto local = false;
  auto got = local || co_await later(true);
  co_return got;
}

task<bool> in_a_range_for() {
  auto sum = 0;
  for (const auto& value : co_await later(std::vector<tracked>(3, tracked{1})))
    sum += value.value();
  co_return sum == 3;
}

task<bool> as_an_argument() {
  auto kept = std::vector<tracked>{};
  kept.push_back(co_await later(tracked{3}));
  co_return kept[0].value() == 3;
}

task<bool> in_a_structured_binding() {
  auto [first, second] = co_await later(std::pair{tracked{1}, tracked{2}});
  co_return first.value() + second.value() == 3;
}

} // namespace

std::vector<pattern> control_patterns() {
  constexpr auto ok = verdict::passes;
  constexpr auto twice = verdict::destroyed_twice;
  constexpr auto skipped = verdict::body_skipped;
  return {
    {"if (co_await f()) co_return, nothing declared", false, skipped, run<in_an_if>},
    {"while (co_await f()) co_return, nothing declared", false, skipped, run<in_a_while>},
    {"switch (co_await f()), nothing declared", false, skipped, run<in_a_switch>},
    {"if (!co_await f()) co_return; without a value", false, skipped, in_a_negated_if},
    {"if (co_await f()) inside try, nothing declared", false, skipped, run<in_an_if_inside_try>},
    {"if (co_await f()) behind a declaration", false, ok, run<in_an_if_behind_a_declaration>},
    {"c ? co_await f() : co_await g()", false, twice, run<on_both_sides_of_a_conditional>},
    {"c ? co_await f() : x", false, twice, run<on_one_side_of_a_conditional>},
    {"a && co_await f()", false, ok, run<behind_a_logical_and>},
    {"a || co_await f()", false, ok, run<behind_a_logical_or>},
    {"for (… : co_await f())", false, ok, run<in_a_range_for>},
    {"v.push_back(co_await f())", false, ok, run<as_an_argument>},
    {"auto [a, b] = co_await f();", false, ok, run<in_a_structured_binding>},
  };
}

} // namespace patterns
