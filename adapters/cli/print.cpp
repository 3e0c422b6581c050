#include <weir/cli/files.hpp>
#include <weir/cli/print.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <unistd.h>

namespace weir::cli {

exit_code print(std::string_view text, exit_code code) {
  const auto failure = write_all(STDOUT_FILENO, text);
  if (failure == 0 || failure == EPIPE)
    return code;
  const auto reason = std::generic_category().message(failure);
  write_all(STDERR_FILENO, fmt::format("weir: can't write to standard output: {}\n", reason));
  return exit_code::failed;
}

} // namespace weir::cli
