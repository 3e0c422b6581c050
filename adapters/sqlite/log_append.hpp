#pragma once

#include <weir/error.hpp>
#include <weir/log.hpp>
#include <weir/log_block.hpp>

#include "log_rows.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace weir::sqlite_log {

/// Appends within one transaction: everything that commits together goes into as few blocks as its bytes allow. What it writes
/// shows only when finish() has been called and the transaction was committed.
class append_transaction {
public:
  append_transaction(log_file& in, const topic_description& topic, std::int64_t topic_id, std::int64_t now) noexcept
    : in_{in},
      topic_{topic},
      topic_id_{topic_id},
      now_{now} {}

  /// Adds to `decided` where the entries will be, or why the call is refused (dedupe_conflict, head_moved, entry_too_large,
  /// invalid_argument); then nothing of it is stored. Fails with what the database fails of, and then the transaction does.
  result<void> add(const append_call& call, std::vector<result<std::vector<entry_place>>>& decided);

  /// Writes what is left.
  result<void> finish();

  /// The shards' heads as they are after it.
  std::vector<std::pair<std::uint32_t, std::int64_t>> heads() const;

private:
  struct open_shard {
    shard_row row;
    log_block_builder block;
  };

  struct known_key {
    entry_place first;
    chain_digest print;
  };

  result<open_shard*> shard_of(std::uint32_t shard);
  result<std::optional<known_key>> find_key(const std::string& key);
  /// Looks up which entries are there already.
  result<void> check(const append_call& call, std::vector<std::optional<entry_place>>& known, std::optional<error>& refusal);
  result<entry_place> store(const new_entry& given);
  result<void> remember(const std::string& key, const entry_place& first, const chain_digest& print);
  result<void> write_block(open_shard& of);
  result<void> forget_oldest_keys();

  log_file& in_;
  const topic_description& topic_;
  std::int64_t topic_id_;
  std::int64_t now_;
  std::map<std::uint32_t, open_shard> shards_;
  std::uint64_t next_key_ = 0; // 0: not asked yet
};

} // namespace weir::sqlite_log
