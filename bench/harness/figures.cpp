#include "figures.hpp"

#include <algorithm>

namespace weir_bench {

namespace {

std::optional<double> value_of(const figures& run, const std::string& figure) {
  if (run.items <= 0 || run.seconds <= 0)
    return std::nullopt;
  if (figure == "items_per_s")
    return run.items / run.seconds;
  if (figure == "ns_per_item")
    return run.seconds * 1e9 / run.items;
  if (figure == "cpu_ns_per_item")
    return run.cpu_seconds * 1e9 / run.items;
  if (figure == "allocs_per_item")
    return run.allocations_per_item;
  if (figure == "bytes_copied_per_item")
    return run.bytes_copied_per_item;
  if (figure == "peak_rss_bytes")
    return run.peak_rss_bytes;
  if (figure == "p50_ns")
    return run.p50_ns;
  if (figure == "p99_ns")
    return run.p99_ns;
  if (figure == "p999_ns")
    return run.p999_ns;
  return std::nullopt;
}

} // namespace

double median(std::vector<double> values) {
  if (values.empty())
    return 0;
  std::ranges::sort(values);
  const auto middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double spread(const std::vector<double>& values) {
  const auto middle = median(values);
  if (middle == 0)
    return 0;
  const auto [smallest, largest] = std::ranges::minmax(values);
  return (largest - smallest) / middle;
}

std::vector<double> values_of(const measured_case& one, const std::string& figure) {
  std::vector<double> values;
  for (const auto& run : one.repetitions)
    if (const auto value = value_of(run, figure))
      values.push_back(*value);
  return values;
}

} // namespace weir_bench
