#pragma once

#include <weir/digest_chain.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace weir {

/// A stored snapshot: the state that everything up to `offsets` amounts to.
struct snapshot_info {
  std::uint64_t id = 0;                   ///< grows with each snapshot of a topic
  std::vector<std::int64_t> offsets = {}; ///< for each shard the last entry that is in it; -1 is none
  std::uint64_t chunks = 0;
  std::uint64_t bytes = 0;
  std::int64_t time = 0;                 ///< when it was finished, nanoseconds since the Unix epoch, UTC
  chain_digest digest = {};              ///< of its chunks, in order
  std::vector<chain_digest> chains = {}; ///< for each shard the log's digest at `offsets`

  friend bool operator==(const snapshot_info&, const snapshot_info&) = default;
};

/// No chunk is larger.
inline constexpr std::size_t max_snapshot_chunk = 4u << 20;

/// One that was begun so long ago and is not finished is gone.
inline constexpr std::chrono::nanoseconds unfinished_snapshot_lives = std::chrono::hours{24};

/// The digest of a snapshot's chunks up to and with the given one; the first follows chain_digest{}.
inline chain_digest snapshot_digest(const chain_digest& before, std::string_view chunk) noexcept {
  return siphash(before, chunk);
}

/// Whether a snapshot says all of what everything up to `offsets` amounts to.
inline bool covers(const snapshot_info& snapshot, const std::vector<std::int64_t>& offsets) noexcept {
  for (std::size_t shard = 0; shard < offsets.size(); ++shard)
    if (snapshot.offsets[shard] < offsets[shard])
      return false;
  return true;
}

} // namespace weir
