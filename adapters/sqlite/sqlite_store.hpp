#pragma once

#include <weir/batch.hpp>
#include <weir/error.hpp>
#include <weir/sink.hpp>
#include <weir/sqlite.hpp>

#include "collection_table.hpp"
#include "database.hpp"
#include "lane_record.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace weir {

/// The blocking half of the SQLite sink. One thread at a time.
///
/// write() opens a transaction and leaves it open; flush() stores the lane's position in it and commits. After any failure the
/// transaction is rolled back and the database closed: open() again, and give it the same items.
class sqlite_store {
public:
  explicit sqlite_store(sqlite_sink_options options) : options_{std::move(options)} {}

  result<sink_state> open();
  result<void> begin_backfill(const request& asked, std::uint64_t epoch);
  result<write_outcome> write(std::span<const lane_item> items);
  result<void> flush();

  /// Whether open() would succeed, and up to where the database goes; changes nothing.
  static result<sink_state> check(const sqlite_sink_options& options);

  /// What is not committed is rolled back.
  void close() noexcept;

private:
  lane_owner owner() const { return {options_.pipeline, options_.lane}; }
  result<void> open_database();
  result<void> make_tables();
  result<void> store_and_commit();
  result<bool> begin();
  result<void> apply(const lane_item& item, std::size_t number, write_outcome& outcome);
  result<void> apply_live(const batch& live, std::size_t number, write_outcome& outcome);
  result<void> apply_snapshot(const batch& carried, std::size_t number, write_outcome& outcome);
  result<void> apply_marker(const snapshot_complete& marker);
  result<void> apply_change(const envelope& change, const row_origin& origin);
  result<void> note_rejected(result<void> applied, std::size_t item, std::size_t envelope, write_outcome& outcome) const;
  bool has_effect(const lane_item& item) const;
  bool is_current(const request_id& request) const noexcept;
  bool is_selected(std::string_view collection) const;
  result<collection_table*> table_of(std::string_view collection);
  result<void> restart_gone();

  sqlite_sink_options options_;
  database database_;
  statement begin_;
  statement commit_;
  statement store_;
  std::map<std::string, collection_table, std::less<>> tables_;
  collection_table* last_table_ = nullptr; ///< of the change before: mostly that of the next one
  lane_record record_;
  bool some_are_gone_ = false; ///< live changes have deleted keys since the backfill began
};

} // namespace weir
