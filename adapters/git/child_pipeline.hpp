#pragma once

#include <weir/error.hpp>

#include "../posix/file_descriptor.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace weir::git {

/// Makes blocked calls return with cancelled, from any thread and for good.
class interruption {
public:
  interruption();
  void raise() noexcept;
  int file() const noexcept { return event_.number(); }

private:
  posix::file_descriptor event_;
};

/// A program to run.
struct command {
  std::string name;                   ///< for errors, as "git rev-list"
  std::vector<std::string> arguments; ///< from the program on
};

/// How a finished pipeline's last program ended, and what all of them said.
struct pipeline_end {
  int exit_status = 0;        ///< of the first program that failed; 128 + the signal's number when a signal ended it
  std::string failed;         ///< that program's name, "" when none did
  std::string standard_error; ///< of all programs, the first 8 KiB
};

/// Programs connected by pipes, as in a shell, whose last output is read here. They run in process groups of their own, so
/// that a terminal's ctrl-C reaches the caller alone. Whatever happens, they are killed and reaped by the destructor.
class child_pipeline {
public:
  enum class readiness { data, quiet, end };
  struct piece {
    readiness is = readiness::end;
    std::size_t size = 0;
  };

  /// @param environment what the programs see instead of the caller's, as NAME=value
  /// Fails with not_found (fact `program`), permission_denied or io_failed.
  static result<child_pipeline> start(
    const std::vector<command>& commands, const std::vector<std::string>& environment, const interruption& interrupted);

  child_pipeline(child_pipeline&& other) noexcept;
  child_pipeline& operator=(child_pipeline&& other) noexcept;
  ~child_pipeline();

  /// Reads what is there, or waits for it: `quiet` when nothing came for so long, `end` when nothing will. What the programs
  /// write to their standard error is read meanwhile, so that they never wait for that. Fails with cancelled or io_failed.
  result<piece> read(char* into, std::size_t room, std::chrono::milliseconds patience);

  /// Waits until all programs have ended. Call it after `end`.
  result<pipeline_end> finish();

private:
  struct child {
    pid_t id = 0;
    std::string name;
    std::optional<int> status; ///< set once it is reaped; its id means nothing any more
  };

  child_pipeline() = default;
  void kill_all() noexcept;
  bool reap(int options) noexcept;
  void drain_errors() noexcept;

  std::vector<child> children_;
  posix::file_descriptor output_;
  posix::file_descriptor errors_;
  int interrupted_ = -1; ///< the interruption's file, which outlives us
  std::string standard_error_;
};

} // namespace weir::git
