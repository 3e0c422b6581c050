#pragma once

#include <weir/append_window.hpp>
#include <weir/log.hpp>
#include <weir/memory_log.hpp>

#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace weir::memory {

/// What a topic in memory holds. Every function does its work at once, under one lock.
class shards {
public:
  shards(topic_description known, std::shared_ptr<const log_options> how);

  append_outcome append(std::vector<append_call> calls);
  std::vector<shard_bounds> bounds() const;
  result<log_reading> read(std::uint32_t shard, std::int64_t after, entry_limits limits) const;
  result<std::vector<shard_lag>> lag(const std::vector<std::int64_t>& after) const;
  result<std::int64_t> offset_at(std::uint32_t shard, std::chrono::nanoseconds since_epoch) const;

  result<std::uint64_t> begin_snapshot(std::vector<std::int64_t> offsets);
  result<void> add_chunk(std::uint64_t id, std::string chunk);
  result<snapshot_info> finish_snapshot(std::uint64_t id);
  std::vector<snapshot_info> snapshots() const;
  result<std::string> read_chunk(std::uint64_t id, std::uint64_t index) const;

  result<trim_outcome> trim(const trim_request& wanted);
  result<std::uint64_t> pin(std::vector<std::int64_t> offsets, std::chrono::seconds at_most);
  void unpin(std::uint64_t pin);

  std::optional<checkpoint> read_checkpoint(const std::string& consumer) const;
  std::vector<checkpoint> checkpoints() const;
  result<checkpoint> commit_checkpoint(checkpoint_commit wanted);
  result<void> drop_checkpoint(const std::string& consumer, std::uint64_t expected);

private:
  struct content {
    std::deque<entry> entries;
    std::int64_t earliest = 0;
    std::uint64_t bytes = 0; // of what is retained
    chain_digest before;     // of the entry before the first
    chain_digest last;
    std::int64_t time = 0;

    std::int64_t head() const noexcept { return earliest + static_cast<std::int64_t>(entries.size()); }
    const entry& at(std::int64_t offset) const noexcept { return entries[static_cast<std::size_t>(offset - earliest)]; }
  };

  struct known_key {
    entry_place first;
    chain_digest fingerprint;
  };

  struct stored_snapshot {
    snapshot_info info;
    std::vector<std::string> chunks;
  };

  struct held {
    std::vector<std::int64_t> offsets;
    std::int64_t until;
  };

  std::int64_t now() const;
  std::vector<shard_bounds> bounds_now() const;
  std::vector<snapshot_info> snapshots_now() const;
  result<std::vector<entry_place>> append_one(append_call call);
  entry_place store(new_entry&& given);
  std::optional<error> find_fault(const append_call& call) const;
  void forget_oldest_keys();
  shard_lag lag_of(const content& of, std::int64_t after) const;
  result<void> check_retained(const std::vector<std::int64_t>& offsets) const;
  void forget_unfinished();
  std::vector<retention_holder> holders_in(std::uint32_t shard) const;
  void drop_through(content& of, std::int64_t through);

  topic_description known_;
  std::shared_ptr<const log_options> how_;
  mutable std::mutex mutex_;
  std::vector<content> shards_;
  std::unordered_map<std::string, known_key> keys_;
  std::deque<std::string> key_order_;
  std::map<std::uint64_t, stored_snapshot> unfinished_;
  std::map<std::uint64_t, stored_snapshot> snapshots_;
  std::uint64_t next_snapshot_ = 1;
  std::uint64_t trimmed_snapshots_ = 0; // ids below were trimmed with the log
  std::map<std::string, checkpoint> checkpoints_;
  std::map<std::uint64_t, held> pins_;
  std::uint64_t next_pin_ = 1;
};

} // namespace weir::memory
