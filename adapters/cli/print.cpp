#include <weir/cli/files.hpp>
#include <weir/cli/print.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <unistd.h>

namespace weir::cli {

printed print_some(std::string_view text) {
  const auto failure = write_all(STDOUT_FILENO, text);
  if (failure == 0)
    return printed::all;
  if (failure == EPIPE)
    return printed::reader_gone;
  const auto reason = std::generic_category().message(failure);
  write_all(STDERR_FILENO, fmt::format("weir: can't write to standard output: {}\n", reason));
  return printed::failed;
}

exit_code print(std::string_view text, exit_code code) {
  return print_some(text) == printed::failed ? exit_code::failed : code;
}

} // namespace weir::cli
