#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace weir {

/// How much a registered consumer may hold back from trimming. Absent: any amount.
struct retention_budget {
  std::optional<std::uint64_t> entries = {};
  std::optional<std::uint64_t> bytes = {};
  std::optional<std::chrono::nanoseconds> age = {}; ///< of the oldest entry that it has not acknowledged
};

/// One registered consumer, or a pin, in one shard.
struct retention_holder {
  std::int64_t offset = -1;        ///< acknowledged: it needs what follows
  std::uint64_t lag_entries = 0;   ///< what follows, up to the head
  std::uint64_t lag_bytes = 0;     ///< the same in bytes
  std::chrono::nanoseconds age{0}; ///< of the entry that follows
  bool is_pin = false;             ///< honoured whatever the budget says: its time ends by itself
};

/// One shard that is to be trimmed.
struct shard_retention {
  std::int64_t earliest = 0;                  ///< what is retained begins there
  std::int64_t asked = -1;                    ///< the last offset that the caller wants to be gone
  std::vector<retention_holder> holders = {}; ///< the same ones in each shard of a topic, in the same order
};

/// How far a topic may be trimmed.
struct trim_plan {
  std::vector<std::int64_t> through = {}; ///< for each shard: entries up to here go; never more than was asked for
  std::vector<std::size_t> held_by = {};  ///< holders for whose sake less goes in some shard than was asked for: the slowest
  std::vector<std::size_t> expired = {};  ///< those that are over the budget in some shard, and lose something there
};

/// Decides a trim: holders within the budget are honoured, those over it are not, and are named. Whoever is expired in one
/// shard has to begin anew in all of them, and holds nothing back any more.
trim_plan plan_trim(const std::vector<shard_retention>& shards, const retention_budget& budget);

} // namespace weir
