#pragma once

#include <weir/batch.hpp>
#include <weir/detail/lane_ends.hpp>
#include <weir/error.hpp>
#include <weir/self.hpp>

#include <chrono>
#include <coroutine>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace weir {

template <class T>
class producer;
template <class T>
class consumer;
template <class T>
class delivery;

/// What a consumer grants its lane: no more than this is under way to it or in its hands and not yet acknowledged or returned.
struct window {
  std::size_t items = 512;
  std::size_t bytes = 16u << 20;
};

/// Awaits room for one item. Cancellation point: a cancelled or timed-out publish enqueued nothing, and item() still has the
/// value. Fails with what is wrong with the item (position_missing, position_unexpected, position_not_above, request_missing),
/// or with the lane (fenced, closed, lane_retired, too_many_waiters); then too nothing was enqueued.
class [[nodiscard]] publish_operation {
public:
  publish_operation(const publish_operation&) = delete;
  publish_operation& operator=(const publish_operation&) = delete;

  inline bool await_ready();
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> frame) {
    return start(frame, *frame.promise().root);
  }
  result<void> await_resume() {
    if (failure_)
      return std::move(*failure_);
    return success();
  }

  /// The value, where it was not published.
  lane_item item() { return (waiting_ ? waiting_->item : item_).take(); }

private:
  friend class producer<lane_item>;

  /// What only a publish needs that has to wait.
  class line_place final : public detail::waiter, public detail::publication {
  public:
    explicit line_place(publish_operation& operation) noexcept
      : publication{std::move(operation.item_)},
        operation_{operation} {}
    bool start(std::coroutine_handle<> frame, detail::root_frame& root);

  private:
    void on_settled(std::optional<error> failure) noexcept override;
    void on_stop() noexcept override;
    void on_deadline() noexcept override;

    publish_operation& operation_;
  };

  publish_operation(producer<lane_item>& to, shared_item&& item, deadline until) noexcept
    : to_{&to},
      item_{std::move(item)},
      until_{until} {}
  bool start(std::coroutine_handle<> frame, detail::root_frame& root);

  producer<lane_item>* to_; // null: it has happened
  lane_machine::offered item_;
  deadline until_;
  std::optional<error> failure_;
  std::optional<line_place> waiting_;
};

/// Awaits that the lane knows this end, and who was before is fenced. Cancellation point.
class [[nodiscard]] attach_operation : public detail::waiter {
public:
  ~attach_operation();
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> frame) {
    return start(frame, *frame.promise().root);
  }
  /// The end's generation.
  result<std::uint64_t> await_resume();

private:
  friend class producer<lane_item>;
  friend class consumer<lane_item>;
  friend class detail::producer_end;
  friend class detail::consumer_end;
  explicit attach_operation(producer<lane_item>& end) noexcept : producer_{&end} {}
  explicit attach_operation(consumer<lane_item>& end) noexcept : consumer_{&end} {}
  bool start(std::coroutine_handle<> frame, detail::root_frame& root);
  void withdraw() noexcept;
  void on_stop() noexcept override;

  producer<lane_item>* producer_ = nullptr;
  consumer<lane_item>* consumer_ = nullptr;
  std::optional<result<std::uint64_t>> outcome_;
};

/// The sending end of a lane. Made on any thread; belongs to the actor whose coroutine first uses it, attaches to the lane
/// then, and fences the producer before it. When it is destroyed, everything that was published is still delivered.
template <>
class producer<lane_item> {
public:
  producer(producer&&) noexcept;
  producer& operator=(producer&&) noexcept;
  ~producer();

  /// Waits for room for a lane_item, or what becomes one. Name the operation, then await it; see docs/coroutines.md.
  template <class Item>
    requires std::is_convertible_v<Item&&, lane_item>
  publish_operation publish(Item&& item) {
    return publish_until(std::forward<Item>(item), deadline::never());
  }
  template <class Item>
    requires std::is_convertible_v<Item&&, lane_item>
  publish_operation publish_until(Item&& item, deadline until) {
    return publish_operation{*this, items_.make(std::forward<Item>(item)), until};
  }

  /// Publishes at once or fails with would_wait and leaves the item as it is. Only inside of the actor that the end belongs to,
  /// after attach().
  result<void> try_publish(lane_item& item);

  /// Attaches without publishing.
  attach_operation attach() { return attach_operation{*this}; }

  const lane_id& lane() const noexcept { return link_->id; }

  // For the runtime.
  publish_operation publish_shared(shared_item item) { return publish_operation{*this, std::move(item), deadline::never()}; }
  explicit producer(std::shared_ptr<const detail::lane_link> link) noexcept;
  detail::producer_end& bind(detail::host& host) {
    if (!end_)
      end_ = std::make_unique<detail::producer_end>(host, link_);
    return *end_;
  }
  detail::producer_end* bound() noexcept { return end_.get(); }

private:
  friend class publish_all_operation;

  std::shared_ptr<const detail::lane_link> link_;
  std::unique_ptr<detail::producer_end> end_;
  shared_item_maker items_;
};

inline bool publish_operation::await_ready() {
  auto* end = to_->bound();
  if (end == nullptr || end->try_enqueue(item_, failure_) == detail::producer_end::offer::has_to_wait)
    return false;
  to_ = nullptr;
  return end->owner().spend();
}

/// Offers one item to many lanes at once: a full lane delays no other lane's copy. Cancellation point: each lane's result says
/// whether it has its copy. The producers must belong to the awaiting actor, and outlive the operation.
class [[nodiscard]] publish_all_operation : public detail::waiter {
public:
  publish_all_operation(std::vector<producer<lane_item>*> to, lane_item&& item);
  ~publish_all_operation();

  /// Takes the item's place in every lane's line now, before the operation is awaited: what is offered later comes later.
  void offer(self me) { offer_to(me.host()); }

  bool await_ready();
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> frame) {
    start(frame, *frame.promise().root);
  }
  /// One result for each producer, in their order.
  std::vector<result<void>> await_resume();

private:
  struct line_place;
  void offer_to(detail::host& host);
  void start(std::coroutine_handle<> frame, detail::root_frame& root);
  void on_settled() noexcept;
  void on_stop() noexcept override;

  std::vector<producer<lane_item>*> to_;
  shared_item item_;
  std::vector<result<void>> outcomes_;
  std::vector<std::unique_ptr<line_place>> waiting_;
  std::size_t unsettled_ = 0;
  detail::host* host_ = nullptr;
};

inline publish_all_operation publish_all(std::vector<producer<lane_item>*> to, lane_item item) {
  return publish_all_operation{std::move(to), std::move(item)};
}

/// A lease on one item: acknowledge it, return it, or drop it, which returns it. Stays inside of the actor that received it.
template <>
class delivery<lane_item> {
public:
  delivery(delivery&& other) noexcept
    : host_{std::exchange(other.host_, nullptr)},
      from_{other.from_},
      state_{other.state_},
      attempt_{other.attempt_},
      ordinal_{other.ordinal_},
      sequence_{other.sequence_},
      item_{std::move(other.item_)} {}
  delivery& operator=(delivery&& other) noexcept;
  ~delivery() {
    if (host_ != nullptr && state_ == lease_state::held)
      if (auto* end = from(); end != nullptr && end->holds(ordinal_)) // otherwise acknowledged by ack_through()
        (void)nack();
  }

  const lane_item& item() const noexcept { return *item_; }
  std::uint64_t sequence() const noexcept { return sequence_; }
  std::uint32_t attempt() const noexcept { return attempt_; } ///< 1 the first time
  const lane_id& lane() const;

  /// The item is done: it is never delivered again (by a channel), and the lane's floor may pass it. Again: harmless. Fails
  /// with stale_delivery, and changes nothing, when the lease was superseded or returned.
  result<void> ack();

  /// Gives the item back, to be delivered again after that time, before anything new. Fails with stale_delivery as ack() does.
  result<void> nack(std::chrono::milliseconds after = std::chrono::milliseconds{0});

  // For the runtime.
  delivery(detail::consumer_end& from, std::uint64_t ordinal, std::uint64_t sequence, std::uint32_t attempt,
    shared_item&& item) noexcept
    : host_{&from.owner()},
      from_{from.here()},
      attempt_{attempt},
      ordinal_{ordinal},
      sequence_{sequence},
      item_{std::move(item)} {}

private:
  friend class detail::consumer_end;
  friend class consumer<lane_item>;
  enum class lease_state : std::uint8_t { held, acknowledged, returned };

  detail::consumer_end* from() const noexcept {
    return host_ == nullptr ? nullptr : static_cast<detail::consumer_end*>(host_->find(from_));
  }

  detail::host* host_;
  detail::endpoint_address from_;
  lease_state state_ = lease_state::held;
  std::uint32_t attempt_;
  std::uint64_t ordinal_;
  std::uint64_t sequence_;
  shared_item item_;
};

/// Awaits the next delivery. Cancellation point: a cancelled or timed-out receive took nothing. Fails with end_of_lane once the
/// lane is closed and everything was delivered, with fenced, closed, lane_retired or dead_lettered when it ends otherwise.
class [[nodiscard]] receive_operation : public detail::waiter {
public:
  ~receive_operation();
  bool await_ready();
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> frame) {
    return start(frame, *frame.promise().root);
  }
  result<delivery<lane_item>> await_resume();

private:
  friend class consumer<lane_item>;
  friend class detail::consumer_end;
  receive_operation(consumer<lane_item>& from, deadline until) noexcept : from_{&from}, until_{until} {}
  bool start(std::coroutine_handle<> frame, detail::root_frame& root);
  void settle(result<delivery<lane_item>> outcome) noexcept;
  void on_stop() noexcept override;
  void on_deadline() noexcept override;

  consumer<lane_item>* from_;
  deadline until_;
  std::optional<result<delivery<lane_item>>> outcome_;
};

/// The receiving end of a lane. Made on any thread; belongs to the actor whose coroutine first uses it, attaches then, and
/// fences the consumer before it: what that one held is due again. When it is destroyed, what it holds is due again.
template <>
class consumer<lane_item> {
public:
  consumer(consumer&&) noexcept;
  consumer& operator=(consumer&&) noexcept;
  ~consumer();

  receive_operation receive(deadline until = deadline::never()) { return receive_operation{*this, until}; }

  /// What is there without waiting: as many as fit, in order; none when nothing is there.
  std::vector<delivery<lane_item>> take_ready(std::size_t max_items, std::size_t max_bytes);

  /// Waits for the first, then takes what is ready with it.
  task<result<std::vector<delivery<lane_item>>>> receive_some(std::size_t max_items, std::size_t max_bytes);

  /// The next delivery, or would_wait, or why there will be none.
  result<delivery<lane_item>> try_receive();

  /// Whether nothing is there to take now.
  bool empty() const noexcept;

  /// Acknowledges this delivery and every earlier one of this consumer that is still held.
  result<void> ack_through(delivery<lane_item>& last);

  attach_operation attach() { return attach_operation{*this}; }

  const lane_id& lane() const noexcept { return link_->id; }

  // For the runtime.
  consumer(std::shared_ptr<const detail::lane_link> link, detail::end_role role, window granted) noexcept;
  detail::consumer_end& bind(detail::host& host);
  detail::consumer_end* bound() const noexcept { return end_.get(); }

private:
  std::shared_ptr<const detail::lane_link> link_;
  detail::end_role role_;
  window granted_;
  std::unique_ptr<detail::consumer_end> end_;
};

} // namespace weir
