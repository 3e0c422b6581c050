#pragma once

#include <string>
#include <vector>

namespace weir_bench {

/// What another program used.
struct process_use {
  double seconds = 0;        ///< from its start until it had ended
  double cpu_seconds = 0;    ///< its own and that of the programs that it waited for
  double peak_rss_bytes = 0; ///< its own alone
};

/// Runs a program (a path, then its arguments) with its standard output thrown away, and waits for it. Throws
/// std::runtime_error when it can't be started or does not exit with 0.
process_use run_watched(std::vector<std::string> words);

} // namespace weir_bench
