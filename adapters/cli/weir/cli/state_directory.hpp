#pragma once

#include <weir/cli/files.hpp>
#include <weir/cli/saved_state.hpp>
#include <weir/error.hpp>
#include <weir/position.hpp>

#include <filesystem>
#include <optional>
#include <sys/types.h>

namespace weir::cli {

/// The directory in which one pipeline keeps what it must know after a restart: `position.json`, the confirmed position;
/// `dead-letters.jsonl`; and `lock`, which a running program holds. The operating system lets go of the lock when the process
/// ends, however it ends.
///
/// Functions block on the disk; one thread at a time.
class state_directory {
public:
  /// Takes the directory for this process, creating it if need be, and reads what is kept there. Fails with in_use (fact
  /// `pid`) while another process has it; with wrong_owner where the state was kept for another pipeline or source; with
  /// corrupt or unsupported where the state can't be read; with permission_denied, storage_full, io_failed. Nothing that was
  /// there is changed by a failure.
  static result<state_directory> open(const std::filesystem::path& path, const state_owner& owner);

  /// Up to where everything was acknowledged, as of the last save(); absent: nothing ever was.
  const std::optional<position>& confirmed() const noexcept { return confirmed_; }

  /// Keeps the position: on return it is on the disk. Refuses with position_not_above what lies before the confirmed one;
  /// saving the same again does nothing. On a failure the position kept before stands.
  result<void> save(const position& at);

  const std::filesystem::path& path() const noexcept { return path_; }
  std::filesystem::path dead_letters() const { return path_ / "dead-letters.jsonl"; }

private:
  state_directory(
    std::filesystem::path path, state_owner owner, posix::file_descriptor lock, std::optional<position> confirmed);

  std::filesystem::path path_;
  state_owner owner_;
  posix::file_descriptor lock_;
  std::optional<position> confirmed_;
};

/// What a look at a state directory shows.
struct state_glance {
  bool there = false;                ///< the directory exists
  std::optional<position> confirmed; ///< absent: nothing was confirmed yet
  std::optional<pid_t> holder;       ///< the process that has it now; 0 where that one has not said its number
};

/// Looks without taking or changing anything. Fails as state_directory::open() would, but for in_use.
result<state_glance> glance_at_state(const std::filesystem::path& path, const state_owner& owner);

/// What open() fails with while the process has the directory; 0 where it has not said its number.
error in_use(const std::filesystem::path& directory, pid_t holder);

} // namespace weir::cli
