#pragma once

#include <weir/detail/bus_topics.hpp>
#include <weir/loss_tracker.hpp>

#include "notifier.hpp"

#include <atomic>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace weir::postgres {

/// The mutex is held while something is heard, so that a subscription begins between two of them.
struct guarded_tracker {
  explicit guarded_tracker(std::chrono::milliseconds beacon) : tracker{most_publishers, beacon} {}

  static constexpr std::size_t most_publishers = 4096;
  std::mutex mutex;
  loss_tracker tracker;
};

/// Hears what is said on the channel, on a thread and a connection of its own, and hands it to the topics that are subscribed
/// to, with what is missing in front of it. Never waits for them: the server keeps what is not heard, for everybody.
class listener {
public:
  /// `saying` is the notifier's trouble. A server that `is_checked` is not checked again before it is listened to.
  listener(const bus_settings& how, bus_id own, outbox& to, std::shared_ptr<detail::bus_topics> topics,
    const link_trouble& saying, bool is_checked);
  ~listener();
  listener(const listener&) = delete;
  listener& operator=(const listener&) = delete;

  std::shared_ptr<detail::subscription_state> subscribe(std::string_view topic, subscription_options how);

  /// Blocks until it listens, or could not the first time.
  void wait_for_first_try() const { tried_.wait(); }

  std::optional<error> trouble() const { return trouble_.get(); }
  std::vector<publisher_figures> publishers() const;
  std::uint64_t reconnects() const noexcept { return reconnects_.load(std::memory_order_relaxed); }
  std::uint64_t undecodable() const noexcept { return undecodable_.load(std::memory_order_relaxed); }
  std::uint64_t foreign() const noexcept { return foreign_.load(std::memory_order_relaxed); }

private:
  void run();
  result<void> listen();
  void hear_until_it_ends();
  result<void> check_that_it_hears();
  void take_what_came();
  void hear(const std::string& text);
  void on(const hint_text& one);
  void on(const bus_beacon& one);
  void on(const bus_ask& one);
  void on(const bus_answer& one);
  void on(const bus_leave& one);
  void tell(std::vector<finding> all);
  void take_in(std::shared_ptr<detail::bus_topic> to, bus_record what, std::optional<missed_span> missed = {});
  void discharge();

  const bus_settings& how_;
  const bus_id own_;
  outbox& to_;
  std::shared_ptr<detail::bus_topics> topics_;
  const link_trouble& saying_;
  std::shared_ptr<guarded_tracker> heard_;
  std::optional<connection> from_;
  clock::time_point own_heard_; // its own beacon, or that it listens
  std::optional<clock::time_point> answered_;
  std::vector<std::pair<std::shared_ptr<detail::bus_topic>, detail::bus_topic::duty>> duties_;
  bool is_checked_;
  bool may_have_missed_ = false;
  bool was_connected_ = false;
  link_trouble trouble_;
  std::atomic<std::uint64_t> reconnects_{0};
  std::atomic<std::uint64_t> undecodable_{0};
  std::atomic<std::uint64_t> foreign_{0};
  wake_event stop_;
  wake_event nothing_;
  std::latch tried_{1};
  std::thread thread_; // last: it uses the others
};

} // namespace weir::postgres
