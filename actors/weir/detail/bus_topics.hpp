#pragma once

#include <weir/actor_ref.hpp>
#include <weir/detail/subscription_state.hpp>
#include <weir/ring.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace caf {
class actor_system;
} // namespace caf

namespace weir::detail {

/// What all topics of a hub, or of a bus that has none, have counted.
struct bus_counts {
  std::atomic<std::size_t> subscriptions{0};
  std::atomic<std::uint64_t> heard{0};
  std::array<std::atomic<std::uint64_t>, 40> lag{}; ///< as in bus_stats

  void count(const hint_place& one, std::int64_t now) noexcept;
  void put_into(bus_stats& figures) const noexcept;
};

/// A topic that somebody subscribes to. What is brought waits in its inlet, which has room for as much as the buffers of its
/// subscriptions together; its actor takes it from there into each of them. Whoever brings something does that in the actor's
/// place where the inlet is full, so that nothing is lost here (what is lost is lost in a buffer, by its policy), and where
/// there are so few subscriptions that waking the actor would take longer. Any thread.
class bus_topic : public std::enable_shared_from_this<bus_topic> {
public:
  /// Waking an actor takes as long as handing out to about so many (bench/bus, on two cores).
  static constexpr std::size_t most_in_place = 8;

  explicit bus_topic(std::shared_ptr<bus_counts> counts) noexcept : counts_{std::move(counts)} {}

  /// What is left to do when something was taken in.
  enum class duty { none, wake_actor, hand_out, make_room };

  /// Takes in, in the order of the calls, which may hold a lock of their own. The duty is done after it, without one: for each
  /// caller in between, the inlet holds one more than its room.
  [[nodiscard]] duty take_in(bus_record what, std::optional<missed_span> missed = {});
  void discharge(duty left);

  void offer(bus_record what) { discharge(take_in(std::move(what))); }

  /// Hands out what waits. One at a time, in order.
  void drain();

  std::shared_ptr<subscription_state> add(subscription_options how, bus_id own, std::uint64_t began);

  /// True when that was the last one.
  bool remove(const subscription_state& one);

  void start(actor_ref actor) { actor_ = std::move(actor); }
  const actor_ref& actor() const noexcept { return actor_; }

  /// Those of one bus end; of all where it is not named.
  void end(const error& why, std::optional<bus_id> of);

private:
  struct member {
    bus_id own;
    std::shared_ptr<subscription_state> state;
  };
  using members = std::vector<member>;

  void hand_out();
  bool call();
  std::shared_ptr<const members> current() const;

  std::shared_ptr<bus_counts> counts_;
  actor_ref actor_;
  mutable std::mutex mutex_; // of what follows; held for a moment at a time
  ring<offered_record> inlet_;
  std::size_t room_ = 0;
  std::uint64_t next_place_ = 0;
  bool is_called_ = false; // its actor is on its way
  std::shared_ptr<const members> members_ = std::make_shared<const members>();
  std::mutex draining_; // held by who hands out, and by nobody else
};

/// The topics of a hub, or of a bus that has none.
class bus_topics {
public:
  explicit bus_topics(caf::actor_system& system) : system_{system} {}
  ~bus_topics();
  bus_topics(const bus_topics&) = delete;
  bus_topics& operator=(const bus_topics&) = delete;

  /// Null where nobody subscribes.
  std::shared_ptr<bus_topic> find(std::string_view topic) const;

  /// `left` is called when the last subscription of a topic has gone. `began` is the moment of a loss_tracker, where there is
  /// one.
  std::shared_ptr<subscription_state> subscribe(const std::shared_ptr<bus_topics>& self, std::string_view topic,
    subscription_options how, bus_id own, std::function<void(const std::string&)> left, std::uint64_t began = 0);

  void for_each(const std::function<void(const std::string&, bus_topic&)>& action) const;
  const bus_counts& counts() const noexcept { return *counts_; }

  /// A hint was heard, and nobody subscribes to its topic.
  void count(const hint_place& one) noexcept;

private:
  struct name_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const noexcept { return std::hash<std::string_view>{}(name); }
  };
  using topic_map = std::unordered_map<std::string, std::shared_ptr<bus_topic>, name_hash, std::equal_to<>>;
  struct part {
    mutable std::mutex mutex;
    topic_map topics;
  };

  part& part_of(std::string_view topic) const noexcept { return parts_[name_hash{}(topic) % parts_.size()]; }

  caf::actor_system& system_;
  mutable std::array<part, 16> parts_;
  std::shared_ptr<bus_counts> counts_ = std::make_shared<bus_counts>();
};

} // namespace weir::detail
