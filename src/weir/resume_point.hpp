#pragma once

#include <weir/position.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

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

/// What a log has stored for one lane of a stream.
struct stored_lane {
  std::optional<position> ending = {}; ///< the last position that ends a transaction
  std::optional<position> floor = {};  ///< the last one that is acknowledged, with everything before it
  bool has_expired = false;            ///< something behind its floor is gone from the log
};

/// Where a lane begins anew whose items are gone: behind what it has acknowledged, for the source has the rest, unless more
/// than that was confirmed to it. Then the lane lacks what lies between.
inline std::optional<position> begin_anew_behind(
  const std::optional<position>& floor, const std::optional<position>& confirmed) noexcept {
  return lacks(floor, confirmed) ? confirmed : floor;
}

/// Where the source of a stream goes on: behind the last transaction that every lane has whole, or does not need any more.
/// Absent: from the beginning.
inline std::optional<position> resume_behind(
  const std::vector<stored_lane>& lanes, const std::optional<position>& confirmed) noexcept {
  std::optional<position> least;
  bool is_first = true;
  for (const auto& one : lanes) {
    const auto has = one.has_expired ? begin_anew_behind(one.floor, confirmed) : one.ending;
    if (std::exchange(is_first, false) || lacks(has, least))
      least = has;
  }
  return is_first ? confirmed : least;
}

/// Whether a lane has `at` from before it was opened: its source goes on behind `resume`, and may cut what follows into other
/// batches than before. What the lane carried `last` may be a part of a transaction; another part of that is news.
inline bool is_repeated(const position& at, const position& last, const std::optional<position>& resume) noexcept {
  return covers(last, at) && (at != last || last.ends_transaction) && !(resume && covers(*resume, at));
}

} // namespace weir
