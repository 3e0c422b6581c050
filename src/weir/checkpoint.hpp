#pragma once

#include <weir/error.hpp>
#include <weir/log_entry.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir {

/// Where a consumer of a topic is, as the store keeps it. Having one registers the consumer: trimming honours it within the
/// retention budget.
struct checkpoint {
  std::string consumer = {};
  std::vector<std::int64_t> offsets = {}; ///< acknowledged last, for each shard; -1 is "nothing yet"
  std::string metadata = {};              ///< up to 4 KiB of the consumer's own, written together with the offsets
  std::uint64_t revision = 0;             ///< grows by one with every commit
  std::int64_t time = 0;                  ///< of the last commit, nanoseconds since the Unix epoch, UTC
  bool expired = false; ///< it lagged more than the budget, and was trimmed over: what follows the offsets is gone

  friend bool operator==(const checkpoint&, const checkpoint&) = default;
};

/// A checkpoint that is to be written.
struct checkpoint_commit {
  std::string consumer = {};
  std::vector<std::int64_t> offsets = {};
  std::string metadata = {};
  std::optional<std::uint64_t> expected = {}; ///< the revision that was read; absent: the consumer is new
  bool may_go_back = false;                   ///< a person resets the consumer; otherwise no offset ever falls
};

inline constexpr std::size_t max_checkpoint_metadata = 4096;

/// The one rule by which every store decides on a commit: what to store, or why not. Fails with invalid_argument (name,
/// metadata, number of shards, an offset below -1), checkpoint_conflict (somebody else has committed; says both revisions),
/// checkpoint_regress, ahead_of_head, and cursor_expired (what follows it is not retained). Nothing else may be able to commit
/// meanwhile.
result<checkpoint> next_checkpoint(const std::optional<checkpoint>& stored, checkpoint_commit wanted,
  const std::vector<shard_bounds>& bounds, std::int64_t time);

} // namespace weir
