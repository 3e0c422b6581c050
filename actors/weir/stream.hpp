#pragma once

#include <weir/lane.hpp>
#include <weir/request_lane.hpp>
#include <weir/watermark.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir {

namespace detail {
class stream_state;
} // namespace detail

enum class close_mode {
  drain, ///< publishers are refused; consumers get what is there, then end_of_lane
  abort, ///< everything that waits wakes with closed
};

/// The two ends of one lane. Every call makes a fresh end over the same lane; the newest that is used fences the one before.
class lane_ends {
public:
  weir::producer<lane_item> producer() const { return weir::producer<lane_item>{link_}; }
  weir::consumer<lane_item> consumer(window granted = {}) const {
    return weir::consumer<lane_item>{link_, detail::end_role::consumer, granted};
  }

  /// The consumer of what the lane parked (dead_letter_policy::park): acknowledging lets the floor pass.
  weir::consumer<lane_item> dead_letters(window granted = {}) const {
    return weir::consumer<lane_item>{link_, detail::end_role::dead_letter_consumer, granted};
  }

  const lane_id& id() const noexcept { return link_->id; }

  explicit lane_ends(std::shared_ptr<const detail::lane_link> link) noexcept : link_{std::move(link)} {}

private:
  std::shared_ptr<const detail::lane_link> link_;
};

class request_ends {
public:
  weir::producer<request> producer() const { return weir::producer<request>{link_}; }
  weir::consumer<request> consumer() const { return weir::consumer<request>{link_}; }

  explicit request_ends(std::shared_ptr<const detail::request_link> link) noexcept : link_{std::move(link)} {}

private:
  std::shared_ptr<const detail::request_link> link_;
};

/// One lane's figures at one moment.
struct lane_figures {
  lane_id id;
  std::uint64_t published = 0;    ///< items, since the stream was opened; of a turn that goes on, the first alone
  std::uint64_t acknowledged = 0; ///< items that left the lane: acknowledged without a hole, or dropped with it
  std::uint64_t held_bytes = 0;
  std::uint64_t peak_items = 0;       ///< the most that it ever held
  std::uint64_t bound_violations = 0; ///< never anything but zero
  std::uint64_t in_log = 0;           ///< of a durable stream: entries of the log that were not read for this lane yet
};

struct stream_figures {
  std::vector<lane_figures> lanes;
  std::uint64_t requests = 0;      ///< asked and not yet served
  std::uint64_t charged_bytes = 0; ///< of all blocks, each counted once
  std::uint64_t unstored = 0;      ///< of a durable stream: items that are published and not in its log yet
  std::uint64_t budget_bytes = 0;
};

/// Ordered, acknowledged lanes from one ingest side to many sinks; a request lane back up; the watermark. A handle: copies are
/// the same stream, and with the last copy (and the last end) its actors end. Thread-safe.
class stream {
public:
  /// Fails with unknown_lane; the facts name the lanes there are.
  result<lane_ends> lane(const lane_id& id) const;
  request_ends requests() const;
  watermark_view watermark() const;

  /// Whether no item, lease, request or running snapshot exists anywhere. Read without asking anybody; true only when there was
  /// a moment at which it was true.
  bool idle() const;

  /// The lane joins the minimum with the floor that it states: what its sink is known to hold. Fails with duplicate_lane.
  result<void> add_lane(const lane_id& id, std::optional<position> floor);

  /// Takes the lane out of the minimum, fails its ends with lane_retired, and drops what it held. Fails with unknown_lane.
  result<void> retire_lane(const lane_id& id);

  void close(close_mode mode);

  /// Lanes get nothing more from a log: what a durable stream has stored and not yet read into them stays for its next opening.
  /// Without effect where there is no log.
  void suspend();

  stream_figures figures() const;

  /// Why a durable stream is over: what its log said, or that another process has opened it. Absent while it is not.
  std::optional<error> failure() const;

  /// Why a durable stream's log does not go on at the moment: it is tried again. Absent while it does, and where there is none.
  std::optional<error> trouble() const;

  explicit stream(std::shared_ptr<detail::stream_state> state) noexcept : state_{std::move(state)} {}

private:
  std::shared_ptr<detail::stream_state> state_;
};

} // namespace weir
