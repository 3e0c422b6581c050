#include <weir/cli/units.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <span>

namespace weir::cli {

namespace {

struct unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr std::array size_units{
  unit{"B", 1},
  unit{"KiB", std::uint64_t{1} << 10},
  unit{"MiB", std::uint64_t{1} << 20},
  unit{"GiB", std::uint64_t{1} << 30},
};

constexpr std::array duration_units{
  unit{"ms", 1},
  unit{"s", 1000},
  unit{"min", 60 * 1000},
  unit{"h", 60 * 60 * 1000},
};

std::optional<std::uint64_t> parse(std::string_view text, std::span<const unit> units, std::string_view unit_if_none) noexcept {
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{})
    return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.empty())
    text = unit_if_none;
  else
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  for (const auto& one : units)
    if (one.name == text && number <= std::numeric_limits<std::uint64_t>::max() / one.factor)
      return number * one.factor;
  return std::nullopt;
}

std::string exact(std::uint64_t number, std::span<const unit> units) {
  const auto* largest = &units.front();
  for (const auto& one : units)
    if (number != 0 && number % one.factor == 0)
      largest = &one;
  return fmt::format("{}{}", number / largest->factor, largest->name);
}

} // namespace

std::optional<std::uint64_t> parse_size(std::string_view text) noexcept {
  return parse(text, size_units, "B");
}

std::string exact_size(std::uint64_t bytes) {
  return exact(bytes, size_units);
}

std::string rounded_size(std::uint64_t bytes) {
  static constexpr std::array names{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024)
    return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes);
  std::size_t at = 0;
  // 999.5 and above would print as 1000, which is one character more than it should take.
  while (value >= 999.5 && at + 1 < names.size()) {
    value /= 1024;
    ++at;
  }
  return value < 9.95 ? fmt::format("{:.1f} {}", value, names[at]) : fmt::format("{:.0f} {}", value, names[at]);
}

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) noexcept {
  constexpr std::uint64_t most = std::uint64_t{1} << 53;
  const auto parsed = parse(text, duration_units, {});
  if (!parsed || *parsed > most)
    return std::nullopt;
  return std::chrono::milliseconds{*parsed};
}

std::string exact_duration(std::chrono::milliseconds duration) {
  return exact(static_cast<std::uint64_t>(duration.count()), duration_units);
}

std::string rounded_duration(std::chrono::milliseconds duration) {
  const auto tenths = (duration.count() + 50) / 100;
  if (tenths < 600)
    return fmt::format("{}.{} s", tenths / 10, tenths % 10);
  const auto seconds = (duration.count() + 500) / 1000;
  if (seconds < 3600)
    return fmt::format("{} min {} s", seconds / 60, seconds % 60);
  const auto minutes = seconds / 60;
  return fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

std::string grouped(std::uint64_t number) {
  auto digits = std::to_string(number);
  for (auto at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string counted(std::uint64_t number, std::string_view singular, std::string_view plural) {
  return fmt::format("{} {}", grouped(number), number == 1 ? singular : plural);
}

} // namespace weir::cli
