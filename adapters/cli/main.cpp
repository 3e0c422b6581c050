#include <weir/cli/arguments.hpp>
#include <weir/cli/bus_commands.hpp>
#include <weir/cli/commands.hpp>
#include <weir/cli/files.hpp>
#include <weir/cli/log_commands.hpp>
#include <weir/cli/print.hpp>
#include <weir/cli/signals.hpp>

#include <fmt/format.h>

#include <exception>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

using namespace weir::cli;

/// Sees to it that no file that is opened later gets the number of a standard stream that the caller has closed. What is
/// written to such a stream fails.
void reserve_standard_streams() {
  for (int opened = 0; opened >= 0 && opened <= STDERR_FILENO;) {
    opened = ::open("/dev/null", O_RDONLY);
    if (opened > STDERR_FILENO)
      ::close(opened);
  }
}

exit_code execute(std::vector<std::string> given) {
  const auto parsed = parse_arguments(given);
  if (const auto* end = std::get_if<early_end>(&parsed)) {
    write_all(STDERR_FILENO, end->message);
    return print(end->output, end->code);
  }
  if (const auto* log = std::get_if<log_arguments>(&parsed))
    return run_log_command(*log);
  if (const auto* bus = std::get_if<bus_arguments>(&parsed))
    return run_bus_command(*bus);
  const auto& asked = std::get<arguments>(parsed);
  switch (asked.what) {
  case command::run: return run_pipeline(asked);
  case command::check: return check_pipeline(asked);
  case command::version: break;
  }
  return print(version_text() + "\n", exit_code::done);
}

} // namespace

int main(int count, char** values) {
  reserve_standard_streams();
  let_writes_fail();
  try {
    return number_of(execute({values + 1, values + count}));
  } catch (const std::exception& failure) {
    // Out of memory, threads or descriptors: everything that is expected is a value.
    write_all(STDERR_FILENO, fmt::format("weir: gave up: {}\n", failure.what()));
    return number_of(exit_code::failed);
  }
}
