#pragma once

#include <weir/cli/exit_code.hpp>
#include <weir/cli/log_arguments.hpp>

namespace weir::cli {

/// Runs a command of `weir log`. `append` and `tail` block SIGINT, SIGTERM and SIGHUP in the calling thread meanwhile, and do
/// not return after a second signal; call it before any other thread is started.
exit_code run_log_command(const log_arguments& given);

} // namespace weir::cli
