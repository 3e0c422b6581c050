#pragma once

#include <weir/cli/exit_code.hpp>

#include <filesystem>
#include <span>
#include <string>
#include <variant>

namespace weir::cli {

enum class command { run, check, version };

/// What the command line asks for.
struct arguments {
  command what = command::run;
  std::filesystem::path file; ///< of the configuration; empty for `version`
  bool quiet = false;
  bool json = false;
};

/// What to print instead of doing anything: help that was asked for, or what is wrong with the command line.
struct early_end {
  exit_code code = exit_code::done;
  std::string output;  ///< for standard output
  std::string message; ///< for standard error
};

/// Reads the arguments that follow the program's name. Pure.
std::variant<arguments, early_end> parse_arguments(std::span<const std::string> given);

/// "weir 0.1.0".
std::string version_text();

} // namespace weir::cli
