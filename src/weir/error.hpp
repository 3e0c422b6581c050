#pragma once

#include <boost/outcome/basic_result.hpp>
#include <boost/outcome/policy/terminate.hpp>
#include <boost/outcome/success_failure.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir {

/// What went wrong, as a stable code. Codes are never renumbered; new ones go at the end of their group.
enum class errc : int {
  // The caller's own doing: fix the input.
  invalid_argument = 1,    ///< a value that no state of the system could accept; the facts name it
  stamp_too_long = 2,      ///< a position's stamp exceeds 64 bytes
  position_missing = 3,    ///< a live batch without a position
  position_unexpected = 4, ///< a snapshot batch with a position
  position_not_above = 5,  ///< a position that is not above the lane's last
  unknown_lane = 6,        ///< no lane of that name in this stream
  unknown_collection = 7,  ///< a request names a collection that the stream does not carry
  duplicate_lane = 8,      ///< a lane of that name exists already
  wait_cycle = 9,          ///< wiring this would let actors wait for each other in a circle; the facts name the path
  unsupported = 10,        ///< this source, sink or adapter can't do that; the facts name what it can do
  request_missing = 11,    ///< a snapshot batch or a marker without its request's id

  // The state of a lane, a delivery or an actor: give up, or attach again.
  end_of_lane = 20,      ///< the lane is closed and everything in it was delivered
  closed = 21,           ///< the stream was closed
  lane_retired = 22,     ///< the lane was taken out of the stream
  fenced = 23,           ///< a newer consumer or producer has taken over
  stale_delivery = 24,   ///< the lease was superseded; nothing was changed
  too_many_waiters = 25, ///< the bounded queue of waiting publishers is full
  dead_lettered = 26,    ///< the lane stopped at an item that failed too often
  actor_stopped = 27,    ///< the actor that was to answer has ended
  broken_promise = 28,   ///< the actor that was to answer dropped the question
  coroutine_failed = 29, ///< an exception left a coroutine, or a consumer's effect; its text is kept

  // Passing states: try again.
  cancelled = 40,  ///< stopped before it happened; nothing was changed
  timed_out = 41,  ///< the deadline passed before it happened; nothing was changed
  would_wait = 42, ///< a try_ call found no room, or nothing there
  overloaded = 43, ///< the destination asks to be left alone for a while
  inbox_full = 44, ///< the receiver's bounded inbox refused the message

  // The world outside.
  not_found = 60,          ///< a file, repository, ref or table that is not there
  not_a_repository = 61,   ///< the path exists and is no Git repository
  permission_denied = 62,  ///< the operating system refuses
  storage_full = 63,       ///< no space left where it was to be written
  io_failed = 64,          ///< any other failure of the operating system
  corrupt = 65,            ///< bytes that can't be what they should be
  wrong_owner = 66,        ///< state or a table that belongs to another pipeline or program
  in_use = 67,             ///< another process holds it
  bad_record = 68,         ///< an input record that can't be read; the facts say where
  rejected = 69,           ///< the destination refuses this record, and would again
  source_failed = 70,      ///< the source broke its promises or gave up
  sink_failed = 71,        ///< the sink gave up
  sequence_restarted = 72, ///< a source numbers from the start again without opening a new epoch
  sink_behind = 73,        ///< the destination has lost what was confirmed to the source
  not_a_log = 74,          ///< the file exists and is no log
  newer_format = 75,       ///< written by a newer version, in a format that this one does not know
  read_only = 76,          ///< it can be read and not be written
  disconnected = 77,       ///< the connection to it is cut

  // A log, its cursors and its feeds.
  layout_mismatch = 90,       ///< the topic exists with other shards, another format or codec
  unknown_topic = 91,         ///< the store has no topic of that name
  entry_too_large = 92,       ///< larger than the store takes
  dedupe_conflict = 93,       ///< the topic holds another entry under that dedupe key
  head_moved = 94,            ///< the shard's head is not the expected one
  append_aborted = 95,        ///< an earlier append of the same window failed; this one did not happen
  cursor_expired = 96,        ///< what follows the cursor is not retained any more
  ahead_of_head = 97,         ///< the cursor is beyond the shard's head
  corrupt_entry = 98,         ///< the entry at that offset is not what was appended
  no_snapshot = 99,           ///< there is none at or below that cursor
  snapshot_corrupt = 100,     ///< its chunks are not what was stored
  snapshot_trimmed = 101,     ///< what follows it is not retained any more
  not_covered = 102,          ///< no snapshot covers what would be trimmed, and it was not forced
  checkpoint_conflict = 103,  ///< the checkpoint is not the expected one: somebody else has committed
  checkpoint_regress = 104,   ///< the checkpoint would go back
  invalid_cursor = 105,       ///< a text that is no cursor, or was cut or changed
  wrong_source = 106,         ///< a cursor of another store or topic
  stale_epoch = 107,          ///< a cursor of another epoch of the topic
  ack_beyond_delivered = 108, ///< acknowledges what was never delivered
  oversize = 109,             ///< one entry is larger than the feed may ever hold
  group_full = 110,           ///< a consumer group with as many members as it may have

  // A bus.
  bad_topic = 120,       ///< no topic's name: empty, too long, no UTF-8, or with NUL
  too_large = 121,       ///< a hint with more bytes than a bus carries
  bus_full = 122,        ///< what is on its way to the link is as much as may be; nothing was published
  outcome_unknown = 123, ///< the connection died before it said whether that happened; it is not tried again
  evicted = 124,         ///< the subscription's buffer was full, and its policy is to end then
  bus_closed = 125,      ///< the whole bus was closed, and with it its subscriptions
};

/// Whether the same call may succeed later without anybody changing it: a passing state, or the world outside.
bool is_passing(errc code) noexcept;

/// The code's name as it is spelled in errc, for logs and JSON.
std::string_view name_of(errc code) noexcept;

/// An expected failure: a stable code, one sentence for a person, and the facts as name and value. Never holds secrets. Small,
/// so that a result that may fail costs little where it does not.
class error {
public:
  using fact = std::pair<std::string, std::string>;

  explicit error(errc code, std::string sentence = {}, std::vector<fact> facts = {});
  error(const error& other);
  error(error&& other) noexcept = default;
  error& operator=(const error& other);
  error& operator=(error&& other) noexcept = default;
  ~error() = default;

  errc code() const noexcept { return code_; }
  const std::string& sentence() const noexcept;
  const std::vector<fact>& facts() const noexcept;

  /// The value of the named fact, or an empty view.
  std::string_view fact_of(std::string_view name) const noexcept;

  /// Adds a fact on the way up, where it is known; an earlier fact of that name wins.
  error&& with(std::string name, std::string value) &&;

  /// "code: sentence (name=value, …)", one line.
  std::string to_string() const;

  /// Errors are equal when their codes are: the sentence is for people.
  friend bool operator==(const error& left, const error& right) noexcept { return left.code_ == right.code_; }
  friend bool operator==(const error& left, errc right) noexcept { return left.code_ == right; }

private:
  struct particulars {
    std::string sentence;
    std::vector<fact> facts;
  };

  const particulars& known() const noexcept;

  errc code_;
  std::unique_ptr<particulars> particulars_; // null: none, or moved away
};

/// A value, or why there is none. value() on a failure terminates: test first.
template <class T>
using result = boost::outcome_v2::basic_result<T, error, boost::outcome_v2::policy::terminate>;

/// A success without a value, for functions that return result<void>.
inline auto success() noexcept {
  return boost::outcome_v2::success();
}

} // namespace weir
