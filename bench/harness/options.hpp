#pragma once

#include "figures.hpp"

#include <string>
#include <vector>

namespace weir_bench {

/// The command line of the benchmark program of that name, all of it: runs the cases, prints the table, writes JSON and plots,
/// checks the ratios. Returns the exit code: 0, 1 when a run failed or (with --check) a ratio fell, 2 for a wrong command line.
int bench_main(int count, char** words, const std::string& program, const std::vector<bench_case>& cases);

} // namespace weir_bench
