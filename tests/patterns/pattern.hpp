#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

/// What the coroutine patterns are written with: a task and an awaitable of their own, so that a failure is the compiler's and
/// not the runtime's.
namespace patterns {

/// How a pattern ended; the exit code of the process that ran it.
enum class verdict : int {
  passes = 0,
  wrong_value = 10,      ///< an operand or result arrived damaged
  body_skipped = 11,     ///< the coroutine ended without having run its body, or never ended
  destroyed_twice = 12,  ///< an object was destroyed that did not live
  never_destroyed = 13,  ///< objects lived on after every frame was gone
  misaligned = 14,       ///< an over-aligned local stood at an address that it can't stand at
  does_not_compile = 15, ///< found when the build was configured
  crashed = 16,          ///< ended by a signal
};

const char* name_of(verdict ended) noexcept;

/// Knows every living object of its kind by address, so that a second destruction and a leak are seen without a crash.
class tracked {
public:
  explicit tracked(int given);
  tracked(const tracked& other);
  tracked(tracked&& other) noexcept;
  tracked& operator=(const tracked& other);
  tracked& operator=(tracked&& other) noexcept;
  ~tracked();

  int value() const noexcept { return value_; }

  static std::size_t living() noexcept;
  static bool destroyed_twice() noexcept;

private:
  int value_;
};

/// A message type as people write it.
struct aggregate {
  tracked first;
  tracked second;
};

/// Waits until the loop resumes it: every pattern is really suspended at least once.
class pause {
public:
  pause() noexcept {} // NOLINT(modernize-use-equals-default): a user-provided constructor is what g++ 12 wants to see
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> frame);
  void await_resume() const noexcept {}
};

/// Resumes what pauses until nothing does.
void run_loop();

/// Destroys the frame that pauses, from outside.
void forget_paused() noexcept;

template <class T>
class task;

class promise_base {
public:
  std::suspend_always initial_suspend() const noexcept { return {}; }

  struct final_awaiter {
    bool await_ready() const noexcept { return false; }
    template <class P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> done) const noexcept {
      auto next = done.promise().continuation_;
      return next ? next : std::noop_coroutine();
    }
    void await_resume() const noexcept {}
  };
  final_awaiter final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { failure_ = std::current_exception(); }

  std::coroutine_handle<> continuation_;
  std::exception_ptr failure_;
};

template <class T>
class promise : public promise_base {
public:
  task<T> get_return_object() noexcept;
  template <class U>
  void return_value(U&& given) {
    value_.emplace(std::forward<U>(given));
  }
  T take() { return std::move(*value_); }
  std::optional<T> value_;
};

template <>
class promise<void> : public promise_base {
public:
  task<void> get_return_object() noexcept;
  void return_void() noexcept { returned_ = true; }
  void take() const noexcept {}
  bool returned_ = false;
};

/// Starts when it is awaited and owns its frame.
template <class T>
class [[nodiscard]] task {
public:
  using promise_type = promise<T>;
  using handle = std::coroutine_handle<promise_type>;

  explicit task(handle frame) noexcept : frame_{frame} {}
  task(task&& other) noexcept : frame_{std::exchange(other.frame_, {})} {}
  task& operator=(task&& other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  ~task() {
    if (frame_)
      frame_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiting) noexcept {
    frame_.promise().continuation_ = waiting;
    return frame_;
  }
  T await_resume() {
    if (frame_.promise().failure_)
      std::rethrow_exception(frame_.promise().failure_);
    return frame_.promise().take();
  }

  handle frame() const noexcept { return frame_; }

private:
  handle frame_;
};

template <class T>
task<T> promise<T>::get_return_object() noexcept {
  return task<T>{task<T>::handle::from_promise(*this)};
}

inline task<void> promise<void>::get_return_object() noexcept {
  return task<void>{task<void>::handle::from_promise(*this)};
}

/// Completes with the value after a pause.
template <class T>
task<T> later(T value) {
  auto wait = pause();
  co_await wait;
  co_return std::move(value);
}

/// The sum of what the message carries, after a pause.
task<int> sum_later(aggregate message);
task<int> sum_of_list(std::vector<tracked> values);

/// What the call returns, after a pause.
template <class F>
task<int> call_later(F call) {
  auto wait = pause();
  co_await wait;
  auto answer = call();
  co_return answer;
}

/// One everyday way to write an await.
struct pattern {
  const char* name;
  bool allowed;        ///< by the rules for code with co_await: has to work with every compiler
  verdict with_gcc;    ///< what g++ 12.2 was seen to make of it; clang 19 passes
  verdict (*run)();    ///< null: does not compile with this compiler
  bool varies = false; ///< with the optimisation level and with sanitizers, whatever the compiler
};

std::vector<pattern> allowed_patterns();
std::vector<pattern> temporary_patterns();
std::vector<pattern> control_patterns();
std::vector<pattern> frame_patterns();

/// Runs a coroutine to its end and says whether it arrived there with true, and left nothing behind.
verdict run_to_end(task<bool> body);

/// The same for a coroutine without a value, which sets the flag at its end.
verdict run_to_end(task<void> body, const bool& arrived);

template <task<bool> (*body)()>
verdict run() {
  return run_to_end(body());
}

} // namespace patterns
