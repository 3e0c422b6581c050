#pragma once

#include "figures.hpp"
#include "ratios.hpp"

#include <functional>
#include <string>
#include <vector>

namespace weir_bench {

struct plan {
  std::string program; ///< which ratios apply
  std::vector<std::string> policies = {"stealing", "sharing"};
  std::string filter; ///< a case is run when its name (with its suffix) contains this
  int repetitions = 5;
  double seconds = 0.4;
  std::vector<ratio> ratios = {}; ///< whose cases run right after one another
};

/// The case's name under that policy: the first policy there is gives it no suffix.
std::string name_under(const bench_case& one, const std::string& policy);

/// Runs every chosen case in a process of its own, all cases once, then all again, and so on, each with its peers right behind
/// it: what disturbs the machine for a while then disturbs a case and its peers alike. A case that fails or hangs is told on
/// standard error and not run again.
std::vector<measured_case> run_all(const std::vector<bench_case>& cases, const plan& wanted);

/// What such a process does: measures that case once and writes its figures to the given descriptor. Returns its exit code.
int run_one(const std::vector<bench_case>& cases, const std::string& name, const run_settings& settings, int descriptor);

} // namespace weir_bench
