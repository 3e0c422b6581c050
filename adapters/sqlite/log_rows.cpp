#include "log_rows.hpp"

#include <boost/outcome/try.hpp>

#include <cstring>

namespace weir::sqlite_log {

namespace {

std::int64_t check_of(const topic_row& row) {
  return row_check{}
    .add(row.id)
    .add(std::string_view{row.name})
    .add(row.epoch)
    .add(std::uint64_t{row.shards})
    .add(row.dedupe_horizon)
    .add(row.trimmed_snapshots)
    .value();
}

std::int64_t check_of(const shard_row& row) {
  return row_check{}
    .add(row.at)
    .add(row.topic)
    .add(std::uint64_t{row.shard})
    .add(row.bounds.earliest)
    .add(row.bounds.head)
    .add(bytes_of(row.before))
    .add(bytes_of(row.last))
    .add(row.bytes)
    .add(row.time)
    .value();
}

result<topic_row> topic_from(const log_file& in, const statement& row) {
  topic_row found{row.number(0), row.bytes(1), row.whole_number(2), static_cast<std::uint32_t>(row.number(3)),
    row.whole_number(4), row.whole_number(5)};
  if (row.number(6) != check_of(found))
    return damaged_row(in.path, "weir_topic", std::to_string(found.id));
  return found;
}

result<shard_row> shard_from(const log_file& in, const statement& row) {
  const auto before = digest_from(row.view(5));
  const auto last = digest_from(row.view(6));
  shard_row found{row.number(0), row.number(1), static_cast<std::uint32_t>(row.number(2)), {row.number(3), row.number(4)},
    before.value_or(chain_digest{}), last.value_or(chain_digest{}), row.whole_number(7), row.number(8)};
  if (!before || !last || row.number(9) != check_of(found))
    return damaged_row(in.path, "weir_shard", std::to_string(found.at));
  return found;
}

} // namespace

std::string_view bytes_of(const chain_digest& digest) noexcept {
  return {reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size()};
}

std::optional<chain_digest> digest_from(std::string_view bytes) noexcept {
  chain_digest found;
  if (bytes.size() != found.bytes.size())
    return std::nullopt;
  std::memcpy(found.bytes.data(), bytes.data(), bytes.size());
  return found;
}

result<std::vector<topic_row>> read_topics(log_file& in) {
  BOOST_OUTCOME_TRY(auto* query,
    in.connection.kept(
      "SELECT id, name, epoch, shards, dedupe_horizon, trimmed_snapshots, \"check\" FROM weir_topic ORDER BY name"));
  std::vector<topic_row> all;
  for (;;) {
    BOOST_OUTCOME_TRY(const auto has_row, query->step());
    if (!has_row)
      return all;
    auto row = topic_from(in, *query);
    if (!row) {
      query->reset();
      return std::move(row).error();
    }
    all.push_back(std::move(row).value());
  }
}

result<std::optional<topic_row>> find_topic(log_file& in, const std::string& name) {
  // "+": not through the index, because a topic that is not found is made, and a damaged index must not make a second one.
  BOOST_OUTCOME_TRY(auto* query,
    in.connection.kept(
      "SELECT id, name, epoch, shards, dedupe_horizon, trimmed_snapshots, \"check\" FROM weir_topic WHERE +name = ?1"));
  query->bind_text(1, name);
  BOOST_OUTCOME_TRY(const auto has_row, query->step());
  if (!has_row)
    return std::optional<topic_row>{};
  auto row = topic_from(in, *query);
  query->reset();
  BOOST_OUTCOME_TRY(auto found, std::move(row));
  return std::optional{std::move(found)};
}

result<topic_row> make_topic(log_file& in, const std::string& name, std::uint32_t shards, std::uint64_t dedupe_horizon) {
  BOOST_OUTCOME_TRY(const auto last, in.connection.look_up("SELECT COALESCE(MAX(id), 0) FROM weir_topic"));
  topic_row made{std::stoll(last.value_or("0")) + 1, name, 1, shards, dedupe_horizon, 0};
  BOOST_OUTCOME_TRY(auto* insert, in.connection.kept("INSERT INTO weir_topic VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)"));
  insert->bind(1, made.id);
  insert->bind_text(2, made.name);
  insert->bind(3, made.epoch);
  insert->bind(4, std::uint64_t{made.shards});
  insert->bind(5, made.dedupe_horizon);
  insert->bind(6, made.trimmed_snapshots);
  insert->bind(7, check_of(made));
  BOOST_OUTCOME_TRY(insert->step());
  BOOST_OUTCOME_TRY(const auto last_shard, in.connection.look_up("SELECT COALESCE(MAX(at), 0) FROM weir_shard"));
  auto at = std::stoll(last_shard.value_or("0"));
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    const auto begin = chain_begin(in.store, name, made.epoch, shard);
    const shard_row row{++at, made.id, shard, {}, begin, begin, 0, 0};
    BOOST_OUTCOME_TRY(auto* add, in.connection.kept("INSERT INTO weir_shard VALUES(?1, ?2, ?3, 0, 0, x'', x'', 0, 0, 0)"));
    add->bind(1, row.at);
    add->bind(2, row.topic);
    add->bind(3, std::uint64_t{row.shard});
    BOOST_OUTCOME_TRY(add->step());
    BOOST_OUTCOME_TRY(write_shard(in, row));
  }
  return made;
}

result<void> write_trimmed_snapshots(log_file& in, const topic_row& topic) {
  BOOST_OUTCOME_TRY(
    auto* update, in.connection.kept("UPDATE weir_topic SET trimmed_snapshots = ?2, \"check\" = ?3 WHERE id = ?1"));
  update->bind(1, topic.id);
  update->bind(2, topic.trimmed_snapshots);
  update->bind(3, check_of(topic));
  BOOST_OUTCOME_TRY(update->step());
  return success();
}

result<shard_row> read_shard(log_file& in, std::int64_t topic, std::uint32_t shard) {
  BOOST_OUTCOME_TRY(auto* query,
    in.connection.kept("SELECT at, topic, shard, earliest, head, before, last, bytes, time, \"check\" FROM weir_shard "
                       "WHERE topic = ?1 AND shard = ?2"));
  query->bind(1, topic);
  query->bind(2, std::uint64_t{shard});
  BOOST_OUTCOME_TRY(const auto has_row, query->step());
  if (!has_row)
    return damaged_row(in.path, "weir_shard", std::to_string(topic) + "/" + std::to_string(shard));
  auto row = shard_from(in, *query);
  query->reset();
  return row;
}

result<std::vector<shard_row>> read_shards(log_file& in, const topic_row& topic) {
  std::vector<shard_row> all;
  for (std::uint32_t shard = 0; shard < topic.shards; ++shard) {
    BOOST_OUTCOME_TRY(const auto row, read_shard(in, topic.id, shard));
    all.push_back(row);
  }
  return all;
}

result<void> write_shard(log_file& in, const shard_row& row) {
  BOOST_OUTCOME_TRY(
    auto* update, in.connection.kept("UPDATE weir_shard SET earliest = ?2, head = ?3, before = ?4, last = ?5, bytes = ?6, "
                                     "time = ?7, \"check\" = ?8 WHERE at = ?1"));
  update->bind(1, row.at);
  update->bind(2, row.bounds.earliest);
  update->bind(3, row.bounds.head);
  update->bind_blob(4, bytes_of(row.before));
  update->bind_blob(5, bytes_of(row.last));
  update->bind(6, row.bytes);
  update->bind(7, row.time);
  update->bind(8, check_of(row));
  BOOST_OUTCOME_TRY(update->step());
  return success();
}

std::vector<shard_bounds> bounds_of(const std::vector<shard_row>& rows) {
  std::vector<shard_bounds> all;
  for (const auto& one : rows)
    all.push_back(one.bounds);
  return all;
}

} // namespace weir::sqlite_log
