#pragma once

#include <weir/error.hpp>
#include <weir/snapshot.hpp>

#include "log_rows.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir::sqlite_log {

/// Finished ones, oldest first.
result<std::vector<snapshot_info>> read_snapshots(log_file& in, const topic_row& topic);

result<std::uint64_t> begin_snapshot(
  log_file& in, const topic_row& topic, const std::vector<std::int64_t>& offsets, std::int64_t now);
result<void> add_chunk(log_file& in, const topic_row& topic, std::uint64_t id, const std::string& chunk);
result<snapshot_info> finish_snapshot(log_file& in, const topic_row& topic, std::uint64_t id, std::int64_t now);
result<std::string> read_chunk(log_file& in, const topic_row& topic, std::uint64_t id, std::uint64_t index);

/// Erases those that are of no use any more, and what was begun a day ago and not finished.
result<void> trim_snapshots(log_file& in, topic_row topic, const std::vector<shard_bounds>& bounds, std::int64_t now);

} // namespace weir::sqlite_log
