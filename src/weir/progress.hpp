#pragma once

#include <weir/ring.hpp>

#include <cstdint>

namespace weir {

/// Knows how far a numbered sequence is done without a hole: numbers complete in any order, and the contiguous prefix is what
/// counts. Numbers that complete in order need no memory; otherwise there is one byte for every number between the prefix and
/// the highest that is done.
class progress_tracker {
public:
  explicit progress_tracker(std::uint64_t first = 0) noexcept : prefix_end_{first}, end_{first} {}

  /// The next number of the sequence, opened.
  std::uint64_t open() noexcept { return end_++; }

  /// Opens so many numbers at once.
  void open(std::uint64_t count) noexcept { end_ += count; }

  /// Marks a number done and calls `passed(number)` for each that thereby joins the prefix, in order. False, and nothing
  /// changes, when it was done already or never opened.
  template <class F>
  bool complete(std::uint64_t number, F&& passed) {
    if (number == prefix_end_ && done_.empty() && number != end_) {
      ++prefix_end_;
      passed(number);
      return true;
    }
    if (!is_open(number))
      return false;
    while (done_.size() <= number - prefix_end_)
      done_.emplace_back(false);
    done_[number - prefix_end_] = true;
    while (!done_.empty() && done_.front()) {
      done_.pop_front();
      passed(prefix_end_++);
    }
    return true;
  }

  /// Marks everything below `number` done where nothing beyond the prefix is; false, and nothing changes, otherwise.
  bool complete_below(std::uint64_t number) noexcept {
    if (!done_.empty() || number > end_)
      return false;
    prefix_end_ = number > prefix_end_ ? number : prefix_end_;
    return true;
  }

  /// Opened and not done.
  bool is_open(std::uint64_t number) const noexcept {
    return number >= prefix_end_ && number < end_ && !(number - prefix_end_ < done_.size() && done_[number - prefix_end_]);
  }

  /// Everything below is done; what is opened from here on begins with one that is not.
  std::uint64_t prefix_end() const noexcept { return prefix_end_; }

  /// Everything from here on was never opened.
  std::uint64_t end() const noexcept { return end_; }

  bool all_done() const noexcept { return prefix_end_ == end_; }

private:
  std::uint64_t prefix_end_;
  std::uint64_t end_;
  ring<bool> done_; // from the prefix on; its last is true
};

} // namespace weir
