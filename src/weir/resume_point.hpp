#pragma once

#include <weir/position.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace weir {

/// Where a source goes on.
struct resume_point {
  /// Acknowledged by every sink, and confirmed: the source need not read it again. Absent: everything from the beginning.
  std::optional<position> confirmed = {};

  /// The highest position that a destination says it holds, behind `confirmed` or not: what is numbered up to there again is
  /// taken for the same and not written again. So a source goes on numbering in that epoch only where it still has this very
  /// place, and otherwise opens next_epoch().
  std::optional<position> held = {};

  /// One more destination has said what it holds.
  void add_held(const std::optional<position>& one) noexcept {
    if (one && !(held && covers(*held, *one)))
      held = one;
  }

  /// The first epoch in which nobody holds or has confirmed anything.
  std::uint64_t next_epoch() const noexcept { return std::max(confirmed ? confirmed->epoch : 0, held ? held->epoch : 0) + 1; }
};

/// Whether a destination that holds everything up to `holds`, and nothing behind it, lacks something up to `wanted`.
inline bool lacks(const std::optional<position>& holds, const std::optional<position>& wanted) noexcept {
  return wanted && !(holds && covers(*holds, *wanted));
}

} // namespace weir
