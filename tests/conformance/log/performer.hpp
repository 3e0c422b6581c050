#pragma once

#include <weir/spawn.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace log_suite {

/// What hangs fails: nothing that a test waits for takes nearly as long.
inline constexpr std::chrono::seconds patience{60};

/// What a coroutine that a test began brings. Outlives the actor.
template <class T>
class pending {
public:
  bool is_done() const {
    const std::lock_guard lock{shared_->mutex};
    return shared_->value.has_value();
  }

  /// Blocks until it is there; it must come. Once.
  T wait() {
    std::unique_lock lock{shared_->mutex};
    const bool came = shared_->changed.wait_for(lock, patience, [&] { return shared_->value.has_value(); });
    REQUIRE_MESSAGE(came, "something waits that should not");
    return std::move(*shared_->value);
  }

  /// Asks the coroutine alone to stop.
  void request_stop() { shared_->stop_wanted(); }

private:
  friend class performer;
  struct shared {
    mutable std::mutex mutex;
    std::condition_variable changed;
    std::optional<T> value;
    std::function<void()> stop_wanted;
  };
  std::shared_ptr<shared> shared_ = std::make_shared<shared>();
};

namespace detail {
struct order_book;
} // namespace detail

/// An actor, on a scheduler with threads, that does what a test says: each order is a coroutine of its own, begun in the order
/// in which they were given. What the orders work on belongs to the actor and ends with it: it is handed over as `belongings`.
class performer {
public:
  explicit performer(caf::actor_system& system, std::shared_ptr<void> belongings = nullptr);
  ~performer();
  performer(const performer&) = delete;
  performer& operator=(const performer&) = delete;

  /// Begins `function(self, args...)`, a coroutine function that returns task<T>.
  template <class F, class... Args>
  auto begin(F function, Args... args) {
    using value_type = typename std::invoke_result_t<F, weir::self, Args...>::value_type;
    pending<value_type> outcome;
    auto carried = std::make_shared<std::tuple<Args...>>(std::move(args)...);
    const auto number = ++next_number_;
    outcome.shared_->stop_wanted = stopper(number);
    give([outcome, function, carried](weir::self me) {
      return std::apply(
        [&](Args&... each) { return me.spawn(&run<value_type, F, Args...>, outcome, function, std::move(each)...); }, *carried);
    });
    return outcome;
  }

  /// Begins it, and blocks until it has ended.
  template <class F, class... Args>
  auto perform(F function, Args... args) {
    return begin(function, std::move(args)...).wait();
  }

  /// Everything in the actor that can go on without anybody outside has gone on.
  void settle();

  void request_stop() const { actor_->request_stop(); }

  /// Ends it, and blocks until it has ended.
  void kill() const;

  const weir::spawned& actor() const { return *actor_; }

private:
  using order = std::function<weir::child(weir::self)>;

  template <class T, class F, class... Args>
  static weir::task<> run(weir::self me, pending<T> outcome, F function, Args... args) {
    auto called = function(me, std::move(args)...);
    auto value = co_await std::move(called);
    const std::lock_guard lock{outcome.shared_->mutex};
    outcome.shared_->value.emplace(std::move(value));
    outcome.shared_->changed.notify_all();
  }

  void give(order wanted);
  std::function<void()> stopper(std::uint64_t number) const;

  std::shared_ptr<detail::order_book> orders_;
  std::uint64_t next_number_ = 0;
  std::optional<weir::spawned> actor_;
};

} // namespace log_suite
