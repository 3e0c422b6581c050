#pragma once

#include <weir/credit.hpp>
#include <weir/cursor.hpp>
#include <weir/error.hpp>
#include <weir/feed_machine.hpp>
#include <weir/log.hpp>
#include <weir/self.hpp>
#include <weir/task.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir {

namespace detail {
struct feed_state;
struct group_state;
} // namespace detail

/// What a feed does now.
enum class feed_phase : std::uint8_t {
  attaching,    ///< it has not yet heard from the store
  live,         ///< it has, and nothing that is stored from here on is missed
  gap,          ///< live, and entries were missed (feed_options::skip_expired) that nobody was told of yet
  reconnecting, ///< the store can't be reached, and it is tried again
  failed,       ///< it stands at something that it can't pass; next() tries again
  closed,
};

struct feed_options {
  feed_mode mode = feed_mode::continued;
  std::vector<std::uint32_t> shards = {};        ///< empty: all
  std::function<bool(const entry&)> filter = {}; ///< what it does not let through costs nothing, and still moves the cursor
  bool deliver_oversize = false;  ///< an entry larger than `window_bytes` is delivered alone; otherwise it fails the feed
  std::uint64_t window_bytes = 0; ///< the most byte credit that is ever there at once; 0: whatever is there now
  bool skip_expired = false;      ///< what was trimmed is skipped and reported as a gap; otherwise it fails the feed
  entry_limits read = {};         ///< of one read, whatever the credit
  std::chrono::milliseconds first_pause{10}; ///< before the store is tried again; doubles
  std::chrono::milliseconds longest_pause{5000};
};

/// An entry in a consumer's hands.
struct feed_entry {
  std::uint32_t shard = 0;
  weir::entry entry = {};
};

/// Entries that a feed did not see: [first, last] of a shard.
struct feed_gap {
  std::uint32_t shard = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
};

/// A feed's figures at one moment.
struct feed_stats {
  struct shard {
    shard_progress progress = {};
    shard_lag lag = {};        ///< behind what is acknowledged
    std::int64_t headroom = 0; ///< entries that may still be trimmed before the cursor expires
  };
  std::vector<shard> shards = {};
  credit granted = {};
  credit charged = {};
  credit available = {};
  credit revoked = {};
  feed_phase phase = feed_phase::attaching;
  std::uint64_t missed = 0; ///< entries that were skipped
  std::optional<error> last_error = {};
};

/// Reads a topic in order, with credit and a cursor. Delivers nothing without credit, and everything behind the cursor;
/// acknowledging moves the cursor, delivering does not. Belongs to the actor that first uses it; one pull() or next() at a
/// time.
class feed {
public:
  /// Begins behind what the cursor says is acknowledged. Fails, when it is first used, with wrong_source, stale_epoch,
  /// layout_mismatch, ahead_of_head, and cursor_expired (unless that is to be skipped).
  feed(std::shared_ptr<log_topic> from, cursor at, feed_options how = {});

  /// Begins at the head, as of ready() or the first pull() or next(), and goes back to nothing: it has no cursor, and a
  /// checkpoint of it is refused.
  static feed tail_only(std::shared_ptr<log_topic> from, feed_options how = {});

  ~feed();
  feed(feed&&) noexcept;
  feed& operator=(feed&&) noexcept;

  /// Adds to what may be delivered: entries, and bytes. Zero changes nothing; each saturates at 2^63-1. Returns what was added.
  credit grant(std::uint64_t entries, std::uint64_t bytes = feed_machine::most_credit);

  /// Takes back what was granted and not used, and returns it.
  credit revoke();

  /// Completes when the feed is live: what is stored after that is not missed. Cancellation point. Waits out what passes, until
  /// the deadline; fails with what the cursor is refused for, and with closed.
  task<result<void>> ready(self me, deadline until = deadline::never());

  /// What is there, up to the credit, without waiting for more to come: perhaps nothing. Fails with oversize, corrupt_entry,
  /// cursor_expired, closed, and with whatever the store can't do now; the entries that were delivered before come first.
  task<result<std::vector<feed_entry>>> pull(self me);

  /// The next entry; waits for it, for credit, and for the store. Cancellation point: nothing was delivered then. Fails as
  /// pull() does, but waits out what passes until the deadline.
  task<result<feed_entry>> next(self me, deadline until = deadline::never());

  /// The entry is done: the cursor moves when everything before it in its shard is done too. Fails with ack_beyond_delivered,
  /// and invalid_argument (a shard that it does not read).
  result<acknowledged> acknowledge(std::uint32_t shard, std::int64_t offset);

  /// The entry and everything of its shard before it is done.
  result<acknowledged> acknowledge_through(std::uint32_t shard, std::int64_t offset);

  /// Back to the cursor: what is behind it is delivered again, also to a next() that waits.
  void rewind();

  /// What is acknowledged without a hole, for all of the topic's shards; those that are not read stay where the feed's first
  /// cursor was. Fails with unsupported for tail_only().
  result<cursor> at() const;

  /// What may still be delivered.
  credit available() const noexcept;

  feed_phase phase() const noexcept;

  /// What was missed since it was last asked for; the phase `gap` ends.
  std::vector<feed_gap> take_gaps();

  task<result<feed_stats>> stats(self me);

  /// Nothing more is delivered, and a next() that waits fails with closed; what is delivered may still be acknowledged. Lets go
  /// of the pin of a bootstrap.
  task<result<void>> close(self me);

  const log_topic& topic() const noexcept;

private:
  friend class bootstrap;
  friend struct detail::group_state;
  explicit feed(std::shared_ptr<detail::feed_state> state) noexcept;

  std::shared_ptr<detail::feed_state> state_;
};

} // namespace weir
