#pragma once

#include <weir/credit.hpp>
#include <weir/error.hpp>
#include <weir/log_entry.hpp>
#include <weir/offset_runs.hpp>
#include <weir/ring.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace weir {

/// How a feed treats its cursor and its credit.
enum class feed_mode : std::uint8_t {
  continued, ///< each pull goes on behind what was delivered; credit adds up
  parity,    ///< the simplest feed there can be: each pull begins at the cursor and uses the credit up; an acknowledgement sets
             ///< the cursor to any offset above it and below the head, and is ignored otherwise. For comparison
};

/// One shard of a feed at one moment; acked <= delivered < head, and -1 is "nothing yet".
struct shard_progress {
  std::uint32_t shard = 0;
  std::int64_t acked = -1;     ///< everything up to here is acknowledged, was filtered, or is not there
  std::int64_t delivered = -1; ///< everything up to here was delivered, was filtered, or is not there
  std::int64_t earliest = 0;   ///< as of the last read
  std::int64_t head = 0;       ///< as of the last read, or of what somebody said since; right above where it began until then
  std::uint64_t in_flight = 0; ///< delivered and not acknowledged, entries
  bool is_stopped = false;     ///< nothing more of it is delivered

  friend bool operator==(const shard_progress&, const shard_progress&) = default;
};

/// What became of an acknowledgement that was not refused.
enum class acknowledged : std::uint8_t {
  moved,   ///< the shard's cursor moved
  kept,    ///< out of order: counts when what is before it is acknowledged
  nothing, ///< was acknowledged before, or there was nothing to acknowledge at that offset; nothing changed
};

/// Everything that can be wrong about one feed's progress and credit, without an actor, a store or an entry: it knows offsets
/// and sizes. The feed's coroutine reads what the machine says, tells it what came, and hands out what the machine lets it.
/// Beside the machine it keeps the entries that stand in line: those that match, in the order in which they were read.
///
/// Credit is conserved at every step, in entries and in bytes: granted = charged + available + revoked.
class feed_machine {
public:
  struct shard_start {
    std::uint32_t shard = 0;
    std::int64_t acked = -1;
  };

  struct settings {
    feed_mode mode = feed_mode::continued;
    bool deliver_oversize = false;  ///< an oversize entry is delivered alone, and takes all byte credit there is
    std::uint64_t window_bytes = 0; ///< the most byte credit that is ever there at once. An entry within it waits until there
                                    ///< is enough; a larger one is oversize. 0: what is there now is all there will be
    entry_limits read = {};         ///< of one read, whatever the credit; at least one entry and one byte
  };

  /// A read that is due: of one shard, behind an offset.
  struct read_order {
    std::uint64_t number = 0; ///< which read this is; a rewind() or a skip_to() supersedes it
    std::uint32_t shard = 0;
    std::int64_t after = -1;
    entry_limits limits = {};
  };

  /// What the machine needs to know of an entry that was read.
  struct read_entry {
    std::int64_t offset = 0;
    std::uint64_t bytes = 0;
    bool matches = true; ///< the feed's filter lets it through; otherwise it costs nothing, and does not stand in line
  };

  /// What became of a read's answer.
  enum class read_was : std::uint8_t {
    taken,      ///< the entries that match stand in line
    superseded, ///< the read was asked for before the feed went elsewhere: all of it is dropped
    disordered, ///< offsets that don't increase, or aren't above what was asked for: the store is broken, all of it is dropped
  };

  /// What the next entry in line is.
  enum class next_is : std::uint8_t {
    deliverable, ///< deliver() hands it out
    absent,      ///< nothing stands in line: see next_read()
    uncredited,  ///< there is too little credit: grant() some
    oversize,    ///< there will never be enough byte credit for it, and it is not to be delivered all the same
  };

  /// An entry that was handed out.
  struct handed_out {
    std::uint32_t shard = 0;
    std::int64_t offset = 0;

    friend bool operator==(const handed_out&, const handed_out&) = default;
  };

  /// No more credit than this is available at once, of entries and of bytes.
  static constexpr std::uint64_t most_credit = std::numeric_limits<std::int64_t>::max();

  /// One that is named twice begins at the lower of its cursors.
  feed_machine(std::vector<shard_start> shards, settings how);

  // Shards -------------------------------------------------------------------------------------------------------------------
  // Whenever these change, nothing stands in line any more, and a read that is under way is superseded.

  /// Reads one shard more, behind what is acknowledged. One that is read already goes on as it is.
  void add(shard_start one);

  /// Forgets one, and what is in flight of it.
  void remove(std::uint32_t shard) noexcept;

  /// Delivers nothing more of it, or something again; what is in flight is still acknowledged.
  /// False: it was so already.
  bool stop(std::uint32_t shard, bool is_stopped = true) noexcept;

  // Credit -------------------------------------------------------------------------------------------------------------------

  /// Adds; each amount saturates at most_credit in what is available. Zero changes nothing. Returns what was added.
  credit grant(credit more) noexcept;

  /// Takes all that is available back, and returns it.
  credit revoke() noexcept;

  credit granted() const noexcept;
  credit charged() const noexcept { return charged_; }
  credit available() const noexcept { return available_; }

  /// Saturates where granted() would exceed 2^64-1.
  credit revoked() const noexcept { return revoked_; }

  // Reading ------------------------------------------------------------------------------------------------------------------

  /// What to read now: none while a read is under way, entries are in line, there is no credit (of entries or of bytes), or
  /// every shard was read to its head. Shards take turns. What is asked for is never more than the credit. Counts as under way
  /// until on_read() or on_read_failed(), or until it is superseded.
  std::optional<read_order> next_read() noexcept;

  /// The entries that a read brought, in order, and what the shard held when they were read. Those that match stand in line
  /// until they are delivered; the others are done with once all that match before them are delivered. A read that brought
  /// none says that nothing is there between `after` and the head that it names: a store must not name a newer one.
  read_was on_read(const read_order& asked, const shard_bounds& bounds, const std::vector<read_entry>& entries);

  /// The read brought nothing; the same may be asked again, after the other shards had their turns.
  void on_read_failed(const read_order& asked) noexcept;

  /// The shard's head is there now, somebody says: what is behind may be read.
  void on_head(std::uint32_t shard, std::int64_t head) noexcept;

  /// The entries up to, and without, `earliest` are gone, and the feed goes on there. Returns what was missed: offsets [first,
  /// second); none when nothing was. What stands in line stays there, and what is in flight may be acknowledged.
  std::optional<std::pair<std::int64_t, std::int64_t>> skip_to(std::uint32_t shard, std::int64_t earliest) noexcept;

  // Delivering ---------------------------------------------------------------------------------------------------------------

  next_is next() const noexcept;

  /// The size of the next entry in line; 0 when there is none.
  std::uint64_t next_bytes() const noexcept { return line_.empty() ? 0 : line_[0].bytes; }

  /// Hands out the next entry in line, which must be deliverable: charges it, and counts it as in flight.
  handed_out deliver();

  /// A pull of parity mode is over: what is left of its credit is gone, and the next one begins at the cursor; nothing stands
  /// in line any more. Nothing in continued mode.
  void end_pull() noexcept;

  // Acknowledging ------------------------------------------------------------------------------------------------------------

  /// Fails with ack_beyond_delivered, and invalid_argument for a shard that the feed does not read.
  result<acknowledged> acknowledge(std::uint32_t shard, std::int64_t offset);

  /// Acknowledges it and everything of its shard before it.
  result<acknowledged> acknowledge_through(std::uint32_t shard, std::int64_t offset);

  /// Back to what was acknowledged, without a hole: what is behind is delivered again, and nothing stands in line any more.
  /// Credit stays as it is.
  void rewind() noexcept;

  /// Ordered by shard.
  std::vector<shard_progress> progress() const;

private:
  struct shard_state {
    std::uint32_t shard;
    std::int64_t acked;
    std::int64_t delivered;
    std::int64_t scanned; // everything up to here was read, or is not there; what follows is read next
    std::int64_t earliest;
    std::int64_t head;
    bool unsure; // whether the head is known: reading is due
    offset_runs in_flight;
    bool is_stopped = false;
  };

  struct in_line {
    std::int64_t before; // everything of its shard up to here is done with when it is the first
    std::int64_t offset;
    std::uint64_t bytes;
  };

  struct read_under_way {
    std::uint64_t number;
    std::size_t of;
    std::int64_t head; // what somebody said since it was asked for; the answer may be older
  };

  shard_state* find(std::uint32_t shard) noexcept;
  bool is_under_way(const read_order& asked) const noexcept { return under_way_ && under_way_->number == asked.number; }
  void clear_line() noexcept;
  bool has_credit() const noexcept { return available_.items > 0 && available_.bytes > 0; }
  void supersede_read_of(const shard_state& one) noexcept;
  void settle(shard_state& one) noexcept;
  void set_cursor(shard_state& of, std::int64_t offset) noexcept;

  settings how_;
  std::vector<shard_state> shards_; // by number
  std::size_t turn_ = 0;            // whose turn to be read it is
  std::uint64_t reads_ = 0;
  std::optional<read_under_way> under_way_;
  ring<in_line> line_; // all of one shard: nothing is read while somebody stands in it
  std::size_t line_of_ = 0;
  credit charged_;
  credit available_;
  credit revoked_;
};

} // namespace weir
