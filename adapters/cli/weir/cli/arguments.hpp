#pragma once

#include <weir/cli/bus_arguments.hpp>
#include <weir/cli/early_end.hpp>
#include <weir/cli/log_arguments.hpp>

#include <filesystem>
#include <span>
#include <string>
#include <variant>

namespace weir::cli {

enum class command { run, check, version };

/// What the command line asks for, for a pipeline.
struct arguments {
  command what = command::run;
  std::filesystem::path file; ///< of the configuration; empty for `version`
  bool quiet = false;
  bool json = false;
};

/// What the command line asks for; `weir log` and `weir bus` have arguments of their own.
using parsed_arguments = std::variant<arguments, log_arguments, bus_arguments, early_end>;

/// Reads the arguments that follow the program's name. Pure.
parsed_arguments parse_arguments(std::span<const std::string> given);

/// "weir 0.1.0".
std::string version_text();

} // namespace weir::cli
