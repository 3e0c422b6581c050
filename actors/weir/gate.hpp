#pragma once

#include <weir/self.hpp>

#include <coroutine>
#include <deque>
#include <utility>

namespace weir {

/// Lets one coroutine of an actor in at a time, in the order they came. Belongs to one actor and must outlive all who wait.
class gate {
public:
  /// Being inside; leaving is letting go of it.
  class entry {
  public:
    entry(entry&& other) noexcept : gate_{std::exchange(other.gate_, nullptr)} {}
    entry& operator=(entry&& other) noexcept {
      std::swap(gate_, other.gate_);
      return *this;
    }
    ~entry() {
      if (gate_ != nullptr)
        gate_->leave();
    }
    void leave() {
      if (auto* held = std::exchange(gate_, nullptr))
        held->leave();
    }

  private:
    friend class gate;
    explicit entry(gate& held) noexcept : gate_{&held} {}
    gate* gate_;
  };

  /// Not a cancellation point: whoever is inside leaves soon.
  class [[nodiscard]] enter_operation : public detail::waiter {
  public:
    ~enter_operation() { gate_->forget(*this); }
    bool await_ready() noexcept { return !std::exchange(gate_->occupied_, true) && (inside_ = true); }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> frame) {
      gate_->waiting_.push_back(this);
      suspend(frame, *frame.promise().root);
    }
    entry await_resume() noexcept {
      inside_ = false; // the entry has it now
      return entry{*gate_};
    }

  private:
    friend class gate;
    explicit enter_operation(gate& wanted) noexcept : gate_{&wanted} {}
    void on_stop() noexcept override {}
    void let_in() noexcept {
      inside_ = true;
      resume_soon();
    }

    gate* gate_;
    bool inside_ = false;
  };

  enter_operation enter() noexcept { return enter_operation{*this}; }

  gate() = default;
  gate(const gate&) = delete;
  gate& operator=(const gate&) = delete;

private:
  void leave() {
    if (waiting_.empty()) {
      occupied_ = false;
      return;
    }
    auto* next = waiting_.front();
    waiting_.pop_front();
    next->let_in();
  }

  void forget(enter_operation& gone) noexcept {
    std::erase(waiting_, &gone);
    if (std::exchange(gone.inside_, false))
      leave();
  }

  bool occupied_ = false;
  std::deque<enter_operation*> waiting_;
};

} // namespace weir
