#pragma once

#include <weir/feed_machine.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace core_tests {

/// One shard of a log, as far as a feed's machine sees it. What is trimmed stays known to the test.
struct feed_log {
  using read_entry = weir::feed_machine::read_entry;

  struct answer {
    weir::shard_bounds bounds;
    std::vector<read_entry> entries;
  };

  std::vector<read_entry> entries;
  weir::shard_bounds bounds;

  void append(std::uint64_t bytes, bool matches = true) { entries.push_back({bounds.head++, bytes, matches}); }

  /// So many offsets are used up, and nothing is there.
  void leave_hole(std::int64_t width) { bounds.head += width; }

  void trim(std::int64_t earliest) { bounds.earliest = std::clamp(earliest, bounds.earliest, bounds.head); }

  /// Nothing when what follows is not retained any more.
  std::optional<answer> read(std::int64_t after, weir::entry_limits limits) const {
    if (after < bounds.earliest - 1)
      return std::nullopt;
    answer found{bounds, {}};
    std::uint64_t room = limits.bytes;
    const auto first = std::ranges::upper_bound(entries, after, {}, &read_entry::offset);
    for (auto one = first; one != entries.end() && found.entries.size() < limits.entries; ++one) {
      if (one != first && one->bytes > room)
        break;
      found.entries.push_back(*one);
      room -= std::min(room, one->bytes);
    }
    return found;
  }

  /// The first one behind an offset that a feed would deliver; the head when there is none.
  std::int64_t next_match(std::int64_t after) const {
    for (auto one = std::ranges::upper_bound(entries, after, {}, &read_entry::offset); one != entries.end(); ++one)
      if (one->matches)
        return one->offset;
    return bounds.head;
  }
};

} // namespace core_tests
