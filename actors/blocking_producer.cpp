#include <weir/blocking_producer.hpp>
#include <weir/detail/caf_actor.hpp>
#include <weir/spawn.hpp>
#include <weir/worker.hpp>

#include <future>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace weir {

namespace detail {

namespace {

error ended() {
  return error{errc::actor_stopped, "the actor that publishes for plain threads has ended"};
}

/// A thread's item, which stays on that thread's stack until the call is settled: exactly once, wherever it ends.
class outside_call {
public:
  outside_call(lane_item& item, std::optional<deadline> until) : item_{&item}, until_{until} {}
  outside_call(outside_call&& other) noexcept
    : item_{std::exchange(other.item_, nullptr)},
      until_{other.until_},
      settled_{std::move(other.settled_)} {}
  outside_call& operator=(outside_call&&) = delete;
  ~outside_call() {
    if (item_ != nullptr)
      settle(ended());
  }

  lane_item& item() const noexcept { return *item_; }
  const std::optional<deadline>& until() const noexcept { return until_; } ///< absent: it does not wait
  std::future<std::optional<error>> outcome() { return settled_.get_future(); }

  void settle(std::optional<error> why) {
    item_ = nullptr;
    settled_.set_value(std::move(why));
  }

private:
  lane_item* item_;
  std::optional<deadline> until_;
  std::promise<std::optional<error>> settled_;
};

using calls = std::vector<outside_call>;

} // namespace

/// Where threads put their calls, and the actor takes them from. Bounded by the number of threads, each of which waits.
class outside_line {
public:
  void add(outside_call one) {
    actor_ref awake;
    endpoint_address endpoint;
    {
      const std::lock_guard lock{mutex_};
      if (ended_)
        return;
      waiting_.push_back(std::move(one));
      awake = std::exchange(listener_, {});
      endpoint = endpoint_;
    }
    post(awake, control_message{endpoint, wake{}});
  }

  /// Nothing more comes: the actor ends when it has taken what is there.
  void close() {
    actor_ref awake;
    endpoint_address endpoint;
    {
      const std::lock_guard lock{mutex_};
      closed_ = true;
      awake = std::exchange(listener_, {});
      endpoint = endpoint_;
    }
    post(awake, control_message{endpoint, wake{}});
  }

  bool has_news() const noexcept {
    const std::lock_guard lock{mutex_};
    return closed_ || !waiting_.empty();
  }

  /// The actor waits; it is woken with the next call. False when there is one already.
  bool listen(actor_ref listener, endpoint_address endpoint) {
    const std::lock_guard lock{mutex_};
    if (closed_ || !waiting_.empty())
      return false;
    listener_ = std::move(listener);
    endpoint_ = endpoint;
    return true;
  }

  calls take() {
    const std::lock_guard lock{mutex_};
    return std::exchange(waiting_, {});
  }

  /// The actor has ended: nobody is left waiting.
  void end() {
    calls left; // settled as they go
    const std::lock_guard lock{mutex_};
    ended_ = true;
    listener_ = {};
    left = std::exchange(waiting_, {});
  }

  std::optional<spawned> publisher; // set once, before any thread can call

private:
  mutable std::mutex mutex_;
  calls waiting_;
  actor_ref listener_;
  endpoint_address endpoint_;
  bool closed_ = false;
  bool ended_ = false;
};

namespace {

/// Awaits the next calls; none when there will be no more. Cancellation point.
class [[nodiscard]] calls_operation : public waiter {
public:
  bool await_ready() const noexcept { return line_->has_news(); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> frame) {
    auto& root = *frame.promise().root;
    back_.emplace(root.owner(), *this, [](waiter& woken) { static_cast<calls_operation&>(woken).resume_soon(); });
    suspend(frame, root);
    if (!cancelled_ && !line_->listen(root.owner().ref(), back_->here()))
      resume_soon();
    return true;
  }
  calls await_resume() {
    back_.reset();
    return cancelled_ ? calls{} : line_->take();
  }

private:
  friend calls_operation next_calls(outside_line& line);
  explicit calls_operation(outside_line& line) noexcept : line_{&line} {}
  void on_stop() noexcept override {
    cancelled_ = true;
    resume_soon();
  }

  outside_line* line_;
  bool cancelled_ = false;
  std::optional<wake_point> back_;
};

calls_operation next_calls(outside_line& line) {
  return calls_operation{line};
}

/// Ends the line with the actor's first coroutine.
class held_line {
public:
  explicit held_line(std::shared_ptr<outside_line> line) noexcept : line_{std::move(line)} {}
  held_line(held_line&&) noexcept = default;
  held_line& operator=(held_line&&) = delete;
  ~held_line() {
    if (line_)
      line_->end();
  }
  outside_line& operator*() const noexcept { return *line_; }

private:
  std::shared_ptr<outside_line> line_;
};

using shared_producer = std::shared_ptr<producer<lane_item>>;

task<> publish_one(self, shared_producer to, outside_call call) {
  auto publishing = to->publish_until(std::move(call.item()), *call.until());
  auto published = co_await publishing;
  if (published) {
    call.settle(std::nullopt);
    co_return;
  }
  call.item() = publishing.item();
  call.settle(std::move(published).error());
}

task<> publish_for_threads(self me, producer<lane_item> end, held_line line) {
  const auto to = std::make_shared<producer<lane_item>>(std::move(end));
  auto attaching = to->attach();
  auto attached = co_await attaching;
  (void)attached; // what is wrong comes out with each item
  for (;;) {
    auto waiting = next_calls(*line);
    auto taken = co_await waiting;
    if (taken.empty())
      co_return;
    for (auto& one : taken) {
      if (one.until())
        me.spawn(publish_one, to, std::move(one));
      else if (auto published = to->try_publish(one.item()); published)
        one.settle(std::nullopt);
      else
        one.settle(std::move(published).error());
    }
  }
}

} // namespace

} // namespace detail

blocking_producer::blocking_producer(std::shared_ptr<detail::outside_line> line) noexcept : line_{std::move(line)} {}
blocking_producer::blocking_producer(blocking_producer&&) noexcept = default;

blocking_producer& blocking_producer::operator=(blocking_producer&& other) noexcept {
  std::swap(line_, other.line_);
  return *this;
}

blocking_producer::~blocking_producer() {
  if (!line_)
    return;
  line_->close();
  (void)line_->publisher->wait();
}

blocking_producer blocking_producer::start(caf::actor_system& system, producer<lane_item> to) {
  auto line = std::make_shared<detail::outside_line>();
  line->publisher =
    spawn(system, spawn_options{.name = "weir.outside"}, detail::publish_for_threads, std::move(to), detail::held_line{line});
  return blocking_producer{std::move(line)};
}

namespace {

result<void> settle(detail::outside_line& line, detail::outside_call call) {
  auto outcome = call.outcome();
  line.add(std::move(call));
  if (auto failure = outcome.get())
    return std::move(*failure);
  return success();
}

} // namespace

result<void> blocking_producer::publish_for(lane_item& item, std::chrono::milliseconds timeout) {
  return settle(*line_, {item, deadline{timeout}});
}

result<void> blocking_producer::try_publish(lane_item& item) {
  return settle(*line_, {item, std::nullopt});
}

} // namespace weir
