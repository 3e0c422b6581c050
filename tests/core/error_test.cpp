#include <weir/error.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>

using weir::errc;
using weir::error;

namespace {

weir::result<int> half_of(int number) {
  if (number % 2 != 0)
    return error{errc::invalid_argument, "an odd number has no half", {{"number", std::to_string(number)}}};
  return number / 2;
}

weir::result<void> only_even(int number) {
  const auto half = half_of(number);
  if (!half)
    return half.error();
  return weir::success();
}

} // namespace

TEST_SUITE("error") {
  TEST_CASE("a result is a value or an error with its code, sentence and facts") {
    CHECK(half_of(8).value() == 4);
    const auto refused = half_of(7);
    REQUIRE(!refused);
    CHECK(refused.error() == errc::invalid_argument);
    CHECK(refused.error().sentence() == "an odd number has no half");
    CHECK(refused.error().fact_of("number") == "7");
    CHECK(refused.error().fact_of("name").empty());
    CHECK(only_even(2).has_value());
    CHECK(only_even(3).error() == errc::invalid_argument);
  }

  TEST_CASE("one line tells everything, in the order in which it was said") {
    CHECK(error{errc::closed}.to_string() == "closed");
    CHECK(error{errc::closed, "the stream was closed"}.to_string() == "closed: the stream was closed");
    CHECK(error{errc::not_found, "no such file", {{"path", "a.toml"}, {"line", "3"}}}.to_string()
          == "not_found: no such file (path=a.toml, line=3)");
    CHECK(error{errc::not_found, {}, {{"path", "a.toml"}}}.to_string() == "not_found (path=a.toml)");
  }

  TEST_CASE("a fact that is added on the way up does not replace what was known below") {
    const auto failed = error{errc::io_failed, "no write", {{"path", "inner"}}}.with("path", "outer").with("lane", "search");
    CHECK(failed.fact_of("path") == "inner");
    CHECK(failed.fact_of("lane") == "search");
    CHECK(failed.facts().size() == 2);
  }

  TEST_CASE("errors are equal when their codes are") {
    CHECK(error{errc::fenced, "one way to say it"} == error{errc::fenced, "another", {{"lane", "a"}}});
    CHECK_FALSE(error{errc::fenced} == error{errc::closed});
    CHECK_FALSE(error{errc::fenced} == errc::closed);
  }

  TEST_CASE("every code has a name of its own") {
    std::set<std::string_view> names;
    unsigned codes = 0;
    for (int code = 0; code < 200; ++code) {
      const auto name = name_of(static_cast<errc>(code));
      if (name == "unknown")
        continue;
      ++codes;
      CHECK_MESSAGE(names.insert(name).second, name);
    }
    CHECK(codes == 11 + 10 + 5 + 18 + 21 + 6);
    CHECK(name_of(errc::sequence_restarted) == "sequence_restarted");
    CHECK(name_of(errc::invalid_argument) == "invalid_argument");
  }
}
