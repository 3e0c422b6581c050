#pragma once

#include <algorithm>
#include <chrono>

namespace weir {

/// How long to wait before the next try: doubles from `first` to `longest`, and starts again after progress.
class backoff {
public:
  explicit backoff(std::chrono::milliseconds first = std::chrono::seconds{1},
    std::chrono::milliseconds longest = std::chrono::seconds{60}) noexcept
    : first_{std::min(first, longest)},
      longest_{longest},
      next_{first_} {}

  /// The wait before the try that comes now.
  std::chrono::milliseconds next() noexcept {
    const auto wait = next_;
    next_ = next_ > longest_ / 2 ? longest_ : next_ * 2;
    return wait;
  }

  void on_progress() noexcept { next_ = first_; }

private:
  std::chrono::milliseconds first_;
  std::chrono::milliseconds longest_;
  std::chrono::milliseconds next_;
};

} // namespace weir
