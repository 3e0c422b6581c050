#pragma once

#include <weir/detail/host.hpp>
#include <weir/error.hpp>
#include <weir/task.hpp>

#include <chrono>
#include <coroutine>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace weir {

/// A point in time by which something must have happened; never() waits for ever. Relative ones count from the moment of the
/// await, on the clock of the actor system (virtual in deterministic tests). Resolution: one millisecond, never early. What
/// lies a century or more ahead is never().
class deadline {
public:
  static deadline never() noexcept { return deadline{}; }
  static deadline at(std::chrono::steady_clock::time_point when) noexcept {
    deadline made;
    made.at_ = when;
    return made;
  }

  template <class Rep, class Period>
  deadline(std::chrono::duration<Rep, Period> from_now) noexcept // NOLINT(google-explicit-constructor): reads as it is said
    : from_now_{within_a_century(std::chrono::duration<double>{from_now}.count())
                  ? std::optional{std::chrono::duration_cast<std::chrono::nanoseconds>(from_now)}
                  : std::nullopt} {}

  std::optional<std::chrono::steady_clock::time_point> resolve(detail::host& host) const {
    if (from_now_)
      return host.now() + *from_now_;
    if (at_ && *at_ < host.now() + std::chrono::seconds{century})
      return at_;
    return std::nullopt;
  }

private:
  static constexpr std::int64_t century = 100LL * 365 * 24 * 3600; // seconds: nothing overflows within
  static constexpr bool within_a_century(double seconds) noexcept {
    return seconds < static_cast<double>(century) && seconds > -static_cast<double>(century);
  }

  deadline() = default;
  std::optional<std::chrono::steady_clock::time_point> at_;
  std::optional<std::chrono::nanoseconds> from_now_;
};

/// An awaited stretch of time. Cancellation point: completes with cancelled when the coroutine is asked to stop.
class [[nodiscard]] sleep_operation : public detail::waiter {
public:
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> frame) {
    auto& root = *frame.promise().root;
    const auto until = until_.resolve(root.owner());
    suspend(frame, root);
    if (!cancelled_ && until)
      set_deadline(*until);
  }
  result<void> await_resume() const;

private:
  friend class self;
  explicit sleep_operation(deadline until) noexcept : until_{until} {}
  void on_stop() noexcept override;
  void on_deadline() noexcept override { resume_soon(); }

  deadline until_;
  bool cancelled_ = false;
};

/// Lets urgent messages and the other coroutines of the same actor run, then goes on. Not a cancellation point.
class [[nodiscard]] yield_operation : public detail::waiter {
public:
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> frame) {
    suspend(frame, *frame.promise().root);
    resume_soon();
  }
  void await_resume() const noexcept {}

private:
  friend class self;
  yield_operation() = default;
  void on_stop() noexcept override {}
};

/// Waits for a coroutine that was spawned in the same actor to end. Cancellation point: cancelled; the other goes on.
class [[nodiscard]] join_operation : public detail::join_waiter {
public:
  bool await_ready() const noexcept { return joined_ == nullptr; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> frame) {
    wait(frame, *frame.promise().root);
  }
  result<void> await_resume() const;

private:
  friend class child;
  explicit join_operation(detail::root_frame* joined) noexcept : join_waiter{joined} {}
};

/// A coroutine that another one spawned in the same actor. Dropping the handle leaves it running. Valid only inside of that
/// actor.
class child {
public:
  /// Completes when the coroutine has ended, at once when it has already.
  join_operation join() const { return join_operation{host_->find_root(id_)}; }

  /// Asks it to stop: its pending await completes with cancelled, and so does every later one that would wait.
  void request_stop() const {
    if (auto* root = host_->find_root(id_))
      root->request_stop();
  }

  bool is_running() const { return host_->find_root(id_) != nullptr; }

private:
  friend class self;
  child(detail::host& host, std::uint64_t id) noexcept : host_{&host}, id_{id} {}
  detail::host* host_;
  std::uint64_t id_;
};

/// Whether a coroutine was asked to stop.
class stop_token {
public:
  bool stop_requested() const noexcept { return root_->stop_requested(); }

private:
  friend class self;
  explicit stop_token(const detail::root_frame& root) noexcept : root_{&root} {}
  const detail::root_frame* root_;
};

/// What can be run as a coroutine: a function or a lambda without captures (a capturing one would die before its frame) whose
/// first parameter is self and whose others are taken by value.
template <class F, class... Args>
concept coroutine_function = (std::is_pointer_v<F> || std::is_empty_v<F>) && std::is_invocable_v<F, class self, Args...>;

/// A coroutine's handle on the actor that hosts it. Passed by value as the first parameter; valid as long as the coroutine is,
/// and only inside of that actor.
class self {
public:
  /// Completes after the deadline. Cancellation point.
  sleep_operation sleep(deadline until) const { return sleep_operation{until}; }

  yield_operation yield() const { return yield_operation{}; }

  /// Starts another coroutine in the same actor; it runs when this one next waits. Where the actor was asked to stop before, so
  /// is this coroutine from its beginning.
  template <class F, class... Args>
    requires coroutine_function<F, Args...>
  child spawn(F function, Args... args) const {
    auto& root = host_->make_root();
    start(root, function, std::move(args)...);
    return child{*host_, root.id()};
  }

  /// As spawn(), but stopping the actor does not stop this coroutine: whoever holds its handle does, or it ends by itself. For
  /// what has to go on while the rest winds down.
  template <class F, class... Args>
    requires coroutine_function<F, Args...>
  child spawn_shielded(F function, Args... args) const {
    auto& root = host_->make_root(detail::stops_with_actor::no);
    start(root, function, std::move(args)...);
    return child{*host_, root.id()};
  }

  /// Ends the whole actor with an error, as soon as this coroutine next waits: all its coroutines are destroyed, what they held
  /// is returned, and monitors see the error.
  void fail(error why) const { host_->end(std::move(why)); }

  /// Asks every coroutine of this actor to stop.
  void request_stop() const { host_->request_stop(); }

  weir::stop_token stop_token() const noexcept { return weir::stop_token{*root_}; }
  std::chrono::steady_clock::time_point now() const { return host_->now(); }
  actor_ref ref() const { return host_->ref(); }
  const std::string& name() const { return host_->name(); }

  // For the runtime.
  self(detail::host& host, detail::root_frame& root) noexcept : host_{&host}, root_{&root} {}
  detail::host& host() const noexcept { return *host_; }

  template <class F, class... Args>
  static void start(detail::root_frame& root, F function, Args... args) {
    static_assert(std::is_same_v<std::invoke_result_t<F, self, Args...>, task<void>>, "a coroutine to spawn returns task<>");
    auto begun = function(self{root.owner(), root}, std::move(args)...);
    const auto frame = begun.release();
    root.adopt(frame, frame.promise());
  }

private:
  detail::host* host_;
  detail::root_frame* root_;
};

} // namespace weir
