#pragma once

#include <weir/error.hpp>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>

namespace weir::detail {

/// How an actor ended, for plain threads that wait for it. Set once; later calls change nothing.
class ending {
public:
  void set(result<void> how) {
    {
      const std::lock_guard lock{mutex_};
      if (how_)
        return;
      how_.emplace(std::move(how));
    }
    changed_.notify_all();
  }

  result<void> wait() {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return how_.has_value(); });
    return *how_;
  }

  std::optional<result<void>> wait_for(std::chrono::milliseconds timeout) {
    std::unique_lock lock{mutex_};
    changed_.wait_for(lock, timeout, [this] { return how_.has_value(); });
    return how_;
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<result<void>> how_;
};

} // namespace weir::detail
