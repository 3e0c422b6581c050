#pragma once

#include <weir/envelope.hpp>
#include <weir/error.hpp>

#include "database.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace weir {

/// What is written into a row beside its key and payload.
struct row_origin {
  std::uint64_t seq = 0;
  std::uint64_t epoch = 0;
  std::uint64_t generation = 0;
};

/// One collection's table. All writes belong to the caller's transaction.
class collection_table {
public:
  /// Whether the name is free, or that of a table which the sink made: wrong_owner if neither, in the caller's connection.
  static result<void> check(database& opened, std::string_view name, const std::filesystem::path& path);

  /// Makes the table if it is not there, and prepares its statements.
  static result<collection_table> open(database& opened, std::string_view name, const std::filesystem::path& path);

  const std::string& name() const noexcept { return name_; }

  /// Writes a live upsert.
  result<void> upsert(const envelope& change, const row_origin& origin);

  result<void> erase(std::string_view key);

  /// As erase(); a snapshot's row of this key that comes later in this backfill will not bring it back.
  result<void> erase_for_good(std::string_view key);

  /// Writes a row of a snapshot, unless a live change has touched the key since the backfill began. That has deleted keys too
  /// is what `some_are_gone` says, so that the look-up is spared where none is.
  result<void> upsert_from_snapshot(const envelope& row, const row_origin& origin, bool some_are_gone);

  /// Deletes the rows that nothing has written since a generation began.
  result<void> sweep(std::uint64_t generation);

private:
  explicit collection_table(database& opened, std::string_view name) : database_{&opened}, name_{name} {}
  result<void> make(const std::filesystem::path& path);
  result<void> run_upsert(statement& prepared, const envelope& row, const row_origin& origin);

  database* database_;
  std::string name_;
  statement upsert_;
  statement erase_;
  statement remember_gone_;
  statement upsert_from_snapshot_;
  statement upsert_unless_gone_;
};

} // namespace weir
