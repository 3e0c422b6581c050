#pragma once

#include <weir/batch.hpp>
#include <weir/error.hpp>
#include <weir/position.hpp>

#include "database.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

/// A backfill under way.
struct backfill_record {
  request_id request;
  std::uint64_t epoch = 0; ///< that it was asked for in
  std::optional<std::string> walked;
};

/// What a database knows about its lane, beside the rows: the one row of the table weir_lane.
struct lane_record {
  std::optional<position> committed;
  std::optional<std::uint64_t> seeded_epoch;
  std::uint64_t generation = 0; ///< number of the last backfill
  std::optional<backfill_record> backfill;
  std::uint64_t writer = 0; ///< counts who opened the database to write; only the last of them still may

  // What a row's generation column says about who wrote it last.
  std::uint64_t snapshot_mark() const noexcept { return 2 * generation; }

  /// Of a live change. One of an epoch before that of the backfill under way is older than all that the backfill brings.
  std::uint64_t mark_for(std::uint64_t epoch) const noexcept {
    return backfill && epoch < backfill->epoch ? snapshot_mark() - 1 : snapshot_mark() + 1;
  }
};

/// Whose a database is.
struct lane_owner {
  std::string pipeline;
  std::string lane;
};

/// Whether the database is this owner's, or nobody's. Fails with wrong_owner, with both names in the facts; with unsupported
/// when it was written by a newer or older version, or is not UTF-8; with corrupt.
result<void> check_owner(database& opened, const lane_owner& owner, const std::filesystem::path& path);

/// Makes the sink's own tables where they are not there, within the caller's transaction, and fences whoever wrote before.
/// Fails as check_owner() does.
result<void> make_own_tables(database& opened, const lane_owner& owner, const std::filesystem::path& path);

result<lane_record> read_record(database& opened);

/// Prepares the statement that store_record() runs.
result<statement> prepare_store(database& opened);
/// Fails with fenced when another has opened the database to write since.
result<void> store_record(statement& prepared, const lane_record& record);

/// Why a collection can't be a table: invalid_argument (facts `collection` and `expected`).
result<void> check_collection_name(std::string_view name);

/// The collections that have a table, by the sink's own account.
result<std::vector<std::string>> list_collections(database& opened);

} // namespace weir
