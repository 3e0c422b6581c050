#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace weir_bench {

/// What one run of one case found. Percentiles are absent where nothing was timed one by one, and what is counted inside of a
/// process where that process is another program.
struct figures {
  double items = 0;
  double seconds = 0;     ///< wall time of those items
  double cpu_seconds = 0; ///< of all threads, for the same items: steadier than wall time where the machine is shared
  std::optional<double> allocations_per_item = {};
  std::optional<double> bytes_copied_per_item = {}; ///< of payload
  double peak_rss_bytes = 0;                        ///< of the whole process, from its start
  std::optional<double> p50_ns = {};
  std::optional<double> p99_ns = {};
  std::optional<double> p999_ns = {};
};

struct run_settings {
  double seconds = 0.4;            ///< how long the measured part is meant to take
  std::uint64_t items = 0;         ///< exactly so many instead, and no offered load afterwards: for profilers; 0: as said
  std::string policy = "stealing"; ///< of CAF's scheduler: stealing or sharing
};

/// One thing to measure. Runs in a process of its own, which measures once and ends.
struct bench_case {
  std::string name;
  bool uses_scheduler = true; ///< whether the policy makes a difference
  std::function<figures(const run_settings&)> run;
};

/// A case under one policy: what a report has a line for.
struct measured_case {
  std::string name; ///< with "@sharing" behind it under that policy
  std::vector<figures> repetitions;
};

/// The middle one; the mean of the two middle ones of an even number. Of nothing: 0.
double median(std::vector<double> values);

/// (largest − smallest) / median.
double spread(const std::vector<double>& values);

/// That figure of all repetitions. Names are those of the report: items_per_s, ns_per_item, p50_ns, p99_ns, p999_ns,
/// allocs_per_item, bytes_copied_per_item, peak_rss_bytes, cpu_ns_per_item. Empty when the figure is unknown or absent.
std::vector<double> values_of(const measured_case& one, const std::string& figure);

} // namespace weir_bench
