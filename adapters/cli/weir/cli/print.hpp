#pragma once

#include <weir/cli/exit_code.hpp>

#include <string_view>

namespace weir::cli {

enum class printed {
  all,
  reader_gone, ///< whoever read it has gone away, and has what it wanted
  failed,      ///< and that was said on standard error
};

/// Whether standard output can be written to at all; where the caller has closed it, or opened it for reading only, says so on
/// standard error. For whatever waits before it prints, and would wait for nothing.
bool can_print();

/// Writes to standard output.
printed print_some(std::string_view text);

/// Writes what was asked for to standard output, and returns `code`; where that fails, says so on standard error and returns
/// `failed`. A reader that has gone away has what it wanted.
exit_code print(std::string_view text, exit_code code);

} // namespace weir::cli
