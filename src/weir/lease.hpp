#pragma once

#include <weir/progress.hpp>
#include <weir/ring.hpp>

#include <cstddef>
#include <cstdint>

namespace weir {

/// What a consumer holds: deliveries out, numbered by an ordinal that grows with each delivery of one consumer generation, so
/// that an item delivered twice has two leases and the older one is dead. Ordinals end in any order. Items that are lent in
/// their order and end in it take no memory of their own: a run of them is one entry.
class lease_table {
public:
  /// Forgets every lease and starts a new generation at ordinal 0.
  void restart() noexcept {
    runs_.clear();
    ended_ = progress_tracker{};
    active_ = 0;
  }

  /// Lends consecutive items, known by the lane's own number of the first; returns the ordinal of the first's delivery.
  std::uint64_t lend(std::uint64_t sequence, std::uint64_t count = 1) {
    const auto ordinal = ended_.end();
    ended_.open(count);
    if (runs_.empty() || runs_.back().sequence_of(ordinal) != sequence)
      runs_.emplace_back(run{ordinal, sequence});
    active_ += count;
    return ordinal;
  }

  /// Ends one lease and calls `ended(sequence)`; false, and nothing changes, when it had ended before.
  template <class F>
  bool end(std::uint64_t ordinal, F&& ended) {
    if (!ended_.is_open(ordinal))
      return false;
    const auto sequence = run_of(ordinal).sequence_of(ordinal);
    finish(ordinal);
    ended(sequence);
    return true;
  }

  /// Ends every lease below `ordinal`, oldest first, and calls `ended(sequence, count)` for runs of consecutive items.
  template <class F>
  void end_below(std::uint64_t ordinal, F&& ended) {
    for (const auto limit = ordinal < ended_.end() ? ordinal : ended_.end(); ended_.prefix_end() < limit;) {
      const auto oldest = ended_.prefix_end();
      const auto sequence = runs_.front().sequence_of(oldest);
      const auto run_end = runs_.size() > 1 && runs_[1].ordinal < limit ? runs_[1].ordinal : limit;
      std::uint64_t count = 1;
      if (ended_.complete_below(run_end)) {
        count = run_end - oldest;
        active_ -= count;
        drop_runs();
      } else {
        finish(oldest);
      }
      ended(sequence, count);
    }
  }

  /// Calls `visit(ordinal, sequence)` for every lease that is out, oldest first.
  template <class F>
  void for_each(F&& visit) const {
    for (auto ordinal = ended_.prefix_end(); ordinal < ended_.end(); ++ordinal)
      if (ended_.is_open(ordinal))
        visit(ordinal, run_of(ordinal).sequence_of(ordinal));
  }

  std::uint64_t next_ordinal() const noexcept { return ended_.end(); }
  std::uint64_t active() const noexcept { return active_; }

private:
  /// Deliveries of consecutive items, up to the next run.
  struct run {
    std::uint64_t ordinal;
    std::uint64_t sequence;

    std::uint64_t sequence_of(std::uint64_t at) const noexcept { return sequence + (at - ordinal); }
  };

  void finish(std::uint64_t ordinal) {
    ended_.complete(ordinal, [](std::uint64_t) {});
    --active_;
    drop_runs();
  }

  void drop_runs() noexcept {
    while (runs_.size() > 1 && runs_[1].ordinal <= ended_.prefix_end())
      runs_.pop_front();
  }

  const run& run_of(std::uint64_t ordinal) const noexcept {
    std::size_t low = 0;
    for (auto high = runs_.size(); high - low > 1;) {
      const auto middle = low + (high - low) / 2;
      (runs_[middle].ordinal <= ordinal ? low : high) = middle;
    }
    return runs_[low];
  }

  progress_tracker ended_;
  std::uint64_t active_ = 0;
  ring<run> runs_; // the first holds the oldest lease that is out, if any
};

} // namespace weir
