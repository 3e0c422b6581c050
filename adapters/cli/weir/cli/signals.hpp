#pragma once

#include <weir/cli/files.hpp>

#include <csignal>
#include <functional>
#include <thread>

namespace weir::cli {

/// Waits for the signals that ask the program to end, on a thread of its own: no code of ours runs in a signal handler.
///
/// The constructor blocks SIGINT, SIGTERM and SIGHUP in the calling thread, and so in every thread that it starts later; make
/// it before any other thread. A signal that the program was started with as ignored (under nohup, or in the background of a
/// shell script) stays ignored. The destructor joins the thread and puts the calling thread's mask back as it was.
class signal_watch {
public:
  /// `on_signal` is called on the watch's thread, with the signal's number and how many have come so far, this one included.
  /// The first one's repetition within a tenth of a second does not count.
  explicit signal_watch(std::function<void(int number, int count)> on_signal);
  ~signal_watch();
  signal_watch(const signal_watch&) = delete;
  signal_watch& operator=(const signal_watch&) = delete;

private:
  void watch();

  std::function<void(int, int)> on_signal_;
  sigset_t watched_{};
  sigset_t before_{};
  posix::file_descriptor signals_;
  posix::file_descriptor ending_;
  std::thread thread_;
};

/// "SIGINT", "SIGTERM", "SIGHUP".
const char* name_of_signal(int number) noexcept;

/// Lets a write to a closed pipe, or beyond the size that files may have here, fail with an error, instead of ending the
/// process.
void let_writes_fail() noexcept;

} // namespace weir::cli
