#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>

namespace weir {

/// The offsets of one shard that are under way: added in order, taken out in any. What is kept is proportional to what is in
/// it, and offsets without a hole between them are kept as one run. Every operation takes time logarithmic in the runs.
///
/// Each offset is added with the offset `before` it that is done with as soon as all in front of it is taken out: it need not
/// be the one below, where entries in between are missing or nobody wanted them.
class offset_runs {
public:
  /// Adds one above all that were added since clear().
  void add(std::int64_t before, std::int64_t offset) {
    assert(before < offset && (runs_.empty() || std::prev(runs_.end())->second.last < offset));
    ++size_;
    if (!runs_.empty() && std::prev(runs_.end())->second.last == offset - 1)
      std::prev(runs_.end())->second.last = offset;
    else
      runs_.emplace_hint(runs_.end(), offset, run{before, offset, offset});
  }

  /// Takes one out; false when it is not in it.
  bool remove(std::int64_t offset) {
    auto found = runs_.upper_bound(offset);
    if (found == runs_.begin())
      return false;
    auto& [before, first, last] = (--found)->second;
    if (offset < first || offset > last)
      return false;
    if (first == last) {
      runs_.erase(found);
    } else if (offset == first) {
      before = first++;
    } else {
      if (offset != last) // what is behind it becomes a run of its own
        runs_.emplace_hint(std::next(found), offset + 1, run{offset, offset + 1, last});
      last = offset - 1;
    }
    --size_;
    return true;
  }

  /// Takes out all up to this one; how many.
  std::uint64_t remove_through(std::int64_t offset) {
    const auto size = size_;
    while (!runs_.empty() && runs_.begin()->second.first <= offset) {
      auto& [before, first, last] = runs_.begin()->second;
      if (last > offset) {
        size_ -= length_of(first, offset);
        before = offset;
        first = offset + 1;
        break;
      }
      size_ -= length_of(first, last);
      runs_.erase(runs_.begin());
    }
    return size - size_;
  }

  void clear() noexcept {
    runs_.clear();
    size_ = 0;
  }

  bool empty() const noexcept { return runs_.empty(); }
  std::uint64_t size() const noexcept { return size_; }
  std::size_t runs() const noexcept { return runs_.size(); }

  /// What is done with, up to the first that is in it; there must be one.
  std::int64_t before_first() const noexcept { return runs_.begin()->second.before; }

private:
  struct run {
    std::int64_t before;
    std::int64_t first;
    std::int64_t last;
  };

  static std::uint64_t length_of(std::int64_t first, std::int64_t last) noexcept {
    return static_cast<std::uint64_t>(last - first) + 1;
  }

  // By the first offset that the run had: it loses some at its front, and still lies behind the run before.
  std::map<std::int64_t, run> runs_;
  std::uint64_t size_ = 0;
};

} // namespace weir
