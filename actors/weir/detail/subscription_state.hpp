#pragma once

#include <weir/actor_ref.hpp>
#include <weir/bus.hpp>
#include <weir/hint_buffer.hpp>
#include <weir/loss_tracker.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

namespace weir::detail {

/// What a topic hands out: a hint, or that some are missing, or that a bus is gone; and its place among all that it handed out.
struct offered_record {
  std::uint64_t place = 0;
  bus_record what;
  std::optional<missed_span> missed = {}; ///< of a loss; absent: it is everybody's
};

/// A subscription, between its topic and its reader: a bounded buffer, and who waits for it. Any thread.
class subscription_state {
public:
  /// It began at that place of its topic, and at that moment of a loss_tracker.
  subscription_state(subscription_options how, bus_id own, std::uint64_t first_place, std::uint64_t began);
  ~subscription_state();
  subscription_state(const subscription_state&) = delete;
  subscription_state& operator=(const subscription_state&) = delete;

  /// Takes in what its topic hands out; what came before the subscription is none of its business.
  void take(std::span<const offered_record> records);

  /// The next record. Fails with would_wait, or with what it ended with.
  result<bus_record> pop();

  /// Nothing comes any more. True for the first one who says so.
  bool end(error why);

  /// Called once when it ends for its reader, or its reader goes: the topic forgets it.
  void on_leaving(std::function<void()> leave) { leave_ = std::move(leave); }
  void leave();

  /// Who is told when there is something. Null where somebody else is.
  result<bool> wait(const record_operation& who, actor_ref actor, endpoint_address reply);
  void stop_waiting(const record_operation& who) noexcept;

  int descriptor();

  /// It belonged to the reader, who has gone.
  void close_descriptor() noexcept;
  subscription_stats stats() const;
  std::size_t limit() const noexcept { return limit_; }

private:
  struct waiting {
    const record_operation* who;
    actor_ref actor;
    endpoint_address reply;
  };

  void take(const lost& missing, const std::optional<missed_span>& span);
  bool has_news() const noexcept { return !buffer_.empty() || why_ || buffer_.is_evicted(); }
  void tell() noexcept;

  const std::size_t limit_;
  const bus_id own_;
  const bool skips_own_;
  const std::uint64_t first_place_;
  const std::uint64_t began_;
  std::function<void()> leave_;
  mutable std::mutex mutex_;
  hint_buffer buffer_;
  std::optional<error> why_;
  std::optional<waiting> waiting_;
  int descriptor_ = -1;
  bool is_signalled_ = false;
  std::uint64_t received_ = 0;
  std::uint64_t lost_ = 0;
};

} // namespace weir::detail
