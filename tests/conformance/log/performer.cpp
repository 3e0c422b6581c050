#include "conformance/log/performer.hpp"

#include <weir/detail/caf_actor.hpp>

namespace log_suite {

namespace detail {

class next_order;

/// What travels from a test's thread to its actor.
struct order_book {
  using order = std::function<void(weir::self, order_book&)>;

  bool has_waiting() {
    const std::lock_guard lock{mutex};
    return !waiting.empty();
  }

  std::optional<order> take() {
    const std::lock_guard lock{mutex};
    if (waiting.empty())
      return std::nullopt;
    auto next = std::move(waiting.front());
    waiting.pop_front();
    return next;
  }

  void give(const weir::actor_ref& actor, order wanted) {
    const std::lock_guard lock{mutex};
    waiting.push_back(std::move(wanted));
    if (bell)
      weir::detail::post(actor, weir::detail::control_message{*bell, weir::detail::wake{}});
  }

  std::mutex mutex;
  std::deque<order> waiting;
  std::optional<weir::detail::endpoint_address> bell;

  std::map<std::uint64_t, weir::child> running; // the actor's
  std::uint64_t next_number = 0;
};

namespace {

/// Rings in the actor when an order was given.
class order_bell final : public weir::detail::endpoint {
public:
  explicit order_bell(weir::self me) : endpoint{me.host()} {}
  void on_control(weir::detail::control&) override;
  using endpoint::here;
  next_order* listener = nullptr;
};

} // namespace

class next_order final : public weir::detail::waiter {
public:
  next_order(order_bell& rung, order_book& book) noexcept : rung_{rung}, book_{book} { rung_.listener = this; }
  ~next_order() { rung_.listener = nullptr; }
  bool await_ready() const noexcept { return book_.has_waiting(); }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> frame) {
    suspend(frame, *frame.promise().root);
  }
  bool await_resume() const noexcept { return !stopped_; }
  using waiter::resume_soon;

private:
  void on_stop() noexcept override {
    stopped_ = true;
    resume_soon();
  }

  order_bell& rung_;
  order_book& book_;
  bool stopped_ = false;
};

namespace {

void order_bell::on_control(weir::detail::control&) {
  if (listener != nullptr)
    listener->resume_soon();
}

weir::task<> obey(weir::self me, std::shared_ptr<order_book> book, std::shared_ptr<void> belongings) {
  const auto kept = std::move(belongings);
  order_bell rung{me};
  {
    const std::lock_guard lock{book->mutex};
    book->bell = rung.here();
  }
  for (;;) {
    next_order wanted{rung, *book};
    const bool goes_on = co_await wanted;
    if (!goes_on)
      co_return;
    while (auto next = book->take())
      (*next)(me, *book);
  }
}

weir::task<bool> yield_twice(weir::self me) {
  auto first = me.yield();
  co_await first;
  auto second = me.yield();
  co_await second;
  co_return true;
}

} // namespace
} // namespace detail

performer::performer(caf::actor_system& system, std::shared_ptr<void> belongings)
  : orders_{std::make_shared<detail::order_book>()} {
  actor_ = weir::spawn(
    system, weir::spawn_options{.name = "performer", .shielded = true}, detail::obey, orders_, std::move(belongings));
}

performer::~performer() {
  kill();
}

void performer::kill() const {
  actor_->kill();
  REQUIRE_MESSAGE(actor_->wait_for(patience).has_value(), "an actor that was killed does not end");
}

void performer::settle() {
  perform(&detail::yield_twice);
}

void performer::give(order wanted) {
  orders_->give(actor_->ref(), [wanted = std::move(wanted)](weir::self me, detail::order_book& book) {
    book.running.emplace(++book.next_number, wanted(me));
  });
}

std::function<void()> performer::stopper(std::uint64_t number) const {
  return [book = std::weak_ptr{orders_}, actor = actor_->ref(), number] {
    if (const auto there = book.lock())
      there->give(actor, [number](weir::self, detail::order_book& orders) {
        if (const auto found = orders.running.find(number); found != orders.running.end())
          found->second.request_stop();
      });
  };
}

} // namespace log_suite
