#pragma once

#include "temporary_directory.hpp"

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace weir::cli::test {

/// How a process ended: with a code, or by a signal.
struct process_end {
  int code = -1;
  int signal = 0;

  friend bool operator==(const process_end&, const process_end&) = default;
};

constexpr process_end exited(int code) noexcept {
  return {code, 0};
}
constexpr process_end killed(int signal) noexcept {
  return {-1, signal};
}

/// A program that runs, its output in files. Killed and waited for when the test is over.
class process {
public:
  struct streams {
    int input = -1;            ///< a descriptor for its standard input; -1: /dev/null
    int output = -1;           ///< for its standard output; -1: a file
    int errors = -1;           ///< for its standard error; -1: a file
    std::string terminal = {}; ///< what TERM says
  };

  process(std::vector<std::string> arguments, const std::filesystem::path& directory)
    : process{std::move(arguments), directory, {}} {}
  process(std::vector<std::string> arguments, const std::filesystem::path& directory, streams given);
  ~process();
  process(const process&) = delete;
  process& operator=(const process&) = delete;

  pid_t id() const noexcept { return id_; }
  void send(int signal) const;

  /// Waits until it has ended.
  process_end wait();

  /// Waits at most so long. Absent: it still runs.
  std::optional<process_end> wait_for(std::chrono::milliseconds longest);

  /// What it has written so far.
  std::string output() const;
  std::string errors() const;

private:
  temporary_directory files_;
  pid_t id_ = -1;
  std::optional<process_end> end_;
};

/// Waits until it holds, for a minute at most; whether it did.
bool comes_true(const std::function<bool()>& condition);

} // namespace weir::cli::test
