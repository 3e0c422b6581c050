#pragma once

#include <weir/detail/host.hpp>
#include <weir/self.hpp>

#include <atomic>
#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace weir {

namespace detail {

class worker_thread;

/// One call on its way to a worker's thread and back. Shared by both sides; whoever comes last ends it.
class job {
public:
  virtual ~job() = default;
  virtual void run() noexcept = 0;

  std::atomic<bool> abandoned{false}; ///< nobody waits any more: don't begin
  actor_ref waiting_actor;
  endpoint_address waiting_endpoint;
};

void enqueue(worker_thread& thread, std::shared_ptr<job> call);

/// Wakes one suspended await from outside of its actor.
class wake_point final : public endpoint {
public:
  wake_point(host& owner, waiter& woken, void (*on_wake)(waiter&)) : endpoint{owner}, woken_{woken}, on_wake_{on_wake} {}
  void on_control(control&) override { on_wake_(woken_); }

private:
  waiter& woken_;
  void (*on_wake_)(waiter&);
};

} // namespace detail

/// A call that runs on a worker's thread while the coroutine waits. Not a cancellation point: what has begun is waited for.
template <class F>
class [[nodiscard]] blocking_call : public detail::waiter {
public:
  using value_type = std::invoke_result_t<F&>;

  ~blocking_call() {
    if (state_)
      state_->abandoned = true;
  }

  bool await_ready() const noexcept { return false; }

  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> frame) {
    auto& root = *frame.promise().root;
    back_.emplace(root.owner(), *this, [](detail::waiter& woken) { static_cast<blocking_call&>(woken).resume_soon(); });
    state_->waiting_actor = root.owner().ref();
    state_->waiting_endpoint = back_->here();
    suspend(frame, root);
    detail::enqueue(*thread_, state_);
  }

  value_type await_resume() {
    back_.reset();
    if (state_->failure)
      std::rethrow_exception(state_->failure);
    if constexpr (!std::is_void_v<value_type>)
      return std::move(*state_->value);
  }

private:
  friend class worker;

  using stored = std::conditional_t<std::is_void_v<value_type>, std::monostate, value_type>;

  struct state final : detail::job {
    explicit state(F made) : call{std::move(made)} {}
    void run() noexcept override {
      try {
        if constexpr (std::is_void_v<value_type>)
          call();
        else
          value.emplace(call());
      } catch (...) {
        failure = std::current_exception();
      }
    }
    F call;
    std::optional<stored> value;
    std::exception_ptr failure;
  };

  blocking_call(detail::worker_thread& thread, F call) : thread_{&thread}, state_{std::make_shared<state>(std::move(call))} {}
  void on_stop() noexcept override {}

  detail::worker_thread* thread_;
  std::shared_ptr<state> state_;
  std::optional<detail::wake_point> back_;
};

/// A thread of its own for blocking calls (files, child processes, client libraries). Calls run one at a time in the order
/// they were made. Its owner is whoever holds the worker: the destructor waits for the call that is running, drops the rest,
/// and joins the thread; so a class that hands its members to its worker declares the worker last.
class worker {
public:
  /// Starts the thread. `name` is what it is called in a debugger, at most 15 characters.
  explicit worker(const char* name);
  ~worker();
  worker(worker&&) noexcept;
  worker& operator=(worker&&) noexcept;

  /// Runs `call()` on the worker's thread and completes with what it returns. A call that throws throws where it is awaited, so
  /// adapters of throwing libraries catch inside. One that has not begun when the awaiting coroutine is destroyed never begins.
  ///
  ///     auto call = files.run([path] { return read_all(path); });
  ///     auto content = co_await std::move(call);
  template <class F>
  blocking_call<F> run(F call) {
    return blocking_call<F>{*thread_, std::move(call)};
  }

private:
  std::unique_ptr<detail::worker_thread> thread_;
};

} // namespace weir
