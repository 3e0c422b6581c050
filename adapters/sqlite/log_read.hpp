#pragma once

#include <weir/error.hpp>
#include <weir/log.hpp>
#include <weir/log_block.hpp>

#include "log_rows.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::sqlite_log {

/// Entries that were given up by a repair: [first, first + count).
struct repair_row {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::string why = {};
  std::int64_t time = 0;
};

/// The repair that covers the offset, or else the next one behind it; none.
result<std::optional<repair_row>> find_repair(log_file& in, const shard_row& of, std::int64_t offset);

/// Goes over a shard's blocks in order, within one read transaction. What stands between two blocks, or is unreadable, shows as
/// a gap.
class block_walk {
public:
  block_walk(log_file& in, const shard_row& of) noexcept : in_{in}, of_{of} {}
  ~block_walk();
  block_walk(const block_walk&) = delete;
  block_walk& operator=(const block_walk&) = delete;

  /// The block that holds the offset; absent when none does. Valid until the next call.
  result<std::optional<log_block_view>> at(std::int64_t offset);

  /// What the block that was found last says was before it.
  std::optional<chain_digest> before() const noexcept;

  /// The digest that is stored with the last entry of the block that ends at the offset.
  result<chain_digest> last_digest_before(std::int64_t offset);

  /// Where the first block behind the offset begins; the head when there is none.
  result<std::int64_t> next_begin(std::int64_t offset);

  /// How many bytes of records were stored in the shard before the offset's.
  result<std::uint64_t> bytes_before(std::int64_t offset);

private:
  result<bool> step();
  void leave() noexcept;

  log_file& in_;
  const shard_row& of_;
  statement* row_ = nullptr; // stands at the block that was found last
  std::optional<log_block_view> current_;
  std::uint64_t current_bytes_ = 0;
};

/// A verified read: see log_topic::read().
result<log_reading> read_entries(
  log_file& in, const topic_row& topic, const shard_row& of, std::int64_t after, entry_limits limits);

result<shard_lag> lag_behind(log_file& in, const shard_row& of, std::int64_t after, std::int64_t now);

result<std::int64_t> find_time(log_file& in, const shard_row& of, std::int64_t time);

/// What the entry at the offset is verified against, as well as can be told where entries before it are damaged or missing: for
/// that is no reason to keep them.
chain_digest digest_before(log_file& in, const topic_row& topic, const shard_row& of, std::int64_t offset);

/// The chain's digest up to and with the offset, which is retained or right before what is.
result<chain_digest> digest_at(log_file& in, const topic_row& topic, const shard_row& of, std::int64_t offset);

} // namespace weir::sqlite_log
