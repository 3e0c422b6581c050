#pragma once

#include <weir/digest_chain.hpp>
#include <weir/error.hpp>
#include <weir/log_entry.hpp>

#include "log_schema.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::sqlite_log {

/// By which a file that was written to is told from one that was not.
struct file_stamp {
  std::uint64_t number = 0;
  std::int64_t size = 0;
  std::pair<std::int64_t, std::int64_t> written = {}; ///< seconds, nanoseconds

  friend bool operator==(const file_stamp&, const file_stamp&) = default;
};

/// A log's file as one connection sees it, and what was known of it when it was opened.
struct log_file {
  database connection;
  std::filesystem::path path;
  std::uint64_t store = 0;
  std::optional<file_stamp> stamp = {};
};

struct topic_row {
  std::int64_t id = 0;
  std::string name = {};
  std::uint64_t epoch = 1;
  std::uint32_t shards = 1;
  std::uint64_t dedupe_horizon = 0;
  std::uint64_t trimmed_snapshots = 0; ///< snapshots with lower ids went with the log
};

struct shard_row {
  std::int64_t at = 0; ///< its number in the file
  std::int64_t topic = 0;
  std::uint32_t shard = 0;
  shard_bounds bounds = {};
  chain_digest before = {}; ///< of the entry before the earliest
  chain_digest last = {};   ///< of the entry before the head
  std::uint64_t bytes = 0;  ///< of all records that were ever stored
  std::int64_t time = 0;    ///< of the last entry
};

result<std::vector<topic_row>> read_topics(log_file& in);
result<std::optional<topic_row>> find_topic(log_file& in, const std::string& name);

/// With its shards. In a transaction.
result<topic_row> make_topic(log_file& in, const std::string& name, std::uint32_t shards, std::uint64_t dedupe_horizon);
result<void> write_trimmed_snapshots(log_file& in, const topic_row& topic);

result<shard_row> read_shard(log_file& in, std::int64_t topic, std::uint32_t shard);

/// All of a topic, in order.
result<std::vector<shard_row>> read_shards(log_file& in, const topic_row& topic);
result<void> write_shard(log_file& in, const shard_row& row);

std::vector<shard_bounds> bounds_of(const std::vector<shard_row>& rows);

std::string_view bytes_of(const chain_digest& digest) noexcept;
std::optional<chain_digest> digest_from(std::string_view bytes) noexcept;

} // namespace weir::sqlite_log
