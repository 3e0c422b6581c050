#pragma once

#include <weir/lane_checkpoint.hpp>
#include <weir/lane_machine.hpp>
#include <weir/ring.hpp>

#include <cstdint>

namespace weir {

/// Where a durable lane is in its log: which entries were read into the lane, which of them are acknowledged, and what to keep
/// of that. Offsets count the log's entries, sequences what the lane was given since the cursor was made; both grow.
class lane_cursor {
public:
  /// Behind a checkpoint: everything up to that offset is acknowledged (-1: nothing), and what it says besides.
  lane_cursor(std::int64_t acknowledged, lane_checkpoint kept) noexcept : read_{acknowledged}, now_{std::move(kept)} {}

  /// The entry that is to be read next.
  std::int64_t next() const noexcept { return read_ + 1; }

  /// Whether an entry that is to be read next was acknowledged before the cursor was made: then it is passed. `at` is null
  /// where it has no position.
  bool pass_if_acknowledged(std::int64_t offset, const position* at);

  /// Everything up to this entry was read, and what was not lent is none of the lane's business.
  void pass(std::int64_t through) noexcept { read_ = through; }

  /// The next entry, or one behind it, is the lane's next item.
  void lend(std::int64_t offset) {
    read_ = offset;
    lent_.emplace_back(offset);
  }

  /// Whether an entry was acknowledged behind a hole, before the cursor was made.
  bool is_acknowledged(std::int64_t offset) const noexcept;

  /// Entries that are to be read next are not there any more.
  void note_loss() noexcept { now_.has_lost = true; }

  /// Takes in the lane's newest report.
  void on_progress(const lane_progress& now);

  /// Everything up to this offset is acknowledged, or not the lane's: its checkpoint's offset.
  std::int64_t acknowledged() const noexcept { return lent_.empty() ? read_ : lent_[0] - 1; }

  /// What belongs into the checkpoint's metadata.
  const lane_checkpoint& checkpoint() const noexcept { return now_; }

  /// Items in the lane that are not in its acknowledged prefix.
  std::size_t lent() const noexcept { return lent_.size(); }

private:
  void raise_floor();

  std::int64_t read_;
  lane_checkpoint now_;
  std::uint64_t released_ = 0; // the sequence of the first in lent_
  std::uint64_t settled_ = 0;  // everything with a position below is acknowledged: sequences
  ring<std::int64_t> lent_;    // the offset of each item from there on

  /// Acknowledged before, with a position, and behind something that is not: the floor passes it later.
  struct place {
    std::int64_t offset;
    position at;
  };
  ring<place> passed_;
};

} // namespace weir
