#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

/// A shard's digest up to and with one entry. Each is computed over the one before it, so that a changed, moved, missing or
/// foreign entry shows at its place.
struct chain_digest {
  std::array<std::uint8_t, 16> bytes = {};

  friend bool operator==(const chain_digest&, const chain_digest&) = default;
};

/// 32 hexadecimal digits.
std::string to_string(const chain_digest& digest);

/// SipHash-2-4 with 128 bits of output (Aumasson, Bernstein 2012; reference vectors in its authors' implementation). Against
/// accidents, not against somebody who wants to deceive: the key is no secret.
chain_digest siphash(const chain_digest& key, std::string_view message) noexcept;

/// The digest before a shard's first entry, so that no entry of another store, topic, epoch or shard fits: SipHash with the
/// key "weir.log.chain.1" over store, epoch and shard (8 bytes each, little endian) and the topic's name.
chain_digest chain_begin(std::uint64_t store, std::string_view topic, std::uint64_t epoch, std::uint32_t shard) noexcept;

/// The digest of the entry at `offset`: SipHash with the digest before it as the key, over offset and time (8 bytes each,
/// little endian) and the record as it is stored.
chain_digest chain_next(const chain_digest& before, std::int64_t offset, std::int64_t time, std::string_view record) noexcept;

} // namespace weir
