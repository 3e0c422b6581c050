#pragma once

#include <weir/cli/exit_code.hpp>

#include <string>

namespace weir::cli {

/// What to print instead of doing anything: help that was asked for, or what is wrong with the command line.
struct early_end {
  exit_code code = exit_code::done;
  std::string output;  ///< for standard output
  std::string message; ///< for standard error
};

} // namespace weir::cli
