#include "chart.hpp"
#include "figures.hpp"
#include "histogram.hpp"
#include "ratios.hpp"

#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <unistd.h>
#include <vector>

using namespace weir_bench;

namespace {

/// SplitMix64.
std::uint64_t scrambled(std::uint64_t number) {
  auto mixed = number * 0x9E3779B97F4A7C15u;
  mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
  return mixed ^ (mixed >> 31);
}

measured_case case_of(const char* name, std::vector<double> seconds) {
  measured_case one{name, {}};
  for (const auto taken : seconds)
    one.repetitions.push_back({.items = 100, .seconds = taken});
  return one;
}

} // namespace

TEST_CASE("a percentile lies at most 0.8 % above the true one, for durations from a nanosecond to a minute") {
  latency_histogram record;
  std::vector<std::uint64_t> all;
  for (std::uint64_t number = 1; number <= 20'000; ++number) {
    const auto magnitude = scrambled(number) % 36;
    const auto value = (std::uint64_t{1} << magnitude) + scrambled(~number) % (std::uint64_t{1} << magnitude);
    all.push_back(value);
    record.record(static_cast<std::int64_t>(value));
  }
  std::ranges::sort(all);
  REQUIRE(record.count() == all.size());
  CHECK(record.largest() == all.back());
  for (const double share : {0.001, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    CAPTURE(share);
    const auto wanted = all[static_cast<std::size_t>(std::lround(share * static_cast<double>(all.size()))) - 1];
    CHECK(record.percentile(share) >= wanted);
    CHECK(static_cast<double>(record.percentile(share)) <= static_cast<double>(wanted) * 1.008 + 1);
  }
}

TEST_CASE("small durations are exact, and one that is below nothing counts as nothing") {
  latency_histogram record;
  CHECK(record.percentile(0.5) == 0);
  record.record(-5);
  CHECK(record.percentile(1) == 0);
  for (std::int64_t value = 1; value <= 100; ++value)
    record.record(value);
  CHECK(record.percentile(0.5) == 50);
  CHECK(record.percentile(1) == 100);
}

TEST_CASE("the middle and the spread of a few values") {
  CHECK(median({}) == 0);
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 2, 3}) == 2.5);
  CHECK(spread({10, 8, 14}) == doctest::Approx(0.6));
}

TEST_CASE("a ratio compares runs of the same repetition, and says when it does not hold") {
  const std::vector<measured_case> measured{case_of("ours", {1, 4, 1}), case_of("theirs", {2, 9, 3})};
  const ratio wanted{"faster", "items_per_s", "ours", "theirs", 2.5, std::nullopt};
  const ratio absent{"unknown", "items_per_s", "ours", "nobody", 1.0, std::nullopt};
  const ratio alone{"time", "ns_per_item", "ours", "", std::nullopt, 1e7};
  const auto found = find_ratios({wanted, absent, alone}, measured);
  REQUIRE(found.size() == 3);
  CHECK(found[0].value == 2.25); // of 2, 2.25 and 3
  CHECK(found[0].lowest == 2);
  CHECK(found[0].highest == 3);
  CHECK_FALSE(found[0].holds());
  CHECK_FALSE(found[1].value.has_value());
  CHECK_FALSE(found[1].holds());
  CHECK(found[2].holds());
}

TEST_CASE("peers run right behind the case that is compared with them, and every case once") {
  const auto pair = [](const char* of, const char* over) { return ratio{"", "", of, over, std::nullopt, std::nullopt}; };
  const std::vector<std::string> names{"a", "b", "c", "d", "e"};
  using order = std::vector<std::size_t>;
  CHECK(beside_peers(names, {}) == order{0, 1, 2, 3, 4});
  CHECK(beside_peers(names, {pair("a", "d"), pair("a", "e"), pair("c", "a"), pair("b", ""), pair("x", "y")})
        == order{0, 3, 4, 1, 2});
}

TEST_CASE("a limit may depend on the compiler, and a file that can't be read is named") {
  const auto file = std::filesystem::temp_directory_path() / ("weir-ratios-" + std::to_string(::getpid()) + ".json");
  std::ofstream{file}
    << R"({"lanes": [{"name": "n", "figure": "p50_ns", "of": "a", "over": "b", "at_most": {"clang": 3, "gcc": 4.5}}]})";
  CHECK(read_ratios(file.string(), "lanes", "clang").at(0).most == 3.0);
  CHECK(read_ratios(file.string(), "lanes", "gcc").at(0).most == 4.5);
  CHECK_FALSE(read_ratios(file.string(), "lanes", "gcc").at(0).least.has_value());
  std::ofstream{file} << "{";
  CHECK_THROWS_WITH_AS(read_ratios(file.string(), "lanes", "gcc"), doctest::Contains(file.c_str()), std::runtime_error);
  std::filesystem::remove(file);
  CHECK_THROWS_WITH_AS(read_ratios(file.string(), "lanes", "gcc"), doctest::Contains("can't be read"), std::runtime_error);
}

TEST_CASE("a chart shows every line that has points, and escapes what it is told") {
  const auto svg = to_svg({"a < b", "x", "y", {{"first & last", {{1, 10}, {10, 100}}}, {"empty", {}}}});
  CHECK(svg.find("a &lt; b") != std::string::npos);
  CHECK(svg.find("first &amp; last") != std::string::npos);
  CHECK(svg.find(">empty<") == std::string::npos);
  CHECK(svg.find("<polyline") != std::string::npos);
}
