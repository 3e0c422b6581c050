#pragma once

#include "../posix/file_descriptor.hpp"

#include <atomic>
#include <filesystem>
#include <functional>
#include <thread>

namespace weir::sqlite_log {

/// Notices what other processes write to a log's file, on a thread of its own, so that nobody polls: the kernel tells (inotify)
/// that the file or its write-ahead log was written. That is shortly before the commit shows, so the file is looked at again,
/// at growing intervals, for a while; and so it is when the watch begins, because nobody tells what was written just before.
class log_watch {
public:
  /// `look` is called on the watch's thread: it looks whether there is more, and says whether there was.
  log_watch(std::filesystem::path path, std::function<bool()> look);
  ~log_watch();
  log_watch(const log_watch&) = delete;
  log_watch& operator=(const log_watch&) = delete;

  /// Has the file looked at soon: somebody has begun to wait. Any thread.
  void look_soon() noexcept;

private:
  void run();
  bool read_events() noexcept;
  void wake() noexcept;

  std::filesystem::path path_;
  std::function<bool()> look_;
  posix::file_descriptor changes_; // not open where the kernel has none left: then the file is looked at all the time
  posix::file_descriptor wakes_;
  std::atomic<bool> ending_{false};
  std::thread thread_; // last: it uses the others
};

} // namespace weir::sqlite_log
