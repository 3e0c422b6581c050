#pragma once

#include <weir/backoff.hpp>

#include <chrono>
#include <random>

namespace weir::postgres {

/// 100 ms to 5 s, each between half and all of it: many that lost one server do not come back at once.
class jittered_backoff {
public:
  std::chrono::milliseconds next() {
    const auto whole = pauses_.next().count();
    return std::chrono::milliseconds{std::uniform_int_distribution<std::int64_t>{whole / 2, whole}(random_)};
  }

  void on_progress() noexcept { pauses_.on_progress(); }

private:
  backoff pauses_{std::chrono::milliseconds{100}, std::chrono::seconds{5}};
  std::minstd_rand random_{std::random_device{}()};
};

} // namespace weir::postgres
