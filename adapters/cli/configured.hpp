#pragma once

#include <weir/cli/config.hpp>
#include <weir/cli/exit_code.hpp>
#include <weir/error.hpp>

#include <filesystem>
#include <optional>

namespace weir::cli {

/// A configuration, and everything that stands against running it: found before anything is begun or changed.
struct configured {
  std::optional<config> read;   ///< absent where the file could not be read at all
  config_errors mistakes;       ///< in the file, or in what it names
  std::optional<error> failure; ///< of the file itself, or of the state directory
  exit_code code = exit_code::done;
  bool has_state = false; ///< something was confirmed before

  bool is_sound() const { return code == exit_code::done; }
};

/// Reads the file and looks at the things that it names. A state directory that another process has is a failure only if
/// `to_run`. Blocks; changes nothing.
configured configure_from(const std::filesystem::path& file, bool to_run);

} // namespace weir::cli
