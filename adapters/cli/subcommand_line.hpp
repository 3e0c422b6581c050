#pragma once

#include <weir/cli/early_end.hpp>
#include <weir/error.hpp>

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// The lines of commands that have commands of their own, as `weir log append FILE`.
namespace weir::cli {

struct option_row {
  std::string_view name;
  std::string_view value; ///< what stands for it in the help; empty: the option is a flag
  std::string_view text;
};

struct command_row {
  std::string_view name;
  std::string_view text;
  std::span<const option_row> options;
  std::string_view footer; ///< an example, and what else a user must know
  bool has_operand = true; ///< it works on one of what its family works on
};

/// Commands that work on the same kind of thing.
struct command_family {
  std::string_view name; ///< "weir log"
  std::string_view text;
  std::string_view footer;
  std::span<const command_row> commands;
  std::string_view operand;      ///< what they work on: "FILE"
  std::string_view operand_text; ///< "The log's file"
  std::string_view missing;      ///< what its lack is told: "the log's FILE is missing, as in \"{} events.db\""
  bool operand_is_file = true;   ///< behind the mark --, one that begins with a dash is a path, "./-x"
};

/// A command's options as they were given, flags included.
class given_options {
public:
  void add(std::string_view name, std::string value) { values_.emplace(name, std::move(value)); }

  bool has(std::string_view name) const { return values_.contains(name); }
  std::optional<std::string> text(std::string_view name) const;

  // Absent where the option is; fail where its value is none.
  result<std::optional<std::uint64_t>> number(std::string_view name, std::uint64_t least, std::uint64_t most) const;
  result<std::optional<std::uint64_t>> size(std::string_view name) const;
  result<std::optional<std::chrono::nanoseconds>> duration(std::string_view name) const;

  /// What an option that needs another one, or excludes one, is told.
  template <class... Args>
  static error mistake(fmt::format_string<Args...> sentence, Args&&... args) {
    return error{errc::invalid_argument, fmt::format(sentence, std::forward<Args>(args)...)};
  }

private:
  std::map<std::string_view, std::string> values_;
};

struct given_command {
  const command_row* row = nullptr;
  std::string operand = {};
  given_options options = {};
};

/// Reads what follows the family's name.
std::variant<given_command, early_end> parse_subcommand(const command_family& family, std::span<const std::string> given);

} // namespace weir::cli
