#pragma once

#include <weir/condition.hpp>
#include <weir/detail/stream_log.hpp>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir::detail {

/// One lane, as the log actor knows it.
struct log_lane {
  log_lane(kept_lane lane, checkpointer of, std::int64_t acknowledged, lane_checkpoint kept)
    : given{std::move(lane)},
      keeper{std::move(of)},
      cursor{acknowledged, std::move(kept)},
      begins{acknowledged + 1} {}

  kept_lane given;
  checkpointer keeper;
  lane_cursor cursor;
  std::int64_t begins; // what is stored below is not its business

  // Its producer.
  actor_ref producer;
  endpoint_address reply;
  std::uint64_t generation = 0;
  bool has_producer = false;
  std::optional<position> last; // published for it
  bool may_repeat = false;      // nothing was published since it was opened

  // Its reader and its checkpoint.
  bool is_behind = true; // counts as one published item: something may be stored that is not in the lane yet
  bool is_dirty = false; // what its checkpoint should say has changed
  bool is_retired = false;
  bool has_failed = false; // expired, or an entry can't be read: nothing more is delivered
  std::uint64_t released = 0;
  std::int64_t committed = -1; // its checkpoint's offset

  lane_floor told; // to the watermark
  std::shared_ptr<floor_report> floor = std::make_shared<floor_report>();
};
using log_lane_ptr = std::shared_ptr<log_lane>;

/// What is published, on its way to the log and near its head.
struct log_item {
  shared_item item;
  std::size_t bytes = 0;
  std::uint64_t line = 0;
  std::vector<log_lane_ptr> lanes; // none: all that there were

  bool is_for(const log_lane_ptr& lane) const noexcept {
    return lanes.empty() || std::ranges::find(lanes, lane) != lanes.end();
  }
};

/// What the coroutines of a stream's log actor share.
struct stream_log_state {
  durable_settings how;
  std::shared_ptr<log_topic> topic;
  std::shared_ptr<lane_gauge> gauge; // of what is published and not yet stored
  std::shared_ptr<log_budget> budget;
  std::shared_ptr<log_report> report;

  std::map<std::uint64_t, log_lane_ptr> lanes;
  actor_ref watermark; // of the stream, as its lanes say; null before the first
  actor_ref requests;

  struct line {
    actor_ref from;
    endpoint_address reply;
    receiving_credit credit;
  };
  std::map<std::uint64_t, line> lines;
  std::uint64_t next_line = 1;

  std::deque<log_item> pending; // in the order in which they will stand in the log
  std::size_t writing = 0;      // of them, on the way to the store

  std::int64_t head = 0;
  std::deque<log_item> recent; // the last ones that are stored, up to the head
  std::size_t recent_bytes = 0;

  std::shared_ptr<log_topic> request_topic;
  std::int64_t request_head = 0;
  std::string owner;
  std::optional<std::vector<request>> unstored_requests; // the newest set, where it is not stored

  bool is_trim_wanted = false;
  std::int64_t trimmed = -1;
  std::uint64_t bytes_since_trim = 0;
  std::int64_t entries_since_trim = 0;

  bool is_closing = false;   // nothing more is published
  bool is_suspended = false; // nothing more is read into lanes
  bool is_stopping = false;  // the actor was asked to end
  std::optional<error> failure;

  /// Lanes whose checkpoint is still to be stored or dropped, by its consumer, oldest first: a lane that comes again under its
  /// name waits until the one before it is forgotten.
  std::map<std::string, std::deque<log_lane_ptr>> keepers;

  condition arrived;    // something is pending, or an end changed
  condition stored;     // the head moved
  condition progressed; // of a lane

  std::int64_t next_offset() const noexcept { return head + static_cast<std::int64_t>(pending.size()); }
  std::int64_t recent_begin() const noexcept { return head - static_cast<std::int64_t>(recent.size()); }

  void wake_all() {
    arrived.notify_all();
    stored.notify_all();
    progressed.notify_all();
  }
};
using stream_log_ptr = std::shared_ptr<stream_log_state>;

/// Tells the watermark, if it is news.
void tell_floor(self me, log_lane& lane, const lane_floor& floor);

/// The whole stream is over: everybody is told why.
void fail(self me, stream_log_state& state, error why);

/// One lane is over, whose consumer is told why; its items are still stored.
void fail_lane(self me, stream_log_state& state, log_lane& lane, error why);

/// How much of what is stored the lane has not got yet, for figures.
void note_in_log(const stream_log_state& state, const log_lane& lane);

/// Whether enough has come together that letting go of it pays.
void note_trim(stream_log_state& state);

/// Hands out the credit that came free.
void grant_lines(self me, stream_log_state& state);

// The coroutines.
task<> write_items(self me, stream_log_ptr state);
task<> read_items(self me, stream_log_ptr state, log_lane_ptr lane);
task<> keep_checkpoint(self me, stream_log_ptr state, log_lane_ptr lane);
task<> trim(self me, stream_log_ptr state);
task<> keep_trimmed(self me, stream_log_ptr state);
task<> store_requests(self me, stream_log_ptr state);

} // namespace weir::detail
