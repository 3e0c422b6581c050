#pragma once

#include <weir/detail/host.hpp>
#include <weir/error.hpp>
#include <weir/hint.hpp>
#include <weir/hint_buffer.hpp>
#include <weir/loss_tracker.hpp>
#include <weir/self.hpp>
#include <weir/task.hpp>
#include <weir/worker.hpp>

#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// A bus carries hints to every replica: best effort, at most once, and no loss is silent. docs/bus.md says how.
namespace weir {

namespace detail {
class bus_link;
class subscription_state;
} // namespace detail

struct subscription_options {
  std::size_t buffer = 64; ///< hints, 1 to 2^20
  drop_policy policy = drop_policy::drop_newest;
  bool skip_own = false; ///< what this very bus publishes
};

struct subscription_stats {
  std::uint64_t received = 0; ///< hints that were read
  std::uint64_t lost = 0;     ///< hints that were told to be lost, as far as their number is known
  std::size_t buffered = 0;   ///< hints that wait to be read
};

/// Awaits a subscription's next record. Cancellation point; nothing is taken when it fails.
class [[nodiscard]] record_operation : public detail::waiter {
public:
  ~record_operation();
  bool await_ready() noexcept;
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> frame) {
    start(frame, *frame.promise().root);
  }
  result<bus_record> await_resume();

private:
  friend class subscription;
  friend class detail::subscription_state;
  record_operation(std::shared_ptr<detail::subscription_state> of, deadline until) noexcept
    : of_{std::move(of)},
      until_{until} {}
  void start(std::coroutine_handle<> frame, detail::root_frame& root);
  void on_woken();
  void settle(result<bus_record> outcome) noexcept;
  void on_stop() noexcept override;
  void on_deadline() noexcept override;

  std::shared_ptr<detail::subscription_state> of_;
  deadline until_;
  std::optional<result<bus_record>> outcome_;
  std::optional<detail::wake_point> back_;
};

/// One reader of one topic. Ends when it is destroyed. Any thread, one at a time.
class subscription {
public:
  subscription() = default;
  explicit subscription(std::shared_ptr<detail::subscription_state> state) noexcept : state_{std::move(state)} {}
  subscription(subscription&&) noexcept = default;
  subscription& operator=(subscription&& other) noexcept; ///< the two change places
  ~subscription();

  /// Awaits the next record: a hint, how many are lost at this place, or with `last_by_key` that a bus is gone. What is
  /// buffered can be read also after the end; then it fails with closed, evicted or bus_closed. Fails with
  /// timed_out and cancelled, and too_many_waiters where somebody waits already.
  record_operation next(deadline until = deadline::never()) { return record_operation{state_, until}; }

  /// Fails with would_wait where there is none now.
  result<bus_record> try_next();

  /// A descriptor that is readable while there is something for try_next(), an end included; for event loops of others. Belongs
  /// to the subscription. -1: the process has none left.
  int descriptor();

  /// Idempotent; interrupts whoever waits.
  void close() noexcept;

  subscription_stats stats() const;

private:
  std::shared_ptr<detail::subscription_state> state_;
};

struct bus_stats {
  std::uint64_t published = 0;   ///< hints that were accepted
  std::uint64_t refused = 0;     ///< … and not: bad_topic, too_large, bus_full, bus_closed
  std::uint64_t unconfirmed = 0; ///< accepted, and then refused by the server, or nobody knows whether it has them
  std::uint64_t heard = 0;       ///< hints, whether somebody subscribes to their topics or not
  std::uint64_t undecodable = 0; ///< heard, and not understood
  std::uint64_t foreign = 0;     ///< heard, and nothing that a bus says
  std::uint64_t reconnects = 0;
  std::size_t outgoing = 0; ///< accepted and not yet on the link
  std::size_t subscriptions = 0;
  std::optional<error> trouble = {};      ///< why the link is not up, or what it refuses: it is tried again
  std::optional<double> queue_usage = {}; ///< of PostgreSQL's queue of notifications, 0 to 1; it is everybody's on that server

  /// Hints by their time from publish to fan-out: [n] counts those of less than 2^n microseconds (and not less than half of
  /// that).
  std::array<std::uint64_t, 40> lag = {};

  /// The buses that are heard on a server, this one included; in one process nobody counts them.
  std::vector<publisher_figures> publishers = {};
};

/// A handle: copies are the same bus, and with the last one it is closed. Thread-safe.
class bus {
public:
  explicit bus(std::shared_ptr<detail::bus_link> link) noexcept : link_{std::move(link)} {}

  /// Returns at once; `key` and `payload` may be used again. Success: it is on its way. Fails with bad_topic, too_large,
  /// bus_full and bus_closed; then nothing was published.
  result<void> publish(std::string_view topic, std::string_view payload, std::string_view key = {});

  /// Awaits that the link has taken it. Fails as publish() does, and with outcome_unknown: the connection died before it said
  /// so, and it is not sent again. Cancellation point: cancelled, it is on its way all the same.
  task<result<void>> publish_committed(self me, std::string topic, std::string payload, std::string key = {}) const;

  /// From the return on everything that is heard on that topic. Fails with bad_topic, invalid_argument and bus_closed.
  result<subscription> subscribe(std::string_view topic, subscription_options how = {});

  /// Idempotent. Ends this bus and its subscriptions, and no other on the same hub; what is on its way still goes out.
  void close() noexcept;

  bus_id id() const noexcept;
  bus_stats stats() const;

private:
  std::shared_ptr<detail::bus_link> link_;
};

} // namespace weir
