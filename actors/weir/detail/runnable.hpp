#pragma once

#include <coroutine>

namespace weir::detail {

/// A suspended coroutine that can stand in its host's run queue, at most once. Leaves the queue when it is destroyed, so that a
/// frame that ends takes its pending resumption with it.
class runnable {
public:
  runnable() noexcept = default;
  ~runnable() { unlink(); }
  runnable(const runnable&) = delete;
  runnable& operator=(const runnable&) = delete;

  bool is_queued() const noexcept { return next_ != nullptr; }

  void unlink() noexcept {
    if (next_ == nullptr)
      return;
    next_->previous_ = previous_;
    previous_->next_ = next_;
    next_ = previous_ = nullptr;
  }

  std::coroutine_handle<> handle;

private:
  friend class run_queue;
  runnable* next_ = nullptr;
  runnable* previous_ = nullptr;
};

/// First in, first out; owns nothing.
class run_queue {
public:
  run_queue() noexcept { ends_.next_ = ends_.previous_ = &ends_; }
  ~run_queue() {
    while (!empty())
      ends_.next_->unlink();
    ends_.next_ = ends_.previous_ = nullptr;
  }

  bool empty() const noexcept { return ends_.next_ == &ends_; }

  void push_back(runnable& one) noexcept {
    if (one.is_queued())
      return;
    one.previous_ = ends_.previous_;
    one.next_ = &ends_;
    ends_.previous_->next_ = &one;
    ends_.previous_ = &one;
  }

  runnable& pop_front() noexcept {
    auto& first = *ends_.next_;
    first.unlink();
    return first;
  }

private:
  runnable ends_;
};

} // namespace weir::detail
