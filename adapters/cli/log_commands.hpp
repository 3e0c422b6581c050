#pragma once

#include <weir/cli/exit_code.hpp>
#include <weir/cli/log_arguments.hpp>

/// Each command of `weir log`. Each says what went wrong, and returns how the program ends.
namespace weir::cli {

exit_code run_command(const log_arguments& given, const log_create& asked);
exit_code run_command(const log_arguments& given, const log_append& asked);
exit_code run_command(const log_arguments& given, const log_read& asked);
exit_code run_command(const log_arguments& given, const log_head& asked);
exit_code run_command(const log_arguments& given, const log_trim& asked);
exit_code run_command(const log_arguments& given, const log_snapshot& asked);
exit_code run_command(const log_arguments& given, const log_snapshot_list& asked);
exit_code run_command(const log_arguments& given, const log_snapshot_read& asked);
exit_code run_command(const log_arguments& given, const log_checkpoint_list& asked);
exit_code run_command(const log_arguments& given, const log_checkpoint_drop& asked);
exit_code run_command(const log_arguments& given, const log_checkpoint_set& asked);
exit_code run_command(const log_arguments& given, const log_scrub& asked);

} // namespace weir::cli
