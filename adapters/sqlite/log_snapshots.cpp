#include "log_snapshots.hpp"

#include <weir/log_rules.hpp>

#include "log_read.hpp"

#include <boost/outcome/try.hpp>

#include <algorithm>

namespace weir::sqlite_log {

namespace {

std::string packed(const std::vector<chain_digest>& digests) {
  std::string bytes;
  for (const auto& one : digests)
    bytes += bytes_of(one);
  return bytes;
}

std::int64_t check_of(std::int64_t topic, const snapshot_info& row, bool finished) {
  return row_check{}
    .add(row.id)
    .add(topic)
    .add(std::string_view{sqlite_log::packed(row.offsets)})
    .add(std::string_view{packed(row.chains)})
    .add(row.chunks)
    .add(row.bytes)
    .add(bytes_of(row.digest))
    .add(row.time)
    .add(std::int64_t{finished})
    .value();
}

result<snapshot_info> snapshot_from(const log_file& in, std::int64_t topic, const statement& row) {
  snapshot_info found;
  found.id = row.whole_number(0);
  found.offsets = unpacked(row.view(1));
  const auto chains = row.view(2);
  for (std::size_t begin = 0; begin + sizeof(chain_digest) <= chains.size(); begin += sizeof(chain_digest))
    found.chains.push_back(*digest_from(chains.substr(begin, sizeof(chain_digest))));
  found.chunks = row.whole_number(3);
  found.bytes = row.whole_number(4);
  const auto digest = digest_from(row.view(5));
  found.digest = digest.value_or(chain_digest{});
  found.time = row.number(6);
  if (!digest || row.number(8) != check_of(topic, found, row.number(7) != 0))
    return damaged_row(in.path, "weir_snapshot", std::to_string(found.id));
  return found;
}

/// The row, finished or not; absent: there is none.
result<std::optional<snapshot_info>> find_snapshot(log_file& in, const topic_row& topic, std::uint64_t id, bool finished) {
  BOOST_OUTCOME_TRY(auto* query,
    in.connection.kept("SELECT id, offsets, chains, chunks, bytes, digest, time, finished, \"check\" FROM weir_snapshot "
                       "WHERE topic = ?1 AND id = ?2 AND finished = ?3"));
  query->bind(1, topic.id);
  query->bind(2, id);
  query->bind(3, std::int64_t{finished});
  BOOST_OUTCOME_TRY(const auto has_row, query->step());
  if (!has_row)
    return std::optional<snapshot_info>{};
  auto row = snapshot_from(in, topic.id, *query);
  query->reset();
  BOOST_OUTCOME_TRY(auto found, std::move(row));
  return std::optional{std::move(found)};
}

result<void> write_snapshot(log_file& in, const topic_row& topic, const snapshot_info& row, bool finished) {
  const auto offsets = sqlite_log::packed(row.offsets);
  const auto chains = packed(row.chains);
  BOOST_OUTCOME_TRY(
    auto* put, in.connection.kept("INSERT OR REPLACE INTO weir_snapshot VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"));
  put->bind(1, row.id);
  put->bind(2, topic.id);
  put->bind_blob(3, offsets);
  put->bind_blob(4, chains);
  put->bind(5, row.chunks);
  put->bind(6, row.bytes);
  put->bind_blob(7, bytes_of(row.digest));
  put->bind(8, row.time);
  put->bind(9, std::int64_t{finished});
  put->bind(10, check_of(topic.id, row, finished));
  BOOST_OUTCOME_TRY(put->step());
  return success();
}

result<void> erase_snapshot(log_file& in, std::uint64_t id) {
  for (const char* sql : {"DELETE FROM weir_chunk WHERE snapshot = ?1", "DELETE FROM weir_snapshot WHERE id = ?1"}) {
    BOOST_OUTCOME_TRY(auto* erase, in.connection.kept(sql));
    erase->bind(1, id);
    BOOST_OUTCOME_TRY(erase->step());
  }
  return success();
}

result<void> forget_unfinished(log_file& in, std::int64_t now) {
  BOOST_OUTCOME_TRY(auto* query, in.connection.kept("SELECT id FROM weir_snapshot WHERE finished = 0 AND time < ?1"));
  query->bind(1, now - unfinished_snapshot_lives.count());
  std::vector<std::uint64_t> forgotten;
  for (;;) {
    BOOST_OUTCOME_TRY(const auto has_row, query->step());
    if (!has_row)
      break;
    forgotten.push_back(query->whole_number(0));
  }
  for (const auto id : forgotten) {
    BOOST_OUTCOME_TRY(erase_snapshot(in, id));
  }
  return success();
}

error corrupt_snapshot(const topic_row& topic, std::uint64_t id, const std::string& chunk, const char* why) {
  return error{errc::snapshot_corrupt, std::string{"the snapshot is not what was stored: "} + why,
    {{"topic", topic.name}, {"snapshot", std::to_string(id)}, {"chunk", chunk}}};
}

} // namespace

result<std::vector<snapshot_info>> read_snapshots(log_file& in, const topic_row& topic) {
  BOOST_OUTCOME_TRY(auto* query,
    in.connection.kept("SELECT id, offsets, chains, chunks, bytes, digest, time, finished, \"check\" FROM weir_snapshot "
                       "WHERE topic = ?1 AND finished = 1 ORDER BY id"));
  query->bind(1, topic.id);
  std::vector<snapshot_info> all;
  for (;;) {
    BOOST_OUTCOME_TRY(const auto has_row, query->step());
    if (!has_row)
      return all;
    if (auto row = snapshot_from(in, topic.id, *query))
      all.push_back(std::move(row).value()); // a damaged one is of no use, and says so when it is asked for
  }
}

result<std::uint64_t> begin_snapshot(
  log_file& in, const topic_row& topic, const std::vector<std::int64_t>& offsets, std::int64_t now) {
  BOOST_OUTCOME_TRY(forget_unfinished(in, now));
  snapshot_info made;
  BOOST_OUTCOME_TRY(auto shards, read_shards(in, topic));
  for (std::size_t shard = 0; shard < shards.size(); ++shard) {
    BOOST_OUTCOME_TRY(const auto digest, digest_at(in, topic, shards[shard], offsets[shard]));
    made.chains.push_back(digest);
  }
  BOOST_OUTCOME_TRY(
    const auto last, in.connection.look_up("SELECT COALESCE(MAX(seq), 0) FROM sqlite_sequence WHERE name = 'weir_snapshot'"));
  made.id = std::stoull(last.value_or("0")) + 1;
  made.offsets = offsets;
  made.time = now;
  BOOST_OUTCOME_TRY(write_snapshot(in, topic, made, false));
  return made.id;
}

result<void> add_chunk(log_file& in, const topic_row& topic, std::uint64_t id, const std::string& chunk) {
  BOOST_OUTCOME_TRY(auto found, find_snapshot(in, topic, id, false));
  if (!found)
    return log_rules::no_snapshot(topic.name, id);
  found->digest = snapshot_digest(found->digest, chunk);
  BOOST_OUTCOME_TRY(auto* insert, in.connection.kept("INSERT INTO weir_chunk VALUES(?1, ?2, ?3, ?4)"));
  insert->bind(1, id);
  insert->bind(2, found->chunks);
  insert->bind_blob(3, chunk);
  insert->bind_blob(4, bytes_of(found->digest));
  BOOST_OUTCOME_TRY(insert->step());
  ++found->chunks;
  found->bytes += chunk.size();
  return write_snapshot(in, topic, *found, false);
}

result<snapshot_info> finish_snapshot(log_file& in, const topic_row& topic, std::uint64_t id, std::int64_t now) {
  BOOST_OUTCOME_TRY(auto found, find_snapshot(in, topic, id, false));
  if (!found)
    return log_rules::no_snapshot(topic.name, id);
  BOOST_OUTCOME_TRY(auto shards, read_shards(in, topic));
  if (!log_rules::is_usable(*found, bounds_of(shards)))
    return log_rules::snapshot_trimmed(topic.name, id);
  BOOST_OUTCOME_TRY(const auto others, read_snapshots(in, topic));
  for (const auto& other : others) {
    if (other.offsets == found->offsets) {
      BOOST_OUTCOME_TRY(erase_snapshot(in, other.id));
    }
  }
  found->time = now;
  BOOST_OUTCOME_TRY(write_snapshot(in, topic, *found, true));
  return *found;
}

result<std::string> read_chunk(log_file& in, const topic_row& topic, std::uint64_t id, std::uint64_t index) {
  auto found = find_snapshot(in, topic, id, true);
  if (!found && found.error() == errc::corrupt)
    return corrupt_snapshot(topic, id, "none", "its description is damaged");
  BOOST_OUTCOME_TRY(const auto known, std::move(found));
  if (!known)
    return id < topic.trimmed_snapshots ? log_rules::snapshot_trimmed(topic.name, id) : log_rules::no_snapshot(topic.name, id);
  if (index >= known->chunks)
    return log_rules::no_chunk(topic.name, id, index, known->chunks);
  BOOST_OUTCOME_TRY(auto* query,
    in.connection.kept(
      "SELECT number, chunk, digest FROM weir_chunk WHERE snapshot = ?1 AND number IN (?2 - 1, ?2) ORDER BY number"));
  query->bind(1, id);
  query->bind(2, index);
  chain_digest before;
  std::optional<std::string> chunk;
  bool fits = index == 0;
  for (;;) {
    auto has_row = query->step();
    if (!has_row)
      return corrupt_snapshot(topic, id, std::to_string(index), has_row.error().sentence().c_str());
    if (!has_row.value())
      break;
    const auto digest = digest_from(query->view(2));
    if (query->whole_number(0) == index) {
      chunk = query->bytes(1);
      fits =
        fits && digest && snapshot_digest(before, *chunk) == *digest && (index + 1 < known->chunks || *digest == known->digest);
    } else {
      fits = digest.has_value();
      before = digest.value_or(chain_digest{});
    }
  }
  if (!chunk || !fits)
    return corrupt_snapshot(topic, id, std::to_string(index), chunk ? "its digest is another" : "a chunk is missing");
  return std::move(*chunk);
}

result<void> trim_snapshots(log_file& in, topic_row topic, const std::vector<shard_bounds>& bounds, std::int64_t now) {
  BOOST_OUTCOME_TRY(const auto all, read_snapshots(in, topic));
  auto trimmed = topic.trimmed_snapshots;
  for (const auto& one : all) {
    if (log_rules::is_usable(one, bounds))
      continue;
    BOOST_OUTCOME_TRY(erase_snapshot(in, one.id));
    trimmed = std::max(trimmed, one.id + 1);
  }
  if (trimmed != topic.trimmed_snapshots) {
    topic.trimmed_snapshots = trimmed;
    BOOST_OUTCOME_TRY(write_trimmed_snapshots(in, topic));
  }
  return forget_unfinished(in, now);
}

} // namespace weir::sqlite_log
