#include "pattern.hpp"

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <variant>

// Temporaries in the full expression of an await: what g++ 12 destroys twice (GCC PR 95599, 99576), and what it does not.

namespace patterns {

namespace {

task<int> sum_of_array(std::array<tracked, 2> values) {
  auto wait = pause();
  co_await wait;
  co_return values[0].value() + values[1].value();
}

task<int> call_function(std::function<int()> call) {
  auto wait = pause();
  co_await wait;
  co_return call();
}

task<bool> lambda_temporary() {
  auto kept = tracked{3};
  auto got = co_await call_later([kept] { return kept.value(); });
  co_return got == 3;
}

task<bool> lambda_into_function() {
  auto kept = tracked{3};
  auto got = co_await call_function([kept] { return kept.value(); });
  co_return got == 3;
}

task<bool> aggregate_temporary() {
  auto sum = co_await sum_later(aggregate{tracked{1}, tracked{2}});
  co_return sum == 3;
}

task<bool> aggregate_from_braces() {
  auto sum = co_await sum_later({tracked{1}, tracked{2}});
  co_return sum == 3;
}

task<bool> array_temporary() {
  auto sum = co_await sum_of_array(std::array<tracked, 2>{tracked{1}, tracked{2}});
  co_return sum == 3;
}

task<bool> awaits_in_an_aggregate() {
  auto message = aggregate{co_await later(tracked{1}), co_await later(tracked{2})};
  co_return message.first.value() + message.second.value() == 3;
}

task<bool> await_in_a_pushed_aggregate() {
  auto kept = std::vector<aggregate>{};
  kept.push_back(aggregate{co_await later(tracked{1}), tracked{2}});
  co_return kept.size() == 1 && kept[0].first.value() == 1;
}

task<bool> await_in_a_thrown_aggregate() {
  auto caught = 0;
  try {
    throw aggregate{co_await later(tracked{1}), tracked{2}};
  } catch (const aggregate& thrown) {
    caught = thrown.first.value() + thrown.second.value();
  }
  co_return caught == 3;
}

#if WEIR_COMPILES_BRACED_AWAIT
task<bool> list_from_braces() {
  auto first = tracked{1};
  auto second = tracked{2};
  auto third = tracked{3};
  auto sum = co_await sum_of_list({first, second, third});
  co_return sum == 6;
}
constexpr auto run_list_from_braces = run<list_from_braces>;
#else
constexpr verdict (*run_list_from_braces)() = nullptr;
#endif

#if WEIR_COMPILES_BRACED_AWAIT
task<bool> vector_from_braces() {
  auto sum = co_await sum_of_list(std::vector<tracked>{tracked{1}, tracked{2}});
  co_return sum == 3;
}
constexpr auto run_vector_from_braces = run<vector_from_braces>;
#else
constexpr verdict (*run_vector_from_braces)() = nullptr;
#endif

task<bool> class_temporary() {
  auto got = co_await later(tracked{3});
  co_return got.value() == 3;
}

task<bool> pair_temporary() {
  auto got = co_await later(std::pair<tracked, std::string>{tracked{1}, std::string(100, 'x')});
  co_return got.first.value() == 1 && got.second.size() == 100;
}

task<bool> tuple_temporary() {
  auto got = co_await later(std::tuple<tracked, tracked>{tracked{1}, tracked{2}});
  co_return std::get<0>(got).value() + std::get<1>(got).value() == 3;
}

task<bool> optional_temporary() {
  auto got = co_await later(std::optional<tracked>{tracked{3}});
  co_return got && got->value() == 3;
}

task<bool> variant_temporary() {
  auto got = co_await later(std::variant<int, tracked>{tracked{3}});
  co_return std::get<tracked>(got).value() == 3;
}

task<bool> string_temporary() {
  auto got = co_await later(std::string(100, 'x'));
  co_return got == std::string(100, 'x');
}

task<bool> shared_pointer_temporary() {
  auto got = co_await later(std::make_shared<tracked>(3));
  co_return got->value() == 3 && got.use_count() == 1;
}

} // namespace

std::vector<pattern> temporary_patterns() {
  constexpr auto ok = verdict::passes;
  constexpr auto twice = verdict::destroyed_twice;
  constexpr auto no_code = verdict::does_not_compile;
  return {
    {"co_await f([x] {…})", false, twice, run<lambda_temporary>},
    {"co_await f([x] {…}) into std::function", false, twice, run<lambda_into_function>},
    {"co_await f(aggregate{…})", false, twice, run<aggregate_temporary>},
    {"co_await f({…}) for an aggregate", false, twice, run<aggregate_from_braces>},
    {"co_await f(std::array{…})", false, twice, run<array_temporary>},
    {"aggregate{co_await f(), co_await g()}", false, twice, run<awaits_in_an_aggregate>},
    {"v.push_back(aggregate{co_await f(), x})", false, twice, run<await_in_a_pushed_aggregate>},
    {"throw aggregate{co_await f(), x}", false, twice, run<await_in_a_thrown_aggregate>},
    {"co_await f({a, b, c}) for a vector", false, no_code, run_list_from_braces},
    {"co_await f(std::vector{…})", false, no_code, run_vector_from_braces},
    {"co_await f(class with constructors)", false, ok, run<class_temporary>},
    {"co_await f(std::pair)", false, ok, run<pair_temporary>},
    {"co_await f(std::tuple)", false, ok, run<tuple_temporary>},
    {"co_await f(std::optional)", false, ok, run<optional_temporary>},
    {"co_await f(std::variant)", false, ok, run<variant_temporary>},
    {"co_await f(std::string)", false, ok, run<string_temporary>},
    {"co_await f(std::shared_ptr)", false, ok, run<shared_pointer_temporary>},
  };
}

} // namespace patterns
