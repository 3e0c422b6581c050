#pragma once

#include <weir/digest_chain.hpp>
#include <weir/error.hpp>
#include <weir/log_entry.hpp>
#include <weir/snapshot.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What every store refuses, and how it says so: one rule and one wording for all adapters.
namespace weir::log_rules {

inline constexpr std::uint32_t max_shards = 4096;
inline constexpr std::uint64_t usual_dedupe_horizon = std::uint64_t{1} << 20;

/// Fails with invalid_argument.
result<void> check_layout(std::uint32_t shards, std::optional<std::uint64_t> dedupe_horizon);
result<void> check_shard(std::uint32_t shard, std::uint32_t shards);
result<void> check_offsets(const std::vector<std::int64_t>& offsets, std::uint32_t shards);

/// An append's entries: at least one, each with its shard, none too large; one shard where a head is expected. Fails with
/// invalid_argument and entry_too_large, which say which entry.
result<void> check_append(
  const std::vector<new_entry>& entries, bool has_expected_head, std::uint32_t shards, std::size_t largest);

error dedupe_conflict(std::size_t entry, const entry_place& first);
error head_moved(std::uint32_t shard, std::int64_t expected, std::int64_t head);
error corrupt_entry(std::string_view topic, std::uint32_t shard, std::int64_t offset, std::string_view why);

/// layout_mismatch where a topic is not laid out as it is asked for.
result<void> check_same_layout(std::uint32_t shards, std::uint64_t dedupe_horizon, std::string_view topic,
  std::uint32_t asked_shards, std::optional<std::uint64_t> asked_horizon);

/// Whether what follows `after` can be read: cursor_expired (says the best snapshot there is) or ahead_of_head.
result<void> check_after(std::string_view topic, std::uint32_t shard, std::int64_t after, const shard_bounds& there,
  const std::vector<snapshot_info>& snapshots);

/// Whether a trim is allowed: through the head at most, and covered by a snapshot unless forced.
result<void> check_trim(std::string_view topic, const std::vector<std::int64_t>& through, bool force,
  const std::vector<shard_bounds>& there, const std::vector<snapshot_info>& snapshots);

/// A snapshot is usable while what follows it is retained.
bool is_usable(const snapshot_info& snapshot, const std::vector<shard_bounds>& there) noexcept;

/// A chunk has 1 byte to max_snapshot_chunk bytes.
result<void> check_chunk(std::size_t size);

error no_snapshot(std::string_view topic, std::uint64_t id);
error no_chunk(std::string_view topic, std::uint64_t id, std::uint64_t chunk, std::uint64_t chunks);
error snapshot_trimmed(std::string_view topic, std::uint64_t id);
error checkpoint_conflict(
  std::string_view consumer, std::optional<std::uint64_t> expected, std::optional<std::uint64_t> actual);
error unknown_topic(std::string_view topic, const std::vector<std::string>& known);

/// Whether a store can't be opened because there is none yet: no file, or one that holds nothing, as a process leaves it that
/// was killed while it created it.
bool is_nothing_yet(const error& why) noexcept;

/// How a pin is called among those who hold a trim back.
std::string pin_name(std::uint64_t id);

/// When a pin's time is over. It lasts a second to 30 days.
result<std::int64_t> pin_end(std::int64_t now, std::chrono::seconds at_most);

/// Two entries of one dedupe key are the same when these are: over key and payload.
chain_digest fingerprint(std::string_view key, std::string_view payload) noexcept;

} // namespace weir::log_rules
