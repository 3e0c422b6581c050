#pragma once

#include <weir/error.hpp>

#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace weir::detail {

/// How a durable stream's log does, for any thread to read.
class log_report {
public:
  /// The stream is over.
  void fail(error why) {
    const std::lock_guard lock{mutex_};
    failure_ = std::move(why);
  }

  std::optional<error> failure() const {
    const std::lock_guard lock{mutex_};
    return failure_;
  }

  /// One of those who use the log tries again what failed; absent: it goes on.
  void note(const void* who, std::optional<error> why) {
    const std::lock_guard lock{mutex_};
    if (why)
      failing_.insert_or_assign(who, std::move(*why));
    else
      failing_.erase(who);
  }

  std::optional<error> trouble() const {
    const std::lock_guard lock{mutex_};
    return failing_.empty() ? std::nullopt : std::optional{failing_.begin()->second};
  }

private:
  mutable std::mutex mutex_;
  std::optional<error> failure_;
  std::map<const void*, error> failing_;
};

} // namespace weir::detail
