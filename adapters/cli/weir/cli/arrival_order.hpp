#pragma once

#include <weir/log_entry.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace weir::cli {

/// Merges the shards of a topic in the order in which their entries came. Each shard's entries are added in its order; one is
/// taken out when no shard that may still have an earlier one is empty here.
class arrival_order {
public:
  explicit arrival_order(std::size_t shards) : shards_(shards) {}

  /// The shard has more than was added, so that its next entry has to be known before any other is taken.
  void expect(std::uint32_t shard) { shards_[shard].has_more = true; }

  /// The shards whose next entry has to be known first.
  std::vector<std::uint32_t> wanted() const;

  /// What follows in a shard; nothing: there is no more.
  void add(std::uint32_t shard, std::vector<entry> entries);

  /// The entry that came first of those that are here: of the same time, that of the lower shard. Absent where some are wanted
  /// first, or none is left.
  std::optional<std::pair<std::uint32_t, entry>> take();

private:
  struct queue {
    std::deque<entry> entries = {};
    bool has_more = false;
  };
  std::vector<queue> shards_;
};

} // namespace weir::cli
