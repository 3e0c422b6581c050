#include <weir/cli/files.hpp>
#include <weir/cli/print.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <fcntl.h>
#include <string>
#include <system_error>
#include <unistd.h>

namespace weir::cli {

namespace {

void tell_why(int number) {
  const auto reason = number == EBADF ? "it is closed, or open for reading only" : std::generic_category().message(number);
  write_all(STDERR_FILENO, fmt::format("weir: can't write to standard output: {}\n", reason));
}

} // namespace

bool can_print() {
  const auto flags = ::fcntl(STDOUT_FILENO, F_GETFL);
  if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY)
    return true;
  tell_why(EBADF);
  return false;
}

printed print_some(std::string_view text) {
  const auto failure = write_all(STDOUT_FILENO, text);
  if (failure == 0)
    return printed::all;
  if (failure == EPIPE)
    return printed::reader_gone;
  tell_why(failure);
  return printed::failed;
}

exit_code print(std::string_view text, exit_code code) {
  return print_some(text) == printed::failed ? exit_code::failed : code;
}

} // namespace weir::cli
