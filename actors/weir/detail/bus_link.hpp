#pragma once

#include <weir/bus.hpp>
#include <weir/head_signal.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

namespace weir::detail {

/// Whether a hint that somebody waits for was taken. Any thread.
class commit_ticket {
public:
  void settle(result<void> outcome) {
    {
      const std::lock_guard lock{mutex_};
      outcome_.emplace(std::move(outcome));
    }
    signal_.publish(0, 1);
  }

  /// Completes when it is settled. Cancellation point.
  head_operation wait() { return signal_.wait({-1}, deadline::never()); }

  std::optional<result<void>> outcome() const {
    const std::lock_guard lock{mutex_};
    return outcome_;
  }

private:
  mutable std::mutex mutex_;
  std::optional<result<void>> outcome_;
  head_signal signal_{1};
};

/// An id for a bus that is opened.
bus_id draw_bus_id();

error bus_is_closed();

/// Nanoseconds since 1970, by which hints are stamped and their lag is measured.
std::int64_t wall_clock() noexcept;

/// What is behind a bus: a hub in this process, or a server. Closed at the latest when it is destroyed. Any thread.
class bus_link {
public:
  bus_link() = default;
  virtual ~bus_link() = default;
  bus_link(const bus_link&) = delete;
  bus_link& operator=(const bus_link&) = delete;

  virtual bus_id id() const noexcept = 0;

  /// Topic and size are right. Never waits. `told` is settled once, if it is given and this succeeds.
  virtual result<void> publish(
    std::string_view topic, std::string_view key, std::string_view payload, std::shared_ptr<commit_ticket> told) = 0;

  virtual result<std::shared_ptr<subscription_state>> subscribe(std::string_view topic, subscription_options how) = 0;
  virtual void close() noexcept = 0;
  virtual bus_stats stats() const = 0;

  void count_refused() noexcept { refused_.fetch_add(1, std::memory_order_relaxed); }

protected:
  std::uint64_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }

private:
  std::atomic<std::uint64_t> refused_{0};
};

} // namespace weir::detail
