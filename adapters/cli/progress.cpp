#include <weir/cli/progress.hpp>
#include <weir/cli/units.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weir::cli {

namespace {

constexpr std::chrono::milliseconds rate_window{5'000};
constexpr std::string_view separator = "  ";

std::string_view mark_of(lane_state state) noexcept {
  switch (state) {
  case lane_state::flowing: return "";
  case lane_state::filling: return " filling";
  case lane_state::waiting: return " waiting";
  }
  return "";
}

std::string rate_text(double changes_per_second) {
  return grouped(static_cast<std::uint64_t>(std::llround(std::max(0.0, changes_per_second))));
}

std::string lane_text(const lane_standing& lane) {
  return fmt::format("{} {}{}", lane.name, grouped(lane.backlog), mark_of(lane.state));
}

} // namespace

bool figures::same_but_for_time(const figures& other) const {
  return changes == other.changes && lanes == other.lanes && lag == other.lag && bytes_held == other.bytes_held;
}

void rate_meter::on(std::chrono::milliseconds elapsed, std::uint64_t changes) {
  if (samples_.empty())
    samples_.emplace_back(0, 0);
  if (elapsed <= samples_.back().first)
    return;
  samples_.emplace_back(elapsed, changes);
  // The oldest that is kept is the last one outside of the window, so that the window is always covered.
  while (samples_.size() > 2 && samples_[1].first + rate_window <= elapsed)
    samples_.erase(samples_.begin());
  const auto& [since, before] = samples_.front();
  const auto seconds = std::chrono::duration<double>(elapsed - since).count();
  rate_ = static_cast<double>(changes - std::min(changes, before)) / seconds;
}

std::string progress_line(const figures& now, double changes_per_second, std::size_t width) {
  // Every part is of characters that take one column each: names are plain by the configuration's rules.
  auto line = counted(now.changes, "change", "changes");
  const auto rate = fmt::format("{}{}/s", separator, rate_text(changes_per_second));
  const auto lag = now.lag ? fmt::format("{}lag {}", separator, grouped(*now.lag)) : std::string{};
  const auto held = fmt::format("{}held {}", separator, rounded_size(now.bytes_held));
  if (line.size() > width)
    return line.substr(0, width);
  auto room = width - line.size();
  const auto fits = [&](const std::string& part) {
    if (part.size() > room)
      return false;
    room -= part.size();
    return true;
  };
  if (!fits(rate))
    return line;
  line += rate;
  for (const auto& lane : now.lanes) {
    const auto part = fmt::format("{}{}", separator, lane_text(lane));
    if (!fits(part))
      return line;
    line += part;
  }
  if (!fits(lag))
    return line;
  line += lag;
  return fits(held) ? line + held : line;
}

std::vector<std::pair<std::string, std::string>> progress_facts(const figures& now, double changes_per_second) {
  std::vector<std::pair<std::string, std::string>> facts{
    {"changes", std::to_string(now.changes)},
    {"changes_per_second", fmt::format("{:.0f}", std::max(0.0, changes_per_second))},
  };
  for (const auto& lane : now.lanes)
    facts.emplace_back("backlog." + lane.name, std::to_string(lane.backlog));
  for (const auto& lane : now.lanes)
    if (const auto mark = mark_of(lane.state); !mark.empty())
      facts.emplace_back("lane." + lane.name, std::string{mark.substr(1)});
  if (now.lag)
    facts.emplace_back("lag", std::to_string(*now.lag));
  facts.emplace_back("bytes_held", std::to_string(now.bytes_held));
  return facts;
}

} // namespace weir::cli
