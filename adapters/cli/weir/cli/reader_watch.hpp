#pragma once

#include <weir/cli/files.hpp>

#include <functional>
#include <thread>

namespace weir::cli {

/// Notices, on a thread of its own, that whoever reads a pipe has gone away: a command that waits for something to print would
/// otherwise wait for nobody.
class reader_watch {
public:
  /// `on_gone` is called once, on the watch's thread, when nobody can read any more what is written to the descriptor. What is
  /// no pipe, socket or terminal always has a reader.
  reader_watch(int descriptor, std::function<void()> on_gone);
  ~reader_watch();
  reader_watch(const reader_watch&) = delete;
  reader_watch& operator=(const reader_watch&) = delete;

private:
  void watch(int descriptor);

  std::function<void()> on_gone_;
  posix::file_descriptor ending_;
  std::thread thread_;
};

} // namespace weir::cli
