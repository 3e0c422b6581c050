#pragma once

#include <weir/error.hpp>
#include <weir/self.hpp>

#include <algorithm>
#include <coroutine>
#include <optional>
#include <utility>
#include <vector>

namespace weir {

/// Lets coroutines of one actor wait until something among them has changed: test, wait, test again. Belongs to one actor and
/// outlives all who wait.
class condition {
public:
  /// Cancellation point; fails with timed_out and cancelled.
  class [[nodiscard]] wait_operation : public detail::waiter {
  public:
    ~wait_operation() { std::erase(condition_->waiting_, this); }
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> frame) {
      auto& root = *frame.promise().root;
      const auto until = until_.resolve(root.owner());
      condition_->waiting_.push_back(this);
      suspend(frame, root);
      if (!outcome_ && until)
        set_deadline(*until);
    }
    result<void> await_resume() {
      if (*outcome_ == errc{})
        return success();
      return error{
        *outcome_, *outcome_ == errc::timed_out ? "nothing changed before the deadline" : "the coroutine was asked to stop"};
    }

  private:
    friend class condition;
    wait_operation(condition& of, deadline until) noexcept : condition_{&of}, until_{until} {}
    void on_stop() noexcept override { settle(errc::cancelled); }
    void on_deadline() noexcept override { settle(errc::timed_out); }
    void settle(errc outcome) noexcept {
      if (outcome_)
        return;
      outcome_ = outcome;
      resume_soon();
    }

    condition* condition_;
    deadline until_;
    std::optional<errc> outcome_; // errc{}: notified
  };

  /// Completes when notify_all() is called next.
  wait_operation wait(deadline until = deadline::never()) noexcept { return wait_operation{*this, until}; }

  /// Wakes all who wait now, in the order they came.
  void notify_all() noexcept {
    for (auto* one : std::exchange(waiting_, {}))
      one->settle(errc{});
  }

  condition() = default;
  condition(const condition&) = delete;
  condition& operator=(const condition&) = delete;

private:
  std::vector<wait_operation*> waiting_;
};

} // namespace weir
