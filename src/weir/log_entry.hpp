#pragma once

#include <weir/digest_chain.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace weir {

/// An entry on its way into a log.
struct new_entry {
  std::string key = {};    ///< bytes; decides the shard. Empty: any shard
  std::string dedupe = {}; ///< bytes; the topic takes an entry of this name once. Empty: no name
  std::string payload = {};
  std::optional<std::uint32_t> shard = {}; ///< this shard, whatever the key says

  std::size_t size_in_bytes() const noexcept { return key.size() + dedupe.size() + payload.size(); }
};

/// An entry as a log returns it.
struct entry {
  std::int64_t offset = 0; ///< its number in its shard, from 0
  std::string key = {};
  std::string dedupe = {};
  std::string payload = {};
  std::int64_t time = 0;    ///< when the store took it, nanoseconds since the Unix epoch, UTC; never before its predecessor's
  chain_digest digest = {}; ///< of this entry and all before it in its shard

  std::size_t size_in_bytes() const noexcept { return key.size() + dedupe.size() + payload.size(); }
};

/// Where an entry is.
struct entry_place {
  std::uint32_t shard = 0;
  std::int64_t offset = 0;
  bool was_there = false; ///< its dedupe key was known: this is where the first one is

  friend bool operator==(const entry_place&, const entry_place&) = default;
};

/// How much one read may return: it stops at the first limit it reaches, but returns one entry however large.
struct entry_limits {
  std::size_t entries = 4096;
  std::size_t bytes = 1u << 20;
};

/// What a shard holds: offsets from `earliest` up to, and without, `head`.
struct shard_bounds {
  std::int64_t earliest = 0;
  std::int64_t head = 0;

  friend bool operator==(const shard_bounds&, const shard_bounds&) = default;
};

} // namespace weir
