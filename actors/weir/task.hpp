#pragma once

#include <weir/detail/host.hpp>

#include <coroutine>
#include <optional>
#include <type_traits>
#include <utility>

namespace weir {

template <class T = void>
class task;

namespace detail {

template <class T>
class task_promise;

/// Resumes the awaiting coroutine through the run queue, or lets the call return to it when it never suspended.
struct final_awaiter {
  bool await_ready() const noexcept { return false; }
  void await_resume() const noexcept {}

  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> done) const noexcept {
    promise_base& promise = done.promise();
    if (!promise.continuation.handle) {
      promise.root->on_finished();
      return;
    }
    promise.root->on_returned(promise);
    if (promise.is_detached)
      promise.root->owner().schedule(promise.continuation);
  }
};

template <class T>
class task_promise_base : public promise_base {
public:
  std::suspend_always initial_suspend() const noexcept { return {}; }
  final_awaiter final_suspend() const noexcept { return {}; }
};

template <class T>
class task_promise : public task_promise_base<T> {
public:
  task<T> get_return_object() noexcept;

  template <class U>
    requires std::is_constructible_v<T, U&&>
  void return_value(U&& value) {
    value_.emplace(std::forward<U>(value));
  }

  T take() {
    if (this->failure)
      std::rethrow_exception(this->failure);
    return std::move(*value_);
  }

private:
  std::optional<T> value_;
};

template <>
class task_promise<void> : public task_promise_base<void> {
public:
  task<void> get_return_object() noexcept;
  void return_void() const noexcept {}
  void take() const {
    if (failure)
      std::rethrow_exception(failure);
  }
};

/// Runs the called coroutine on the caller's stack until it first suspends; a deep chain goes through the run queue instead.
template <class T>
class task_awaiter {
public:
  task_awaiter(const task_awaiter&) = delete;
  task_awaiter& operator=(const task_awaiter&) = delete;
  ~task_awaiter() {
    if (called_)
      called_.destroy();
  }

  bool await_ready() const noexcept { return false; }

  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> caller) {
    auto& promise = this->promise();
    promise.root = caller.promise().root;
    promise.caller = &caller.promise();
    promise.owner = &called_;
    promise.root->on_called(promise);
    auto& host = promise.root->owner();
    if (host.depth >= host::max_depth || !host.spend()) {
      start_.handle = called_;
      promise.continuation.handle = caller;
      promise.is_detached = true;
      host.schedule(start_);
      return true;
    }
    promise.continuation.handle = caller;
    ++host.depth;
    called_.resume();
    --host.depth;
    if (called_.done())
      return false;
    promise.is_detached = true;
    return true;
  }

  T await_resume() { return promise().take(); }

private:
  friend class task<T>;
  explicit task_awaiter(std::coroutine_handle<task_promise<T>> called) noexcept : called_{called} {}

  task_promise<T>& promise() const noexcept {
    return std::coroutine_handle<task_promise<T>>::from_address(called_.address()).promise();
  }

  std::coroutine_handle<> called_;
  runnable start_;
};

} // namespace detail

/// A coroutine that has not begun: awaiting it runs it inside the awaiting coroutine's actor, and its exception or value comes
/// out there. Runs at most once; a task that is never awaited never runs. See docs/coroutines.md for the rules that g++ 12
/// needs.
template <class T>
class [[nodiscard]] task {
public:
  using promise_type = detail::task_promise<T>;
  using value_type = T;

  task(task&& other) noexcept : frame_{std::exchange(other.frame_, nullptr)} {}
  task& operator=(task&& other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  ~task() {
    if (frame_)
      frame_.destroy();
  }

  detail::task_awaiter<T> operator co_await() && noexcept { return detail::task_awaiter<T>{release()}; }

  /// Hands the frame over; the task is empty afterwards.
  std::coroutine_handle<promise_type> release() noexcept { return std::exchange(frame_, nullptr); }

private:
  friend promise_type;
  explicit task(std::coroutine_handle<promise_type> frame) noexcept : frame_{frame} {}

  std::coroutine_handle<promise_type> frame_;
};

template <class T>
task<T> detail::task_promise<T>::get_return_object() noexcept {
  return task<T>{std::coroutine_handle<task_promise>::from_promise(*this)};
}

inline task<void> detail::task_promise<void>::get_return_object() noexcept {
  return task<void>{std::coroutine_handle<task_promise>::from_promise(*this)};
}

} // namespace weir
