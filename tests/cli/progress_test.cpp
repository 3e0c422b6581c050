#include <weir/cli/progress.hpp>

#include <doctest/doctest.h>

#include <string>

namespace {

using namespace weir::cli;
using namespace std::chrono_literals;

figures example() {
  return {12'300ms, 1'234'567, {{"files", 12}, {"audit", 1'024, lane_state::waiting}}, 37, 3'250'586};
}

TEST_CASE("the progress line shows everything where there is room") {
  CHECK(progress_line(example(), 8'765.4, 200)
        == "1,234,567 changes  8,765/s  files 12  audit 1,024 waiting  lag 37  held 3.1 MiB");
}

TEST_CASE("the progress line says so where the lag is not known") {
  auto now = example();
  now.lag.reset();
  CHECK(progress_line(now, 0, 200) == "1,234,567 changes  0/s  files 12  audit 1,024 waiting  held 3.1 MiB");
}

TEST_CASE("the progress line is never wider than the terminal, and loses its end first") {
  const auto whole = progress_line(example(), 8'765.4, 200);
  for (std::size_t width = 0; width <= whole.size() + 1; ++width) {
    const auto line = progress_line(example(), 8'765.4, width);
    CHECK(line.size() <= width);
    CHECK(whole.starts_with(line));
  }
  CHECK(progress_line(example(), 8'765.4, whole.size()) == whole);
  CHECK(progress_line(example(), 8'765.4, 40) == "1,234,567 changes  8,765/s  files 12");
  CHECK(progress_line(example(), 8'765.4, 20) == "1,234,567 changes");
  CHECK(progress_line(example(), 8'765.4, 5) == "1,234");
}

TEST_CASE("a rate that can't be shows as none") {
  CHECK(progress_line({}, -5, 80) == "0 changes  0/s  held 0 B");
}

TEST_CASE("the facts are the same figures, exact") {
  using facts = std::vector<std::pair<std::string, std::string>>;
  CHECK(progress_facts(example(), 8'765.4)
        == facts{{"changes", "1234567"}, {"changes_per_second", "8765"}, {"backlog.files", "12"}, {"backlog.audit", "1024"},
          {"lane.audit", "waiting"}, {"lag", "37"}, {"bytes_held", "3250586"}});
}

TEST_CASE("only the time does not make figures different") {
  const auto before = example();
  auto now = before;
  now.elapsed += 5s;
  CHECK(now.same_but_for_time(before));
  now.lanes[1].state = lane_state::flowing;
  CHECK_FALSE(now.same_but_for_time(before));
  now = before;
  ++now.changes;
  CHECK_FALSE(now.same_but_for_time(before));
}

TEST_CASE("the rate is that of the last seconds") {
  rate_meter rate;
  CHECK(rate.per_second() == 0);
  rate.on(0ms, 0);
  CHECK(rate.per_second() == 0);
  rate.on(500ms, 500);
  CHECK(rate.per_second() == doctest::Approx(1'000));
  for (int tick = 2; tick <= 20; ++tick)
    rate.on(tick * 500ms, static_cast<std::uint64_t>(tick) * 500);
  CHECK(rate.per_second() == doctest::Approx(1'000));
  // Then nothing more comes: five seconds later nothing is left of it.
  for (int tick = 21; tick <= 25; ++tick)
    rate.on(tick * 500ms, 10'000);
  CHECK(rate.per_second() == doctest::Approx(500));
  for (int tick = 26; tick <= 30; ++tick)
    rate.on(tick * 500ms, 10'000);
  CHECK(rate.per_second() == doctest::Approx(0));
}

TEST_CASE("a clock that stands still or a count that falls gives no nonsense") {
  rate_meter rate;
  rate.on(1s, 100);
  rate.on(1s, 200);
  CHECK(rate.per_second() == doctest::Approx(100));
  rate.on(7s, 50);
  CHECK(rate.per_second() == doctest::Approx(0));
}

} // namespace
