#pragma once

#include <weir/ring.hpp>

#include <cstdint>

namespace weir {

/// Knows how far a numbered sequence is done without a hole: numbers complete in any order, and the contiguous prefix is what
/// counts. Holds one byte for every number between the prefix and the newest.
class progress_tracker {
public:
  explicit progress_tracker(std::uint64_t first = 0) noexcept : next_open_{first} {}

  /// The next number of the sequence, opened.
  std::uint64_t open() {
    states_.emplace_back(false);
    return next_open_ + states_.size() - 1;
  }

  /// Marks a number done and calls `passed(number)` for each that thereby joins the prefix, in order. False, and nothing
  /// changes, when it was done already or never opened.
  template <class F>
  bool complete(std::uint64_t number, F&& passed) {
    if (!is_open(number))
      return false;
    states_[number - next_open_] = true;
    while (!states_.empty() && states_.front()) {
      states_.pop_front();
      passed(next_open_++);
    }
    return true;
  }

  /// Opened and not done.
  bool is_open(std::uint64_t number) const noexcept {
    return number >= next_open_ && number - next_open_ < states_.size() && !states_[number - next_open_];
  }

  /// Everything below is done.
  std::uint64_t prefix_end() const noexcept { return next_open_; }

  /// Everything from here on was never opened.
  std::uint64_t end() const noexcept { return next_open_ + states_.size(); }

  bool all_done() const noexcept { return states_.empty(); }

private:
  std::uint64_t next_open_;
  ring<bool> states_;
};

} // namespace weir
