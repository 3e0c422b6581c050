#pragma once

#include <weir/ring.hpp>

#include <cassert>
#include <cstdint>

namespace weir {

/// What a consumer holds: deliveries out, numbered by an ordinal that grows with each delivery of one consumer generation, so
/// that an item delivered twice has two leases and the older one is dead. Ordinals end in any order; the table shrinks as its
/// oldest leases end.
class lease_table {
public:
  struct lease {
    std::uint64_t sequence = 0; ///< the lane's own number of the item
    bool active = false;
  };

  /// Forgets every lease and starts a new generation at ordinal 0.
  void restart() noexcept {
    leases_.clear();
    oldest_ = 0;
    active_ = 0;
  }

  /// Lends an item; returns the ordinal of its delivery.
  std::uint64_t lend(std::uint64_t sequence) {
    leases_.emplace_back(lease{sequence, true});
    ++active_;
    return oldest_ + leases_.size() - 1;
  }

  /// Ends one lease and calls `ended(sequence)`; false, and nothing changes, when it had ended before.
  template <class F>
  bool end(std::uint64_t ordinal, F&& ended) {
    if (ordinal < oldest_ || ordinal >= next_ordinal() || !leases_[ordinal - oldest_].active)
      return false;
    auto& out = leases_[ordinal - oldest_];
    out.active = false;
    --active_;
    const auto sequence = out.sequence;
    while (!leases_.empty() && !leases_.front().active) {
      leases_.pop_front();
      ++oldest_;
    }
    ended(sequence);
    return true;
  }

  /// Ends every lease below `ordinal`, oldest first.
  template <class F>
  void end_below(std::uint64_t ordinal, F&& ended) {
    while (oldest_ < ordinal && !leases_.empty()) {
      const auto out = leases_.take_front();
      ++oldest_;
      if (out.active) {
        --active_;
        ended(out.sequence);
      }
    }
  }

  /// Calls `visit(ordinal, sequence)` for every lease that is out, oldest first.
  template <class F>
  void for_each(F&& visit) const {
    for (std::size_t index = 0; index < leases_.size(); ++index)
      if (leases_[index].active)
        visit(oldest_ + index, leases_[index].sequence);
  }

  std::uint64_t next_ordinal() const noexcept { return oldest_ + leases_.size(); }
  std::size_t active() const noexcept { return active_; }

private:
  std::uint64_t oldest_ = 0;
  std::size_t active_ = 0;
  ring<lease> leases_;
};

} // namespace weir
