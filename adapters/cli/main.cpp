#include <weir/cli/arguments.hpp>
#include <weir/cli/commands.hpp>
#include <weir/cli/files.hpp>
#include <weir/cli/signals.hpp>

#include <fmt/format.h>

#include <exception>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

using namespace weir::cli;

exit_code execute(std::vector<std::string> given) {
  const auto parsed = parse_arguments(given);
  if (const auto* end = std::get_if<early_end>(&parsed)) {
    write_all(STDOUT_FILENO, end->output);
    write_all(STDERR_FILENO, end->message);
    return end->code;
  }
  const auto& asked = std::get<arguments>(parsed);
  switch (asked.what) {
  case command::run: return run_pipeline(asked);
  case command::check: return check_pipeline(asked);
  case command::version: break;
  }
  write_all(STDOUT_FILENO, version_text() + "\n");
  return exit_code::done;
}

} // namespace

int main(int count, char** values) {
  ignore_broken_pipes();
  try {
    return number_of(execute({values + 1, values + count}));
  } catch (const std::exception& failure) {
    // Out of memory, threads or descriptors: everything that is expected is a value.
    write_all(STDERR_FILENO, fmt::format("weir: gave up: {}\n", failure.what()));
    return number_of(exit_code::failed);
  }
}
