#pragma once

#include <weir/batch.hpp>
#include <weir/position.hpp>
#include <weir/resume_point.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir {

/// A backfill that the destination had begun and not ended.
struct unfinished_backfill {
  request_id request;
  std::optional<std::string> walked = {}; ///< rows up to this key are in
};

/// What the destination holds when it is opened.
struct sink_state {
  std::optional<position> committed = {}; ///< live changes up to here are in; for the log, redelivery is the sink's to absorb
  std::optional<std::uint64_t> seeded_epoch = {}; ///< the epoch whose complete state it holds; absent: never completed
  std::optional<unfinished_backfill> unfinished = {};

  /// `committed` is exact: it moves with every item that is flushed, also with batches that bring nothing to write. Where such
  /// a destination holds less than was confirmed, it has lost something that will not come again: it is seeded anew, or
  /// refused.
  bool is_exact = false;

  /// Those that it holds, or once held: also where no row is left. What was committed just before a crash belongs to one of
  /// them, and nobody may have been told. Empty where it does not know, as a log of changes does not without being read.
  std::vector<std::string> collections = {};

  /// It has lost something that was confirmed to the source, or acknowledged.
  bool lacks(const std::optional<position>& wanted) const noexcept { return is_exact && weir::lacks(committed, wanted); }

  /// It holds the complete state of the epoch that it has come to, and no backfill is under way.
  bool is_seeded() const noexcept { return seeded_epoch && !unfinished && !(committed && committed->epoch > *seeded_epoch); }
};

} // namespace weir
