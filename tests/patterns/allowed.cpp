#include "pattern.hpp"

#include <array>
#include <functional>
#include <stdexcept>

// The forms that the rules allow: what is awaited has a name.

namespace patterns {

namespace {

task<bool> await_a_name() {
  auto op = later(tracked{3});
  co_await op;
  co_return true;
}

task<bool> discard_what_a_name_gives() {
  auto op = later(tracked{3});
  (void)co_await op;
  co_return true;
}

task<bool> declare_from_a_name() {
  auto op = later(tracked{3});
  auto got = co_await op;
  co_return got.value() == 3;
}

task<bool> declare_from_a_moved_name() {
  auto op = later(tracked{3});
  auto got = co_await std::move(op);
  co_return got.value() == 3;
}

task<bool> assign_from_a_name() {
  auto op = later(tracked{3});
  auto got = tracked{0};
  got = co_await std::move(op);
  co_return got.value() == 3;
}

task<tracked> return_from_a_name_inner() {
  auto op = later(tracked{3});
  co_return co_await std::move(op);
}

task<bool> return_from_a_name() {
  auto op = return_from_a_name_inner();
  auto got = co_await std::move(op);
  co_return got.value() == 3;
}

task<bool> aggregate_argument() {
  auto op = sum_later(aggregate{tracked{1}, tracked{2}});
  auto sum = co_await std::move(op);
  co_return sum == 3;
}

task<bool> braces_as_argument() {
  auto op = sum_of_list({tracked{1}, tracked{2}, tracked{3}});
  auto sum = co_await std::move(op);
  co_return sum == 6;
}

task<bool> array_argument() {
  auto op = later(std::array<tracked, 2>{tracked{1}, tracked{2}});
  auto got = co_await std::move(op);
  co_return got[0].value() + got[1].value() == 3;
}

task<bool> capturing_lambda_argument() {
  auto kept = tracked{3};
  auto op = call_later([kept] { return kept.value(); });
  auto got = co_await std::move(op);
  co_return got == 3;
}

task<bool> function_argument() {
  auto kept = tracked{3};
  auto op = call_later(std::function<int()>{[kept] { return kept.value(); }});
  auto got = co_await std::move(op);
  co_return got == 3;
}

task<bool> conditional_operand() {
  auto left = true;
  auto op = left ? later(tracked{1}) : later(tracked{2});
  auto got = co_await std::move(op);
  co_return got.value() == 1;
}

task<bool> call_with_moved_names() {
  auto message = aggregate{tracked{1}, tracked{2}};
  auto sum = co_await sum_later(std::move(message));
  co_return sum == 3;
}

task<bool> test_of_the_named_result() {
  for (auto count = 0; count < 3; ++count) {
    auto op = later(count < 2);
    auto more = co_await std::move(op);
    if (!more)
      co_return count == 2;
  }
  co_return false;
}

task<bool> loop_that_begins_with_a_declaration() {
  for (;;) {
    auto op = later(tracked{3});
    auto got = co_await std::move(op);
    if (got.value() == 3)
      co_return true;
  }
}

task<bool> test_in_a_block_of_its_own() {
  auto op = later(tracked{3});
  {
    auto got = co_await std::move(op);
    if (got.value() == 3)
      co_return true;
  }
  co_return false;
}

task<tracked> throw_later() {
  auto wait = pause();
  co_await wait;
  throw std::runtime_error{"thrown"};
}

task<bool> exception_across_an_await() {
  auto caught = false;
  try {
    auto op = throw_later();
    co_await std::move(op);
  } catch (const std::runtime_error&) {
    caught = true;
  }
  auto again = later(caught);
  co_return co_await std::move(again);
}

task<void> await_without_a_value_inner(bool* arrived) {
  auto op = later(tracked{1});
  co_await std::move(op);
  *arrived = true;
}

task<bool> await_without_a_value() {
  auto arrived = false;
  auto op = await_without_a_value_inner(&arrived);
  co_await std::move(op);
  co_return arrived;
}

} // namespace

std::vector<pattern> allowed_patterns() {
  constexpr auto ok = verdict::passes;
  return {
    {"co_await n;", true, ok, run<await_a_name>},
    {"(void)co_await n;", true, ok, run<discard_what_a_name_gives>},
    {"auto r = co_await n;", true, ok, run<declare_from_a_name>},
    {"auto r = co_await std::move(n);", true, ok, run<declare_from_a_moved_name>},
    {"r = co_await n;", true, ok, run<assign_from_a_name>},
    {"co_return co_await n;", true, ok, run<return_from_a_name>},
    {"n = f(aggregate{…}), then co_await n", true, ok, run<aggregate_argument>},
    {"n = f({…}), then co_await n", true, ok, run<braces_as_argument>},
    {"n = f(std::array{…}), then co_await n", true, ok, run<array_argument>},
    {"n = f([x] {…}), then co_await n", true, ok, run<capturing_lambda_argument>},
    {"n = f(std::function{[x] {…}}), then co_await n", true, ok, run<function_argument>},
    {"n = c ? f() : g(), then co_await n", true, ok, run<conditional_operand>},
    {"auto r = co_await f(std::move(x));", true, ok, run<call_with_moved_names>},
    {"auto r = co_await n; if (!r) co_return", true, ok, run<test_of_the_named_result>},
    {"for (;;) {auto n = …; co_await n; …} as first statement", true, ok, run<loop_that_begins_with_a_declaration>},
    {"the same in a block of its own", true, ok, run<test_in_a_block_of_its_own>},
    {"an exception across co_await n;", true, ok, run<exception_across_an_await>},
    {"co_await n; of a task without a value", true, ok, run<await_without_a_value>},
  };
}

} // namespace patterns
