#pragma once

#include <weir/self.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace caf {
class actor_system;
} // namespace caf

namespace weir {

namespace detail {

/// Starts the first coroutine of a new host, on the host's first turn.
class starter {
public:
  virtual ~starter() = default;
  virtual void start(root_frame& root) = 0;
};

template <class F, class... Args>
class starter_of final : public starter {
public:
  explicit starter_of(F function, Args... args) : function_{function}, args_{std::move(args)...} {}
  void start(root_frame& root) override {
    std::apply([&](Args&... args) { self::start(root, function_, std::move(args)...); }, args_);
  }

private:
  F function_;
  std::tuple<Args...> args_;
};

class ending;

} // namespace detail

/// How an actor that hosts coroutines is made.
struct spawn_options {
  std::string name = "weir.host"; ///< for errors and logs
  bool detached = false;          ///< a thread of its own, for coroutines that block
  bool shielded = false;          ///< the first coroutine does not stop with request_stop(): it winds the others down
};

/// A spawned actor. Dropping the handle leaves it running. Thread-safe.
class spawned {
public:
  /// Asks its coroutines to stop; urgent: overtakes whatever data waits in its mailbox.
  void request_stop() const;

  /// Ends it at its next turn without resuming its coroutines; urgent.
  void kill() const;

  /// Blocks the calling thread until it has ended: success, or the error it ended with. Never call it on an actor's turn.
  result<void> wait() const;

  /// Absent when it has not ended by then.
  std::optional<result<void>> wait_for(std::chrono::milliseconds timeout) const;

  const actor_ref& ref() const noexcept { return ref_; }

private:
  friend spawned spawn_host(caf::actor_system&, spawn_options, std::unique_ptr<detail::starter>);
  spawned(actor_ref ref, std::shared_ptr<detail::ending> ending) noexcept : ref_{std::move(ref)}, ending_{std::move(ending)} {}

  actor_ref ref_;
  std::shared_ptr<detail::ending> ending_;
};

spawned spawn_host(caf::actor_system& system, spawn_options options, std::unique_ptr<detail::starter> first);

/// Starts an actor that runs `function(self, args...)` as its first coroutine, and ends when all of its coroutines have ended.
/// Thread-safe. A coroutine that throws ends the actor with coroutine_failed and the exception's text.
template <class F, class... Args>
  requires coroutine_function<F, Args...>
spawned spawn(caf::actor_system& system, spawn_options options, F function, Args... args) {
  return spawn_host(system, std::move(options), std::make_unique<detail::starter_of<F, Args...>>(function, std::move(args)...));
}

template <class F, class... Args>
  requires coroutine_function<F, Args...>
spawned spawn(caf::actor_system& system, F function, Args... args) {
  return spawn(system, spawn_options{}, function, std::move(args)...);
}

namespace detail {

template <class F, class T, class... Args>
task<void> run_into(self me, std::shared_ptr<std::optional<T>> into, F function, Args... args) {
  auto called = function(me, std::move(args)...);
  auto value = co_await std::move(called);
  into->emplace(std::move(value));
}

} // namespace detail

namespace detail {

/// result<T> for T, and for result<T>: one layer is enough.
template <class T>
struct as_result {
  using type = result<T>;
};
template <class T>
struct as_result<result<T>> {
  using type = result<T>;
};

} // namespace detail

/// Runs `function(self, args...)`, which returns task<T> or task<result<T>>, in an actor of its own, and blocks the calling
/// thread until its value is there. The way in from a plain thread; never call it on an actor's turn. Fails with
/// coroutine_failed when it throws.
template <class F, class... Args>
auto sync_wait(caf::actor_system& system, F function, Args... args) ->
  typename detail::as_result<typename std::invoke_result_t<F, self, Args...>::value_type>::type {
  using value_type = typename std::invoke_result_t<F, self, Args...>::value_type;
  if constexpr (std::is_void_v<value_type>) {
    return spawn(system, function, std::move(args)...).wait();
  } else {
    auto into = std::make_shared<std::optional<value_type>>();
    auto runner = spawn(system, &detail::run_into<F, value_type, Args...>, into, function, std::move(args)...);
    auto ended = runner.wait();
    if (!ended)
      return std::move(ended).error();
    if (!*into)
      return error{errc::actor_stopped, "the actor ended before its value was there"};
    return std::move(**into);
  }
}

} // namespace weir
