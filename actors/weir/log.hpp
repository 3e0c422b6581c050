#pragma once

#include <weir/checkpoint.hpp>
#include <weir/cursor.hpp>
#include <weir/error.hpp>
#include <weir/log_entry.hpp>
#include <weir/retention.hpp>
#include <weir/self.hpp>
#include <weir/snapshot.hpp>
#include <weir/task.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir {

/// What not every store can do. What is asked of one that can't is refused with unsupported; nothing is emulated.
struct log_capabilities {
  bool survives_process = false; ///< what was stored is there after the process ends, however it ends
  bool verifies = false;         ///< entries carry digests that are checked when they are read
  bool atomic_append = false;    ///< an append of several entries is stored whole or not at all
  bool transaction = false;      ///< commit_together()
  bool offset_at = false;
};

/// How a topic is laid out when it is created; when it exists, this must be what it is.
struct topic_layout {
  std::uint32_t shards = 1;                         ///< 1 to 4096, for good
  std::optional<std::uint64_t> dedupe_horizon = {}; ///< 1 or more; absent: what the topic has, or 2^20 for a new one
};

/// What is known of a topic for as long as it is open.
struct topic_description {
  std::string name = {};
  std::uint64_t store = 0; ///< the store's id
  std::uint64_t epoch = 1; ///< opened anew when a topic is created again under its old name
  std::uint32_t shards = 1;
  std::size_t largest_entry = 0; ///< bytes of key, dedupe and payload together
  std::uint64_t dedupe_horizon =
    0; ///< a dedupe key is remembered at least until so many newer ones have come, however much is trimmed

  cursor cursor_at(std::vector<std::int64_t> offsets) const { return {store, name, epoch, std::move(offsets)}; }

  /// Before the first entry.
  cursor origin() const { return cursor_at(std::vector<std::int64_t>(shards, -1)); }
};

/// Entries that are stored together.
struct append_call {
  std::vector<new_entry> entries = {};            ///< each with its shard
  std::optional<std::int64_t> expected_head = {}; ///< of the shard that all entries are for
};

/// What became of some appends, given in order.
struct append_outcome {
  std::vector<result<std::vector<entry_place>>> decided =
    {};                                    ///< of the first of them: stored, or refused for a reason of their own
  std::optional<error> failure = {};       ///< why the others are not decided: none of them was stored
  std::vector<append_call> undecided = {}; ///< those others, as they were given
};

/// What one read brought. None: nothing is there behind the offset, up to the head.
struct log_reading {
  shard_bounds bounds = {}; ///< as of this read
  std::vector<entry> entries = {};
};

/// How much lies behind an offset.
struct shard_lag {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::chrono::nanoseconds age{0}; ///< since the first of them was stored
};

struct trim_request {
  std::vector<std::int64_t> through = {}; ///< for each shard the last entry that is to go; -1 is none
  bool force = false;                     ///< also where no snapshot covers it
  retention_budget budget = {};           ///< what laggards may hold back
};

struct trim_outcome {
  std::vector<shard_bounds> bounds = {}; ///< after it
  std::vector<std::string> held_by = {}; ///< consumers for whose sake less went than was asked for
  std::vector<std::string> expired = {}; ///< consumers that were trimmed over
};

/// The open transaction of commit_together(), as the store's client library knows it. The adapter's header says what it is.
struct log_transaction {
  void* native = nullptr;
};

/// A consumer's own effect, run inside of the store's transaction and on the store's thread. When it fails, nothing is
/// committed; what it throws fails it with coroutine_failed. It may be run again, when the transaction that it was in has
/// failed.
using log_effect = std::function<result<void>(log_transaction)>;

/// One open topic of a store. What an adapter implements, and the rest of Weir uses. Any number of actors call at the same
/// time, each with its own `self`; the topic outlives every call. A function that waits for anything but the store itself is a
/// cancellation point; the others end soon. Shards count from 0; a shard that is not there is refused with invalid_argument.
class log_topic {
public:
  explicit log_topic(topic_description known) : known_{std::move(known)} {}
  virtual ~log_topic() = default;
  log_topic(const log_topic&) = delete;
  log_topic& operator=(const log_topic&) = delete;

  const topic_description& description() const noexcept { return known_; }

  // Entries ------------------------------------------------------------------------------------------------------------------

  /// Stores the appends in order; stored is durable. See append_outcome; refusals are dedupe_conflict, head_moved,
  /// entry_too_large, and invalid_argument.
  virtual task<append_outcome> append(self me, std::vector<append_call> calls) = 0;

  /// For each shard.
  virtual task<result<std::vector<shard_bounds>>> bounds(self me) = 0;

  /// What follows `after`, in order, verified. Nothing there: no entries. Fails with cursor_expired, ahead_of_head, and
  /// corrupt_entry where the first entry is not what was appended.
  virtual task<result<log_reading>> read(self me, std::uint32_t shard, std::int64_t after, entry_limits limits) = 0;

  /// Completes when some shard's head is beyond the entry that follows `after` (one for each shard; INT64_MAX for a shard of no
  /// interest). Cancellation point. Fails with timed_out, and with whatever the store can't wait for.
  virtual task<result<void>> wait(self me, std::vector<std::int64_t> after, deadline until) = 0;

  /// For each shard, how much follows the offset.
  virtual task<result<std::vector<shard_lag>>> lag(self me, std::vector<std::int64_t> after) = 0;

  /// The first offset whose entry was stored at that time or later; the head when there is none. Never an identity.
  virtual task<result<std::int64_t>> offset_at(self me, std::uint32_t shard, std::chrono::nanoseconds since_epoch);

  // Snapshots ----------------------------------------------------------------------------------------------------------------

  /// Begins one. It is invisible until it is finished; one that is not finished within a day goes away by itself. Fails with
  /// cursor_expired, ahead_of_head and invalid_argument.
  virtual task<result<std::uint64_t>> begin_snapshot(self me, std::vector<std::int64_t> offsets) = 0;
  virtual task<result<void>> add_chunk(self me, std::uint64_t id, std::string chunk) = 0;
  virtual task<result<snapshot_info>> finish_snapshot(self me, std::uint64_t id) = 0;

  /// Those that are usable, oldest first.
  virtual task<result<std::vector<snapshot_info>>> snapshots(self me) = 0;

  /// Verified against what was stored. Fails with no_snapshot, snapshot_trimmed and snapshot_corrupt.
  virtual task<result<std::string>> read_chunk(self me, std::uint64_t id, std::uint64_t index) = 0;

  // Retention ----------------------------------------------------------------------------------------------------------------

  /// Fails with not_covered where no snapshot covers it and it is not forced, and with ahead_of_head.
  virtual task<result<trim_outcome>> trim(self me, trim_request wanted) = 0;

  /// Holds retention at what follows `offsets`, at most for that long. Fails with cursor_expired.
  virtual task<result<std::uint64_t>> pin(self me, std::vector<std::int64_t> offsets, std::chrono::seconds at_most) = 0;

  /// No pin of that number: a no-op.
  virtual task<result<void>> unpin(self me, std::uint64_t pin) = 0;

  // Checkpoints --------------------------------------------------------------------------------------------------------------

  virtual task<result<std::optional<checkpoint>>> read_checkpoint(self me, std::string consumer) = 0;
  virtual task<result<std::vector<checkpoint>>> checkpoints(self me) = 0;

  /// As next_checkpoint() decides. Seen at once by every process.
  virtual task<result<checkpoint>> commit_checkpoint(self me, checkpoint_commit wanted) = 0;

  /// Forgets the consumer, which then holds nothing back. Fails with checkpoint_conflict, also when there is none.
  virtual task<result<void>> drop_checkpoint(self me, std::string consumer, std::uint64_t expected) = 0;

  /// Commits the consumer's own effect and its checkpoint together, or neither.
  virtual task<result<checkpoint>> commit_together(self me, checkpoint_commit wanted, log_effect effect);

private:
  topic_description known_;
};

/// One place that keeps topics. Any number of actors call at the same time.
class log_store {
public:
  log_store() = default;
  virtual ~log_store() = default;
  log_store(const log_store&) = delete;
  log_store& operator=(const log_store&) = delete;

  virtual log_capabilities capabilities() const noexcept = 0;

  /// Names the store in cursors; made at random when the store is created.
  virtual std::uint64_t id() const noexcept = 0;

  /// Creates the topic, or attaches to it. Fails with invalid_argument (name, shards) and layout_mismatch.
  virtual task<result<std::shared_ptr<log_topic>>> open_topic(self me, std::string name, topic_layout layout) = 0;

  /// Attaches to a topic that is there. Fails with invalid_argument (name), and with unknown_topic, which names those there
  /// are.
  virtual task<result<std::shared_ptr<log_topic>>> find_topic(self me, std::string name) = 0;

  virtual task<result<std::vector<topic_description>>> topics(self me) = 0;
};

} // namespace weir
