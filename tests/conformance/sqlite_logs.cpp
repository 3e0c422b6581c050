#include <weir/log_block.hpp>
#include <weir/sqlite_log.hpp>

#include "conformance/log/log_implementation.hpp"
#include "jsonl/scratch.hpp"

#include <doctest/doctest.h>
#include <sqlite3.h>

#include <algorithm>

namespace log_suite {

namespace {

/// Looks into the file as docs/sqlite-log.md describes it, with SQLite alone.
class file_access {
public:
  explicit file_access(const std::filesystem::path& path) {
    REQUIRE(sqlite3_open_v2(path.c_str(), &handle_, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK);
    sqlite3_busy_timeout(handle_, 10000);
  }
  ~file_access() { sqlite3_close(handle_); }
  file_access(const file_access&) = delete;
  file_access& operator=(const file_access&) = delete;

  std::int64_t number(const std::string& sql) {
    auto* query = prepare(sql);
    REQUIRE(sqlite3_step(query) == SQLITE_ROW);
    const auto found = sqlite3_column_int64(query, 0);
    sqlite3_finalize(query);
    return found;
  }

  std::string bytes(const std::string& sql) {
    auto* query = prepare(sql);
    REQUIRE(sqlite3_step(query) == SQLITE_ROW);
    const std::string found(
      static_cast<const char*>(sqlite3_column_blob(query, 0)), static_cast<std::size_t>(sqlite3_column_bytes(query, 0)));
    sqlite3_finalize(query);
    return found;
  }

  void write(const std::string& sql, const std::string& blob) {
    auto* query = prepare(sql);
    REQUIRE(sqlite3_bind_blob(query, 1, blob.data(), static_cast<int>(blob.size()), SQLITE_STATIC) == SQLITE_OK);
    REQUIRE(sqlite3_step(query) == SQLITE_DONE);
    sqlite3_finalize(query);
  }

  void run(const std::string& sql) { REQUIRE(sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK); }

private:
  sqlite3_stmt* prepare(const std::string& sql) {
    sqlite3_stmt* prepared = nullptr;
    const auto code = sqlite3_prepare_v2(handle_, sql.c_str(), -1, &prepared, nullptr);
    REQUIRE_MESSAGE(code == SQLITE_OK, sqlite3_errmsg(handle_));
    return prepared;
  }

  sqlite3* handle_ = nullptr;
};

class sqlite_place final : public log_place {
public:
  explicit sqlite_place(place_options how) : how_{how} {}

  std::shared_ptr<weir::log_store> open() override {
    auto opened =
      weir::sqlite::open_log({.path = path(), .largest_entry = how_.largest_entry, .now = [this] { return clock.now(); }});
    REQUIRE_MESSAGE(opened, opened.error().to_string());
    return std::move(opened).value();
  }

  bool is_shared() const noexcept override { return true; }

  bool damage(const std::string& topic, std::uint32_t shard, std::int64_t offset, damaged what) override {
    file_access file{path()};
    const auto place = block_of(file, topic, shard, offset);
    const auto where = " FROM weir_block WHERE place = " + std::to_string(place);
    auto heads = file.bytes("SELECT heads" + where);
    auto records = file.bytes("SELECT records" + where);
    const auto first = place & ((std::int64_t{1} << 42) - 1);
    const auto begin = static_cast<std::size_t>(offset - first) * weir::log_head_size;
    const auto record = weir::log_block_view{first, heads, records}.head_of(offset);
    switch (what) {
    case damaged::payload: records[record.begin + record.length / 2] ^= 1; break;
    case damaged::digest: heads[begin + 31] ^= 1; break;
    case damaged::time: heads[begin + 8] ^= 1; break;
    case damaged::place: heads[begin] ^= 1; break;
    case damaged::exchanged:
      std::swap_ranges(heads.begin() + static_cast<std::ptrdiff_t>(begin),
        heads.begin() + static_cast<std::ptrdiff_t>(begin + weir::log_head_size),
        heads.begin() + static_cast<std::ptrdiff_t>(begin + weir::log_head_size));
      break;
    case damaged::cut: heads.resize(begin + 7); break;
    }
    file.write("UPDATE weir_block SET heads = ?1 WHERE place = " + std::to_string(place), heads);
    file.write("UPDATE weir_block SET records = ?1 WHERE place = " + std::to_string(place), records);
    return true;
  }

  bool damage_chunk(const std::string&, std::uint64_t snapshot, std::uint64_t chunk) override {
    file_access file{path()};
    const auto where = " WHERE snapshot = " + std::to_string(snapshot) + " AND number = " + std::to_string(chunk);
    auto bytes = file.bytes("SELECT chunk FROM weir_chunk" + where);
    bytes[bytes.size() / 2] ^= 1;
    file.write("UPDATE weir_chunk SET chunk = ?1" + where, bytes);
    return true;
  }

  bool lose(const std::string& topic, std::uint32_t shard, std::int64_t offset) override {
    file_access file{path()};
    file.run("DELETE FROM weir_block WHERE place = " + std::to_string(block_of(file, topic, shard, offset)));
    return true;
  }

  weir::log_effect effect(std::string what) override {
    return [what = std::move(what)](weir::log_transaction open) -> weir::result<void> {
      auto* into = weir::sqlite::connection_of(open);
      const auto sql = "CREATE TABLE IF NOT EXISTS effects(what TEXT); INSERT INTO effects VALUES('" + what + "')";
      if (sqlite3_exec(into, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
        return weir::error{weir::errc::sink_failed, sqlite3_errmsg(into)};
      return weir::success();
    };
  }

  std::vector<std::string> effects() override {
    file_access file{path()};
    std::vector<std::string> all;
    if (file.number("SELECT COUNT(*) FROM sqlite_schema WHERE name = 'effects'") == 0)
      return all;
    for (auto left = file.number("SELECT COUNT(*) FROM effects"); left > 0; --left)
      all.push_back(
        file.bytes("SELECT CAST(what AS BLOB) FROM effects ORDER BY rowid LIMIT 1 OFFSET " + std::to_string(all.size())));
    return all;
  }

private:
  std::filesystem::path path() const { return directory_ / "log.db"; }

  static std::int64_t block_of(file_access& file, const std::string& topic, std::uint32_t shard, std::int64_t offset) {
    const auto at = file.number("SELECT at FROM weir_shard WHERE shard = " + std::to_string(shard)
                                + " AND topic = (SELECT id FROM weir_topic WHERE name = '" + topic + "')");
    return file.number("SELECT MAX(place) FROM weir_block WHERE place BETWEEN " + std::to_string(at << 42) + " AND "
                       + std::to_string((at << 42) + offset));
  }

  adapter_tests::scratch_directory directory_;
  place_options how_;
};

} // namespace

const char* implementation_name() noexcept {
  return "sqlite";
}

std::unique_ptr<log_place> new_place(place_options how) {
  return std::make_unique<sqlite_place>(how);
}

} // namespace log_suite
