#pragma once

#include <weir/cli/bus_arguments.hpp>
#include <weir/cli/exit_code.hpp>

namespace weir::cli {

/// Runs a command of `weir bus`. Blocks SIGINT, SIGTERM and SIGHUP in the calling thread meanwhile, and does not return after
/// a second signal; call it before any other thread is started.
exit_code run_bus_command(const bus_arguments& given);

} // namespace weir::cli
