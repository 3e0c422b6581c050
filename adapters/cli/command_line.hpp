#pragma once

#include <weir/cli/early_end.hpp>

#include <CLI/CLI.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What the readers of command lines have in common. CLI11 reads; what is missing or too much is found by them, where it can be
/// said better.
namespace weir::cli {

/// What follows "--" is a file, whatever it begins with.
std::vector<std::string> without_mark(std::span<const std::string> given);

/// What CLI11 ended with: help or the version, or a fault, which is told with the prefix.
early_end ended(const CLI::App& app, const CLI::ParseError& ending, std::string_view prefix);

/// A mistake in one sentence, and where there is help.
early_end misused(std::string_view prefix, std::string_view sentence);

/// The same, with what was most likely meant by something that is not known.
early_end unknown(
  std::string_view prefix, std::string_view kind, std::string_view given, std::span<const std::string_view> valid);

} // namespace weir::cli
