#pragma once

#include <weir/actor_ref.hpp>
#include <weir/batch.hpp>
#include <weir/credit.hpp>
#include <weir/error.hpp>
#include <weir/lane_machine.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

/// The messages between the actors of a stream: a closed set. Control messages are of fixed size, urgent, and cumulative or
/// at most one of a kind for each lane end, so that they are bounded without credit; data messages spend credit.
namespace weir::detail {

/// Names an endpoint within an actor. A slot that is used again has a newer generation.
struct endpoint_address {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;

  friend bool operator==(const endpoint_address&, const endpoint_address&) = default;
};

enum class end_role : std::uint8_t { producer, consumer, dead_letter_consumer };

constexpr outlet outlet_of(end_role role) noexcept {
  return role == end_role::dead_letter_consumer ? outlet::dead_letters : outlet::main;
}

/// The newest state of something on its way to an actor: one message at a time, however often it changes meanwhile.
template <class T>
class newest_report {
public:
  /// True when nothing is under way: then a message must be sent.
  bool put(T newest) {
    const std::lock_guard lock{mutex_};
    newest_ = std::move(newest);
    return !std::exchange(under_way_, true);
  }

  T take() {
    const std::lock_guard lock{mutex_};
    under_way_ = false;
    return newest_;
  }

private:
  std::mutex mutex_;
  T newest_ = {};
  bool under_way_ = false;
};
/// An end asks for its lane: producer or consumer. Answered by attached, or cancel.
struct attach_end {
  end_role role;
  actor_ref from;
  endpoint_address reply;
  credit window;          ///< a consumer's; a producer's is the lane's to say
  std::uint64_t lane = 0; ///< to a stream's log actor: which lane; 0 is a line, on which the producers of one actor publish
};

struct attached {
  std::uint64_t generation;
  sending_credit sending;               ///< a producer's
  std::uint64_t next_sequence;          ///< a producer's: the number of its first item
  std::shared_ptr<const position> last; ///< a producer's: what the lane carried last
  bool may_repeat = false; ///< a producer's: what the lane carried before it was opened comes again, and is passed over
  std::shared_ptr<const position> repeats_behind = {}; ///< … from here on; null: from the beginning
};

/// Absolute: everything below may be sent. At most one is under way for each end; a newer one overwrites.
struct grant {
  end_role role;
  std::uint64_t generation;
  credit up_to;
};

/// A starved producer says what it waits for.
struct probe {
  std::uint64_t generation;
  credit wanted;
};

/// Everything below `through` is done, everything below `taken` was handed to the consumer's code. Cumulative.
struct acknowledged_below {
  end_role role;
  std::uint64_t generation;
  std::uint64_t through;
  std::uint64_t taken;
  credit granted; ///< the consumer's newest grant travels along
};

/// One delivery, out of order.
struct acknowledged_one {
  end_role role;
  std::uint64_t generation;
  std::uint64_t ordinal;
};

/// One delivery comes back. Those from `taken` on, which were not handed to the consumer's code, come back with it and are
/// delivered again behind it: what is returned is due before anything new.
struct returned_one {
  end_role role;
  std::uint64_t generation;
  std::uint64_t ordinal;
  std::uint64_t after_ms;
  std::uint64_t taken;
};

/// An end is gone, perhaps before it heard of its generation: it is known by where it was. A producer's comes behind its data.
struct detach_end {
  end_role role;
  actor_ref from;
  endpoint_address reply;
  std::uint64_t taken;
  std::uint64_t lane = 0; ///< as in attach_end
};

/// To an end: nothing more will come of it.
struct cancel {
  errc reason;
  std::shared_ptr<const error> why = {}; ///< where the reason alone does not say it
};

/// To a consumer, behind the data: everything was delivered and nothing new will come. Holds only while the lane has handled
/// as many returns as the consumer has sent.
struct end_of_lane {
  std::uint64_t generation;
  std::uint64_t returns;
};

/// To a lane: from the stream.
struct close_lane {
  bool drain;
  std::shared_ptr<const error> why = {}; ///< the stream has failed; not with drain
};
struct retire_lane {};

/// To a stream's log actor: read this lane's items into it, from now on; or no more.
struct kept_lane;
struct keep_lane {
  std::shared_ptr<kept_lane> lane;
};
struct forget_lane {
  std::uint64_t lane;
};

/// To a stream's log actor: read nothing more into lanes.
struct suspend_lanes {};

/// To a stream's log actor: how far a lane is. At most one is under way for each lane.
class progress_report;
struct lane_progressed {
  std::uint64_t lane;
  std::shared_ptr<progress_report> report;
};

/// What a stream's watermark actor knows.
struct watermark_figures {
  std::optional<position> watermark;
  std::optional<position> confirmable;
};

/// To a stream's log actor: which backfills are not served. At most one is under way.
class request_report : public newest_report<std::vector<request>> {};
struct requests_changed {
  std::shared_ptr<request_report> report;
};

/// Answers watch.
struct watermark_moved {
  std::shared_ptr<const watermark_figures> now;
};

/// Wakes a coroutine that waits for something outside of its actor.
struct wake {};

/// To a host: stop in good order, or at once.
struct stop_host {};
struct kill_host {};

using control = std::variant<attach_end, attached, grant, probe, acknowledged_below, acknowledged_one, returned_one, detach_end,
  cancel, end_of_lane, close_lane, retire_lane, keep_lane, forget_lane, lane_progressed, requests_changed, suspend_lanes,
  watermark_moved, wake, stop_host, kill_host>;

struct control_message {
  endpoint_address to;
  control what;
};

/// To the watermark actor. At most one move_floor of each lane is under way; a reader has one watch at a time.
struct add_floor {
  std::uint64_t lane;
  lane_floor start;
};
using floor_report = newest_report<lane_floor>;
class progress_report : public newest_report<lane_progress> {};

struct move_floor {
  std::uint64_t lane;
  std::shared_ptr<floor_report> report;
};
struct retire_floor {
  std::uint64_t lane;
};
struct watch {
  enum class until : std::uint8_t { now, watermark_covers, watermark_differs, confirmable_differs };
  until condition;
  std::optional<position> given;
  actor_ref from;
  endpoint_address reply;
};
struct unwatch {
  actor_ref from;
  endpoint_address reply;
};

struct watermark_message {
  std::variant<add_floor, move_floor, retire_floor, watch, unwatch> what;
};

/// How full an actor's mailbox and lanes are and were; shared with whoever shows it. Written by the actor and its senders.
struct meter {
  std::atomic<std::uint64_t> depth{0};
  std::atomic<std::uint64_t> peak{0};

  void enter() noexcept {
    const auto now = depth.fetch_add(1, std::memory_order_relaxed) + 1;
    auto seen = peak.load(std::memory_order_relaxed);
    while (seen < now && !peak.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {
    }
  }
  void leave() noexcept { depth.fetch_sub(1, std::memory_order_relaxed); }
};

/// The body of a data message. Counts in its receiver's mailbox from the moment it is sent until it ends, on whatever path:
/// handled, bounced, dropped with a closed mailbox.
class parcel {
public:
  parcel() = default;
  virtual ~parcel() {
    if (counted_in_)
      counted_in_->leave();
  }
  parcel(const parcel&) = delete;
  parcel& operator=(const parcel&) = delete;

  void count_in(std::shared_ptr<meter> mailbox) noexcept {
    if (counted_in_)
      return;
    counted_in_ = std::move(mailbox);
    counted_in_->enter();
  }

private:
  std::shared_ptr<meter> counted_in_;
};

struct data_message {
  endpoint_address to;
  std::shared_ptr<parcel> items;
};

/// At most so many items are gathered into one message: what a message costs is then less than a hundredth of each item.
inline constexpr std::size_t items_per_message = 512;

/// Producer → lane.
class published_items final : public parcel {
public:
  std::uint64_t generation = 0;
  std::uint64_t first = 0;
  std::vector<lane_machine::offered> items;
};

/// Line → log actor: what the producers of one actor published in one turn, each item once.
class published_entries final : public parcel {
public:
  /// Which lane, as which generation of its producer.
  struct target {
    std::uint64_t lane = 0;
    std::uint64_t generation = 0;

    friend bool operator==(const target&, const target&) = default;
  };
  using target_list = std::vector<target>;
  struct entry {
    shared_item item;
    std::size_t bytes = 0;
    std::size_t targets = 0; ///< which of the lists below
  };

  std::uint64_t line = 0;
  std::vector<entry> items;
  std::vector<target_list> targets; ///< none empty; entries in a row that are for the same share one
};

/// Lane → consumer: consecutive items, all delivered for the same time.
class delivered_items final : public parcel {
public:
  std::uint64_t generation = 0;
  std::uint64_t returns = 0;  ///< that the lane had handled; the consumer drops what was sent before its last return
  std::uint64_t ordinal = 0;  ///< of the first; each has the next
  std::uint64_t sequence = 0; ///< of the first; each has the next
  std::uint32_t attempt = 0;
  std::uint64_t bytes = 0; ///< of all
  std::vector<shared_item> items;
};

/// Sink engine → request lane.
class published_request final : public parcel {
public:
  request asked;
  bool forget = false; ///< a lane was retired: drop what was asked for its sink, or for the one collection that is named
};

/// Request lane → ingest engine.
class delivered_request final : public parcel {
public:
  std::uint64_t generation = 0;
  std::uint64_t ticket = 0;
  std::uint32_t attempt = 0;
  request asked;
};

/// The figures of one lane that anybody may read at any time. `published` counts before `acknowledged` can.
struct lane_gauge {
  // The two that change with every message stand on cache lines of their own: publisher and lane run on different cores.
  alignas(64) std::atomic<std::uint64_t> published{0};
  alignas(64) std::atomic<std::uint64_t> acknowledged{0};
  std::atomic<std::uint64_t> held_bytes{0};
  std::atomic<std::uint64_t> peak_items{0};
  std::atomic<std::uint64_t> bound_violations{0};
  std::atomic<std::uint64_t> in_log{0}; ///< of a durable stream: entries that were not read for the lane yet
  std::atomic<std::uint64_t> producer_generation{0};
  std::atomic<std::uint64_t> consumer_generation[2]{};
};

} // namespace weir::detail
