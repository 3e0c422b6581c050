#pragma once

#include <cstdint>
#include <string_view>

namespace weir {

/// murmur2 with 32 bits (Appleby, 2008) as Kafka's Java client computes it, with the seed 0x9747b28c.
std::uint32_t murmur2(std::string_view key) noexcept;

/// The shard of a key: (murmur2(key) & 0x7fffffff) mod shards, which is the partition that Kafka's default partitioner chooses.
/// There is at least one shard.
std::uint32_t shard_of(std::string_view key, std::uint32_t shards) noexcept;

} // namespace weir
