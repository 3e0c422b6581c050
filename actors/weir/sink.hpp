#pragma once

#include <weir/batch.hpp>
#include <weir/error.hpp>
#include <weir/self.hpp>
#include <weir/sink_state.hpp>
#include <weir/task.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace weir {

/// A record that the destination refuses and would refuse again.
struct rejected_record {
  std::size_t item = 0;     ///< which of the items given to write()
  std::size_t envelope = 0; ///< which envelope of that item's block
  error reason;             ///< rejected, with the facts
};

/// How a write ended, short of failing.
struct write_outcome {
  /// Set: the destination asks to be left alone for so long ("try later"); nothing of this call counts as written, and the
  /// engine gives the same items again.
  std::optional<std::chrono::milliseconds> try_later;

  /// Records that were left out; all others are in. With any of these under the policy `stop`, the engine gives nothing more.
  std::vector<rejected_record> rejected;
};

/// The port that a destination implements. All functions are coroutines on the sink engine's actor, one at a time. Blocking
/// calls belong on a weir::worker.
///
/// Items come in lane order, and again after a crash or a failure: a sink absorbs what it already holds (by position, or
/// because writing twice is the same as once). Three things are kept apart: a *rejected* record (this record, always), an
/// *overload* (anything, for a while: write_outcome::try_later) and a *failure* (an error: the engine closes, waits, opens
/// again and is given the same items).
class sink {
public:
  sink() = default;
  virtual ~sink() = default;
  sink(const sink&) = delete;
  sink& operator=(const sink&) = delete;

  /// Opens the destination, also again after a failure, and says what it holds.
  virtual task<result<sink_state>> open(self me) = 0;

  /// Whether this destination holds the state of collections, and so wants a backfill where it was not seeded. A log of
  /// changes does not (the default).
  virtual bool wants_backfill() const noexcept { return false; }

  /// A backfill is about to be asked for, or resumed: `asked.after` is where. Rows that neither it nor later live changes
  /// touch are gone when its marker comes.
  virtual task<result<void>> begin_backfill(self me, request asked, std::uint64_t epoch);

  /// Writes the items, in order: batches and markers. Nothing needs to be durable before flush().
  virtual task<result<write_outcome>> write(self me, std::vector<lane_item> items) = 0;

  /// Makes durable what write() accepted. Acknowledged only after this.
  virtual task<result<void>> flush(self me) = 0;

  /// After a failure, before the pause: lets go of what was accepted and not flushed, and of what others wait for (locks). Does
  /// nothing by default.
  virtual task<result<void>> close(self me);
};

} // namespace weir
