#pragma once

#include <weir/spawn.hpp>

#include "actors/simulation.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace actor_tests {

/// What a coroutine that a test began has brought so far. Outlives the actor.
template <class T>
class pending {
public:
  bool is_done() const noexcept { return shared_->value.has_value(); }
  T& value() { return shared_->value.value(); }

  /// Asks the coroutine alone to stop.
  void request_stop() { shared_->stop_wanted(); }

private:
  friend class script;
  struct shared {
    std::optional<T> value;
    std::function<void()> stop_wanted;
  };
  std::shared_ptr<shared> shared_ = std::make_shared<shared>();
};

/// An actor that does what a test says: each order is a coroutine of its own, begun in the order in which they were given. What
/// the orders work on belongs to the actor and ends with it: it is handed over as `belongings`.
class script {
public:
  explicit script(simulation& world, const char* name = "script", std::shared_ptr<void> belongings = nullptr)
    : world_{&world},
      orders_{std::make_shared<order_book>()} {
    actor_ = weir::spawn(world.system(), weir::spawn_options{.name = name}, obey, orders_, std::move(belongings));
  }
  ~script() { kill(); }
  script(const script&) = delete;
  script& operator=(const script&) = delete;

  /// Begins `function(self, args...)`, a coroutine function that returns task<T>. Nothing has happened yet when this returns.
  template <class F, class... Args>
  auto begin(F function, Args... args) {
    using value_type = typename std::invoke_result_t<F, weir::self, Args...>::value_type;
    pending<value_type> outcome;
    auto carried = std::make_shared<std::tuple<Args...>>(std::move(args)...);
    auto number = ++*next_number_;
    give([outcome, function, carried, number, book = orders_.get()](weir::self me) {
      auto child = std::apply(
        [&](Args&... each) { return me.spawn(&run<value_type, F, Args...>, outcome, function, std::move(each)...); }, *carried);
      book->running.emplace(number, child);
    });
    outcome.shared_->stop_wanted = [this_book = std::weak_ptr{orders_}, number, actor = *actor_] {
      if (const auto book = this_book.lock())
        give_to(*book, actor.ref(), [number, raw = book.get()](weir::self) {
          if (const auto found = raw->running.find(number); found != raw->running.end())
            found->second.request_stop();
        });
    };
    return outcome;
  }

  /// Begins it, and lets everything happen that can.
  template <class F, class... Args>
  auto perform(F function, Args... args) {
    auto outcome = begin(function, std::move(args)...);
    world_->settle();
    return outcome;
  }

  /// Lets everything happen that can; what was begun must then have completed.
  template <class T>
  T complete(pending<T> begun) const {
    world_->settle();
    REQUIRE_MESSAGE(begun.is_done(), "something waits that should not");
    return std::move(begun.value());
  }

  void request_stop() const { actor_->request_stop(); }
  void kill() const { actor_->kill(); }
  const weir::spawned& actor() const { return *actor_; }
  bool has_ended() const { return actor_->wait_for(std::chrono::milliseconds{0}).has_value(); }
  simulation& world() const noexcept { return *world_; }

private:
  using order = std::function<void(weir::self)>;
  class next_order;

  struct order_book {
    std::deque<order> waiting;
    std::optional<weir::detail::endpoint_address> address;
    std::map<std::uint64_t, weir::child> running;
  };

  /// Rings in the actor when an order was given from outside.
  class bell final : public weir::detail::endpoint {
  public:
    explicit bell(weir::self me) : endpoint{me.host()} {}
    void on_control(weir::detail::control&) override;
    using endpoint::here;
    next_order* listener = nullptr;
  };

  class next_order final : public weir::detail::waiter {
  public:
    ~next_order() { rung_.listener = nullptr; }
    bool await_ready() const noexcept { return !book_.waiting.empty(); }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> frame) {
      suspend(frame, *frame.promise().root);
    }
    bool await_resume() const noexcept { return !stopped_; }
    using waiter::resume_soon;

  private:
    friend class script;
    next_order(bell& rung, const order_book& book) noexcept : rung_{rung}, book_{book} { rung_.listener = this; }
    void on_stop() noexcept override {
      stopped_ = true;
      resume_soon();
    }
    bell& rung_;
    const order_book& book_;
    bool stopped_ = false;
  };

  static next_order wait_for_order(bell& rung, const order_book& book) noexcept { return next_order{rung, book}; }

  static weir::task<> obey(weir::self me, std::shared_ptr<order_book> book, std::shared_ptr<void> belongings) {
    const auto kept = std::move(belongings);
    bell rung{me};
    book->address = rung.here();
    for (;;) {
      auto wanted = wait_for_order(rung, *book);
      const bool go_on = co_await wanted;
      if (!go_on)
        co_return;
      while (!book->waiting.empty()) {
        const auto next = std::move(book->waiting.front());
        book->waiting.pop_front();
        next(me);
      }
    }
  }

  template <class T, class F, class... Args>
  static weir::task<> run(weir::self me, pending<T> outcome, F function, Args... args) {
    auto called = function(me, std::move(args)...);
    auto value = co_await std::move(called);
    outcome.shared_->value.emplace(std::move(value));
  }

  static void give_to(order_book& book, const weir::actor_ref& actor, order wanted) {
    book.waiting.push_back(std::move(wanted));
    if (book.address)
      wake_from_outside(actor, *book.address);
  }
  void give(order wanted) { give_to(*orders_, actor_->ref(), std::move(wanted)); }

  simulation* world_;
  std::shared_ptr<order_book> orders_;
  std::shared_ptr<std::uint64_t> next_number_ = std::make_shared<std::uint64_t>(0);
  std::optional<weir::spawned> actor_;
};

inline void script::bell::on_control(weir::detail::control&) {
  if (listener != nullptr)
    listener->resume_soon();
}

} // namespace actor_tests
