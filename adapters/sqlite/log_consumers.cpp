#include "log_consumers.hpp"

#include <boost/outcome/try.hpp>

namespace weir::sqlite_log {

namespace {

std::int64_t check_of(std::int64_t topic, const checkpoint& row) {
  return row_check{}
    .add(topic)
    .add(std::string_view{row.consumer})
    .add(std::string_view{packed(row.offsets)})
    .add(std::string_view{row.metadata})
    .add(row.revision)
    .add(row.time)
    .add(std::int64_t{row.expired})
    .value();
}

result<checkpoint> checkpoint_from(const log_file& in, std::int64_t topic, const statement& row) {
  checkpoint found{row.bytes(0), unpacked(row.view(1)), row.bytes(2), row.whole_number(3), row.number(4), row.number(5) != 0};
  if (row.number(6) != check_of(topic, found))
    return damaged_row(in.path, "weir_checkpoint", found.consumer);
  return found;
}

} // namespace

result<std::optional<checkpoint>> read_checkpoint(log_file& in, std::int64_t topic, const std::string& consumer) {
  BOOST_OUTCOME_TRY(auto* query,
    in.connection.kept("SELECT consumer, offsets, metadata, revision, time, expired, \"check\" FROM weir_checkpoint "
                       "WHERE topic = ?1 AND consumer = ?2"));
  query->bind(1, topic);
  query->bind_text(2, consumer);
  BOOST_OUTCOME_TRY(const auto has_row, query->step());
  if (!has_row)
    return std::optional<checkpoint>{};
  auto row = checkpoint_from(in, topic, *query);
  query->reset();
  BOOST_OUTCOME_TRY(auto found, std::move(row));
  return std::optional{std::move(found)};
}

result<std::vector<checkpoint>> read_checkpoints(log_file& in, std::int64_t topic) {
  BOOST_OUTCOME_TRY(auto* query,
    in.connection.kept("SELECT consumer, offsets, metadata, revision, time, expired, \"check\" FROM weir_checkpoint "
                       "WHERE topic = ?1 ORDER BY consumer"));
  query->bind(1, topic);
  std::vector<checkpoint> all;
  for (;;) {
    BOOST_OUTCOME_TRY(const auto has_row, query->step());
    if (!has_row)
      return all;
    auto row = checkpoint_from(in, topic, *query);
    if (!row) {
      query->reset();
      return std::move(row).error();
    }
    all.push_back(std::move(row).value());
  }
}

result<void> write_checkpoint(log_file& in, std::int64_t topic, const checkpoint& row) {
  const auto offsets = packed(row.offsets);
  BOOST_OUTCOME_TRY(
    auto* put, in.connection.kept("INSERT OR REPLACE INTO weir_checkpoint VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"));
  put->bind(1, topic);
  put->bind_text(2, row.consumer);
  put->bind_blob(3, offsets);
  put->bind_blob(4, row.metadata);
  put->bind(5, row.revision);
  put->bind(6, row.time);
  put->bind(7, std::int64_t{row.expired});
  put->bind(8, check_of(topic, row));
  BOOST_OUTCOME_TRY(put->step());
  return success();
}

result<void> erase_checkpoint(log_file& in, std::int64_t topic, const std::string& consumer) {
  BOOST_OUTCOME_TRY(auto* erase, in.connection.kept("DELETE FROM weir_checkpoint WHERE topic = ?1 AND consumer = ?2"));
  erase->bind(1, topic);
  erase->bind_text(2, consumer);
  BOOST_OUTCOME_TRY(erase->step());
  return success();
}

result<std::int64_t> add_pin(log_file& in, std::int64_t topic, const std::vector<std::int64_t>& offsets, std::int64_t until) {
  const auto bytes = packed(offsets);
  BOOST_OUTCOME_TRY(
    auto* add, in.connection.kept("INSERT INTO weir_pin(topic, offsets, until) VALUES(?1, ?2, ?3) RETURNING id"));
  add->bind(1, topic);
  add->bind_blob(2, bytes);
  add->bind(3, until);
  BOOST_OUTCOME_TRY(add->step());
  const auto id = add->number(0);
  BOOST_OUTCOME_TRY(add->step());
  return id;
}

result<void> erase_pin(log_file& in, std::int64_t topic, std::int64_t pin) {
  BOOST_OUTCOME_TRY(auto* erase, in.connection.kept("DELETE FROM weir_pin WHERE topic = ?1 AND id = ?2"));
  erase->bind(1, topic);
  erase->bind(2, pin);
  BOOST_OUTCOME_TRY(erase->step());
  return success();
}

result<std::vector<pin_row>> current_pins(log_file& in, std::int64_t topic, std::int64_t now) {
  BOOST_OUTCOME_TRY(auto* erase, in.connection.kept("DELETE FROM weir_pin WHERE until <= ?1"));
  erase->bind(1, now);
  BOOST_OUTCOME_TRY(erase->step());
  BOOST_OUTCOME_TRY(auto* query, in.connection.kept("SELECT id, offsets, until FROM weir_pin WHERE topic = ?1 ORDER BY id"));
  query->bind(1, topic);
  std::vector<pin_row> all;
  for (;;) {
    BOOST_OUTCOME_TRY(const auto has_row, query->step());
    if (!has_row)
      return all;
    all.push_back({query->number(0), unpacked(query->view(1)), query->number(2)});
  }
}

} // namespace weir::sqlite_log
