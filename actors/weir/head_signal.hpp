#pragma once

#include <weir/detail/host.hpp>
#include <weir/error.hpp>
#include <weir/self.hpp>
#include <weir/worker.hpp>

#include <coroutine>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace weir {

class head_signal;

/// Awaits that a shard's head moves. Cancellation point; fails with timed_out and cancelled.
class [[nodiscard]] head_operation : public detail::waiter {
public:
  ~head_operation();
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> frame) {
    start(frame, *frame.promise().root);
  }
  result<void> await_resume();

private:
  friend class head_signal;
  head_operation(head_signal& of, std::vector<std::int64_t> after, deadline until) noexcept
    : signal_{&of},
      after_{std::move(after)},
      until_{until} {}
  void start(std::coroutine_handle<> frame, detail::root_frame& root);
  void settle(std::optional<error> failure) noexcept;
  void on_stop() noexcept override;
  void on_deadline() noexcept override;

  head_signal* signal_;
  std::vector<std::int64_t> after_;
  deadline until_;
  bool settled_ = false;
  std::optional<error> failure_;
  std::optional<detail::wake_point> back_;
};

/// How a store's thread tells coroutines that there is more to read: what log_topic::wait() of an adapter in this process is
/// made of.
class head_signal {
public:
  explicit head_signal(std::size_t shards) : heads_(shards, 0) {}
  head_signal(const head_signal&) = delete;
  head_signal& operator=(const head_signal&) = delete;

  /// Completes when some shard's head is beyond the entry that follows `after`, at once when one is. The signal must outlive
  /// it.
  head_operation wait(std::vector<std::int64_t> after, deadline until) {
    return head_operation{*this, std::move(after), until};
  }

  /// The shard's head is there now. Any thread; an older head changes nothing (false).
  bool publish(std::uint32_t shard, std::int64_t head);

  /// Whether anybody waits. Any thread.
  bool has_waiting() const;

private:
  friend class head_operation;
  struct waiting {
    const head_operation* who;
    const std::vector<std::int64_t>* after;
    actor_ref actor;
    detail::endpoint_address reply;
  };

  bool is_there(const std::vector<std::int64_t>& after) const noexcept;
  bool add(waiting one);
  void remove(const head_operation& who) noexcept;

  mutable std::mutex mutex_;
  std::vector<std::int64_t> heads_;
  std::vector<waiting> waiting_;
};

} // namespace weir
