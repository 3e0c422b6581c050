#pragma once

#include <functional>
#include <mutex>
#include <utility>

namespace weir::cli {

/// Lets a thread that watches something ask a command to stop, also before it has begun. Any thread.
class stop_switch {
public:
  void request() {
    const std::lock_guard lock{mutex_};
    is_requested_ = true;
    if (stop_)
      stop_();
  }

  /// `stop` is called when it is asked for, at once where it was before; it must not block. Empty: nobody is there any more.
  void attach(std::function<void()> stop) {
    const std::lock_guard lock{mutex_};
    stop_ = std::move(stop);
    if (is_requested_ && stop_)
      stop_();
  }

  bool is_requested() const {
    const std::lock_guard lock{mutex_};
    return is_requested_;
  }

private:
  mutable std::mutex mutex_;
  std::function<void()> stop_;
  bool is_requested_ = false;
};

} // namespace weir::cli
