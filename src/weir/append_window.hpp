#pragma once

#include <weir/credit.hpp>
#include <weir/ring.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace weir {

/// What an append window holds at most: entries that were taken and not yet answered, and their bytes. One append that is
/// larger than the whole window is admitted alone.
struct append_bound {
  std::size_t entries = 4096;
  std::size_t bytes = 8u << 20;
};

/// The order of one appender's appends, without an actor or a store. Appends are numbered from 0 as they are taken; each is
/// sent to the store with those that wait behind it, and answered in order. One call to the store is under way at a time, so
/// that order survives whatever fails. What the store could not take for a passing reason is sent again, first, before anything
/// behind it.
class append_window {
public:
  explicit append_window(append_bound bound) noexcept : bound_{bound} {}

  /// Whether an append of that size may be taken now.
  bool has_room(credit size) const noexcept {
    return sizes_.empty() || (held_.items + size.items <= bound_.entries && held_.bytes + size.bytes <= bound_.bytes);
  }

  /// Takes an append, which there must be room for; returns its number.
  std::uint64_t take(credit size) {
    sizes_.emplace_back(size);
    held_.items += size.items;
    held_.bytes += size.bytes;
    return first_ + sizes_.size() - 1;
  }

  /// How many of the oldest appends go to the store now, in one call: as many as fit into the limits, but at least one. 0 while
  /// a call is under way, or when nothing waits.
  std::size_t send(append_bound most) noexcept;

  /// The oldest append of the call is decided: stored, or refused for a reason of its own. It leaves the window.
  void on_decided() noexcept;

  /// The call is over. What it did not decide waits again, in order.
  void on_call_over() noexcept { in_call_ = 0; }

  /// Everything that waits leaves the window undecided: the store has failed for good, or time is up. Returns how many; none
  /// may be under way.
  std::size_t abandon() noexcept;

  /// The number of the oldest append in the window, which is the next to be decided.
  std::uint64_t first() const noexcept { return first_; }
  std::size_t appends() const noexcept { return sizes_.size(); }
  bool is_call_under_way() const noexcept { return in_call_ != 0; }

  /// No more than the bound, but for one append that alone is larger.
  credit held() const noexcept { return held_; }

private:
  append_bound bound_;
  credit held_;
  std::uint64_t first_ = 0;
  std::size_t in_call_ = 0; // of the oldest
  ring<credit> sizes_;
};

} // namespace weir
