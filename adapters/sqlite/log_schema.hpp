#pragma once

#include <weir/crc32c.hpp>
#include <weir/error.hpp>

#include "database.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

/// How a log is kept in a SQLite database: see docs/sqlite-log.md.
namespace weir::sqlite_log {

inline constexpr std::int64_t format = 1;

/// A shard's blocks are keyed by place: the shard's number in the file (`at` in weir_shard) above 42 bits, the first entry's
/// offset below.
inline constexpr int offset_bits = 42;
inline constexpr std::int64_t last_offset = (std::int64_t{1} << offset_bits) - 1;

constexpr std::int64_t place_of(std::int64_t at, std::int64_t offset) noexcept {
  return (at << offset_bits) | offset;
}

/// The checksum by which a row is known to say what was written: CRC-32C over its other columns, in order; numbers as 8 bytes,
/// little endian, and bytes behind their length as such a number.
class row_check {
public:
  row_check& add(std::int64_t number) noexcept;
  row_check& add(std::uint64_t number) noexcept { return add(static_cast<std::int64_t>(number)); }
  row_check& add(std::string_view bytes) noexcept;
  std::int64_t value() const noexcept { return value_; }

private:
  std::uint32_t value_ = 0;
};

/// Offsets as a column keeps them: 8 bytes each, little endian.
std::string packed(const std::vector<std::int64_t>& offsets);
std::vector<std::int64_t> unpacked(std::string_view bytes);

/// A row that does not say what was written.
error damaged_row(const std::filesystem::path& path, std::string_view table, std::string_view which);

error not_a_log(const std::filesystem::path& path, const std::string& why);

/// Makes the tables of a new log in a database that has none; the connection is in a transaction. Fails with not_a_log where
/// there are other tables.
result<void> make_tables(database& in, const std::filesystem::path& path, std::uint64_t store, std::int64_t now);

/// Whether the database has no table at all.
result<bool> is_empty(database& in);

/// The store's id. Fails with not_a_log, newer_format, corrupt, and layout_mismatch (a table of ours that looks otherwise).
result<std::uint64_t> check_tables(database& in, const std::filesystem::path& path);

} // namespace weir::sqlite_log
