#pragma once

#include <weir/batch.hpp>
#include <weir/credit.hpp>
#include <weir/lease.hpp>
#include <weir/ring.hpp>
#include <weir/shared_item.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace weir {

/// What a lane may hold: items published and not yet acknowledged, and their bytes. One item larger than `bytes` is admitted
/// alone.
struct lane_bound {
  std::size_t items = 1024;
  std::size_t bytes = 16u << 20;
};

/// What becomes of an item that was returned `max_attempts` times.
enum class dead_letter_policy : std::uint8_t {
  stop_lane, ///< the consumer ends with dead_lettered; the item stays the lane's first
  park,      ///< the item waits for the lane's dead-letter consumer, the lane goes on, the floor stays before the item
};

struct lane_policy {
  lane_bound bound;
  std::optional<std::uint32_t> max_attempts = {}; ///< absent: an item is redelivered for ever
  dead_letter_policy dead_letters = dead_letter_policy::stop_lane;
};

/// A lane's two ways out: its consumer, and the consumer of what it parked.
enum class outlet : std::uint8_t { main, dead_letters };

/// How far a lane is acknowledged without a hole.
struct lane_floor {
  std::optional<position> reached;     ///< the last position of the acknowledged prefix
  std::optional<position> confirmable; ///< the last position of the prefix that ends a transaction

  friend bool operator==(const lane_floor&, const lane_floor&) = default;
};

/// A floor that is stated as a position alone.
inline lane_floor floor_of(const std::optional<position>& reached) {
  return {reached, reached && reached->ends_transaction ? reached : std::nullopt};
}

/// How far a lane is acknowledged, hole by hole, for whoever keeps it beyond the process. Numbers are sequences.
struct lane_progress {
  lane_floor floor = {};
  std::uint64_t released = 0;      ///< everything below is acknowledged
  std::uint64_t settled_below = 0; ///< everything with a position below is acknowledged; not below `released`

  /// What is acknowledged behind a hole: the first and the last of each run, in order.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> acknowledged = {};

  friend bool operator==(const lane_progress&, const lane_progress&) = default;
};

/// Everything that can be wrong about one lane's order, leases, credit and floor, without an actor, a clock or a message. The
/// lane's actor feeds it events and carries out what it says. Time comes in as a number that grows (milliseconds).
///
/// Items are numbered by `sequence` in publish order. Each is queued, then lent to the consumer, and either acknowledged or
/// returned; what is returned is due again in the original order and before anything new.
class lane_machine {
public:
  /// An item as its producer hands it over: what the lane needs of it without looking at it, which would cost a look into
  /// another core's cache.
  struct offered {
    shared_item item;
    shared_item to_lend; ///< a second reference, for the consumer
    std::size_t bytes = 0;

    explicit offered(shared_item&& made) noexcept : item{std::move(made)}, to_lend{item}, bytes{item.bytes()} {}
    explicit offered(shared_item_copies& copies) noexcept : item{copies.take()}, to_lend{copies.take()}, bytes{item.bytes()} {}

    /// The value, for whoever offered it.
    lane_item take() {
      to_lend.reset();
      return item.take();
    }
  };

  /// Consecutive items that are lent to the consumer at once.
  struct delivery {
    std::uint64_t ordinal = 0;  ///< of the first, on the link to the consumer; each has the next
    std::uint64_t sequence = 0; ///< of the first; each has the next
    std::uint32_t attempt = 0;  ///< the same for all; 1 the first time
    std::size_t count = 0;
    std::uint64_t bytes = 0; ///< of all
  };

  lane_machine(lane_policy policy, lane_floor start);

  // The producer's side ------------------------------------------------------------------------------------------------

  /// Fences the producer before, if any, and returns the new generation.
  std::uint64_t attach_producer();

  /// Takes items over, numbered by the link from `first`. False, and nothing changes, when the generation is fenced.
  bool receive(std::uint64_t generation, std::uint64_t first, std::vector<offered>&& items);
  bool receive(std::uint64_t generation, std::uint64_t first, std::vector<lane_item>&& items);

  void on_probe(std::uint64_t generation, credit wanted);

  /// The producer has said its last word.
  void detach_producer(std::uint64_t generation);

  /// What to grant the producer now, if anything; whatever is free if it has starved for long.
  std::optional<credit> take_grant(bool has_starved = false);

  /// The producer has nothing left to spend, and what is free is too little to be granted right away.
  bool is_producer_starved() const noexcept { return has_producer_ && credit_.is_sender_starved(); }

  std::uint64_t producer_generation() const noexcept { return producer_generation_; }
  bool has_producer() const noexcept { return has_producer_; }

  /// Where a newly attached producer stands: grants and spending are totals of the lane, so they outlive a take-over.
  sending_credit producer_credit() const noexcept { return {credit_.bound(), credit_.granted(), credit_.received()}; }

  // The consumers' side ------------------------------------------------------------------------------------------------

  /// Fences the consumer before, returns what it held, and starts a new generation with an empty window.
  std::uint64_t attach_consumer(outlet out, credit window);

  /// The consumer is gone; what it held is due again. Deliveries from `taken` on it never saw: they count no attempt.
  void detach_consumer(outlet out, std::uint64_t generation, std::uint64_t taken);

  void on_grant(outlet out, std::uint64_t generation, credit up_to);

  /// Acknowledges every delivery below `through`; those below `taken` were handed to the consumer's code. False: stale.
  bool on_acknowledged_below(outlet out, std::uint64_t generation, std::uint64_t through, std::uint64_t taken);
  bool on_acknowledged(outlet out, std::uint64_t generation, std::uint64_t ordinal);
  bool on_returned(outlet out, std::uint64_t generation, std::uint64_t ordinal, std::uint64_t due);

  /// Deliveries from `taken` on were not handed to the consumer's code and never will be: they are due again, in order with
  /// what was returned, and count no attempt.
  void return_untaken(outlet out, std::uint64_t generation, std::uint64_t taken);

  /// Lends what may go to the consumer next, at most so many items. None: nothing more may go now.
  delivery lend(outlet out, std::uint64_t now, std::size_t most);

  /// The consumer's references to what was lent just now.
  std::vector<shared_item> take_lent(const delivery& lent);

  /// Whether anything was returned that only becomes due later: then the time given to deliver() matters.
  bool waits_for_time() const noexcept { return !outlets_[0].returned.empty() || !outlets_[1].returned.empty(); }

  /// Nothing is left to deliver there now; what is lent may still come back.
  bool all_delivered(outlet out) const noexcept;

  /// When deliver() must be called again because a returned item becomes due; nothing when no time matters.
  std::optional<std::uint64_t> next_due(std::uint64_t now) const noexcept;

  bool has_consumer(outlet out) const noexcept { return outlets_[index(out)].attached; }
  std::uint64_t consumer_generation(outlet out) const noexcept { return outlets_[index(out)].generation; }

  // The whole ----------------------------------------------------------------------------------------------------------

  const lane_floor& floor() const noexcept { return floor_; }

  /// Takes time in proportion to what is held where something is acknowledged behind a hole.
  lane_progress progress() const;
  const std::optional<position>& last_position() const noexcept { return last_position_; }

  /// No more than this is published and not acknowledged.
  std::size_t held_items() const noexcept { return entries_.size(); }
  std::size_t held_bytes() const noexcept { return held_bytes_; }

  /// Items that joined the acknowledged prefix or were dropped, since the lane began.
  std::uint64_t released_items() const noexcept { return first_; }
  std::uint64_t received_items() const noexcept { return end(); }

  /// The lane stopped at this item, under dead_letter_policy::stop_lane.
  bool is_stopped() const noexcept { return stopped_; }
  std::size_t parked_items() const noexcept { return parked_; }

  /// Drops everything: the lane is retired or aborted.
  void drop_all();

  std::uint64_t bound_violations() const noexcept { return bound_violations_; }
  std::uint64_t stale_messages() const noexcept { return stale_messages_; }

private:
  enum class entry_state : std::uint8_t { queued, lent, returned, acknowledged };

  struct entry : offered {
    explicit entry(offered&& received) noexcept : offered{std::move(received)} {}

    std::uint32_t attempts = 0;
    entry_state state = entry_state::queued;
    outlet where = outlet::main;
  };

  struct outlet_state {
    bool attached = false;
    std::uint64_t generation = 0;
    std::uint64_t taken = 0; // ordinals below were handed to the consumer's code
    sending_credit credit;
    lease_table leases;
    std::map<std::uint64_t, std::uint64_t> returned; // sequence → due
  };

  static constexpr std::size_t index(outlet out) noexcept { return static_cast<std::size_t>(out); }
  /// Calls `visit(entry)` for the entries from `first` up to `last`, in order, until it returns false.
  template <class F>
  void each(std::uint64_t first, std::uint64_t last, F&& visit) {
    while (first != last) {
      const auto entries = entries_.contiguous(static_cast<std::size_t>(first - first_));
      const auto count = std::min<std::size_t>(entries.size(), static_cast<std::size_t>(last - first));
      for (auto& one : entries.first(count))
        if (!visit(one))
          return;
      first += count;
    }
  }

  entry& at(std::uint64_t sequence) noexcept { return entries_[static_cast<std::size_t>(sequence - first_)]; }
  std::uint64_t end() const noexcept { return first_ + entries_.size(); }

  bool is_current(outlet out, std::uint64_t generation) noexcept;
  delivery lend_new(outlet_state& to, std::size_t most);
  delivery lend_returned(outlet_state& to, std::uint64_t now, std::size_t most);
  void acknowledge(std::uint64_t sequence, std::uint64_t count = 1);
  void keep_place(entry& done);
  const position* place_of(std::uint64_t sequence) noexcept;
  void settle();
  void settle_floor();
  void give_back(outlet out, std::uint64_t ordinal, std::uint64_t sequence, std::uint64_t due);
  void return_all(outlet out);

  lane_policy policy_;
  receiving_credit credit_;
  bool has_producer_ = false;
  std::uint64_t producer_generation_ = 0;
  std::uint64_t first_ = 0;      // the sequence of the first entry
  std::uint64_t prefix_end_ = 0; // everything below is acknowledged, and goes as soon as the event is handled
  ring<entry> entries_;
  std::uint64_t next_new_ = 0;
  std::uint64_t floor_end_ = 0; // everything below that has a position is acknowledged
  std::array<outlet_state, 2> outlets_;
  lane_floor floor_;
  std::optional<position> last_position_;
  std::size_t held_bytes_ = 0;
  std::size_t unacknowledged_ = 0;
  std::size_t parked_ = 0;
  bool stopped_ = false;
  std::uint64_t bound_violations_ = 0;
  std::uint64_t stale_messages_ = 0;
};

} // namespace weir
