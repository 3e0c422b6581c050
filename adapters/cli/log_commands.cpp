#include "log_commands.hpp"

#include <weir/cli/files.hpp>
#include <weir/cli/log_commands.hpp>

#include <unistd.h>
#include <variant>

namespace weir::cli {

exit_code run_log_command(const log_arguments& given) {
#if WEIR_HAS_SQLITE
  return std::visit([&](const auto& asked) { return run_command(given, asked); }, given.what);
#else
  write_all(STDERR_FILENO, "weir log: this program was built without SQLite, which logs are kept in\n");
  return exit_code::usage;
#endif
}

} // namespace weir::cli
