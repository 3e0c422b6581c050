#pragma once

#include <weir/cli/arguments.hpp>
#include <weir/cli/exit_code.hpp>

namespace weir::cli {

/// Runs the pipeline until its source ends, a signal comes or something gives up. Blocks SIGINT, SIGTERM and SIGHUP in the
/// calling thread meanwhile; call it before any other thread is started. Does not return after a second signal.
exit_code run_pipeline(const arguments& given);

/// Prints what is wrong with the configuration, or that nothing is.
exit_code check_pipeline(const arguments& given);

} // namespace weir::cli
