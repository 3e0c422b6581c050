#include <weir/shard_hash.hpp>

#include "little_endian.hpp"

namespace weir {

std::uint32_t murmur2(std::string_view key) noexcept {
  constexpr std::uint32_t factor = 0x5BD1E995;
  auto hash = 0x9747B28CU ^ static_cast<std::uint32_t>(key.size());
  for (; key.size() >= 4; key.remove_prefix(4)) {
    auto word = detail::load_little<std::uint32_t>(key.data()) * factor;
    word ^= word >> 24U;
    hash = hash * factor ^ word * factor;
  }
  if (!key.empty()) {
    for (unsigned index = 0; index < key.size(); ++index)
      hash ^= static_cast<std::uint32_t>(static_cast<unsigned char>(key[index])) << 8U * index;
    hash *= factor;
  }
  hash ^= hash >> 13U;
  hash *= factor;
  return hash ^ hash >> 15U;
}

std::uint32_t shard_of(std::string_view key, std::uint32_t shards) noexcept {
  return (murmur2(key) & 0x7FFFFFFFU) % shards;
}

} // namespace weir
