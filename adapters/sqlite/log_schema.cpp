#include "log_schema.hpp"

#include <boost/outcome/try.hpp>

#include <array>
#include <cstring>
#include <utility>

namespace weir::sqlite_log {

namespace {

constexpr std::int64_t application = 0x5745524c; // "WERL"

/// Names and texts as sqlite_schema keeps them: what opens a log compares them.
constexpr std::array<std::pair<const char*, const char*>, 10> tables{{
  {"weir_log",
    "CREATE TABLE weir_log(one INTEGER PRIMARY KEY CHECK(one = 1), store INTEGER NOT NULL, created INTEGER NOT NULL, "
    "\"check\" INTEGER NOT NULL)"},
  {"weir_topic", "CREATE TABLE weir_topic(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, epoch INTEGER NOT NULL, "
                 "shards INTEGER NOT NULL, dedupe_horizon INTEGER NOT NULL, trimmed_snapshots INTEGER NOT NULL, "
                 "\"check\" INTEGER NOT NULL)"},
  {"weir_shard", "CREATE TABLE weir_shard(at INTEGER PRIMARY KEY, topic INTEGER NOT NULL, shard INTEGER NOT NULL, "
                 "earliest INTEGER NOT NULL, head INTEGER NOT NULL, before BLOB NOT NULL, last BLOB NOT NULL, "
                 "bytes INTEGER NOT NULL, time INTEGER NOT NULL, \"check\" INTEGER NOT NULL, UNIQUE(topic, shard))"},
  {"weir_block",
    "CREATE TABLE weir_block(place INTEGER PRIMARY KEY, bytes INTEGER NOT NULL, before BLOB NOT NULL, heads BLOB NOT NULL, "
    "records BLOB NOT NULL)"},
  {"weir_dedupe", "CREATE TABLE weir_dedupe(topic INTEGER NOT NULL, number INTEGER NOT NULL, key BLOB NOT NULL, "
                  "shard INTEGER NOT NULL, first INTEGER NOT NULL, print BLOB NOT NULL, \"check\" INTEGER NOT NULL, "
                  "PRIMARY KEY(topic, key)) WITHOUT ROWID"},
  {"weir_checkpoint", "CREATE TABLE weir_checkpoint(topic INTEGER NOT NULL, consumer TEXT NOT NULL, offsets BLOB NOT NULL, "
                      "metadata BLOB NOT NULL, revision INTEGER NOT NULL, time INTEGER NOT NULL, expired INTEGER NOT NULL, "
                      "\"check\" INTEGER NOT NULL, PRIMARY KEY(topic, consumer)) WITHOUT ROWID"},
  {"weir_pin", "CREATE TABLE weir_pin(id INTEGER PRIMARY KEY AUTOINCREMENT, topic INTEGER NOT NULL, offsets BLOB NOT NULL, "
               "until INTEGER NOT NULL)"},
  {"weir_snapshot", "CREATE TABLE weir_snapshot(id INTEGER PRIMARY KEY AUTOINCREMENT, topic INTEGER NOT NULL, "
                    "offsets BLOB NOT NULL, chains BLOB NOT NULL, chunks INTEGER NOT NULL, bytes INTEGER NOT NULL, "
                    "digest BLOB NOT NULL, time INTEGER NOT NULL, finished INTEGER NOT NULL, \"check\" INTEGER NOT NULL)"},
  {"weir_chunk", "CREATE TABLE weir_chunk(snapshot INTEGER NOT NULL, number INTEGER NOT NULL, chunk BLOB NOT NULL, "
                 "digest BLOB NOT NULL, PRIMARY KEY(snapshot, number))"},
  {"weir_repair", "CREATE TABLE weir_repair(place INTEGER PRIMARY KEY, count INTEGER NOT NULL, why TEXT NOT NULL, "
                  "time INTEGER NOT NULL, \"check\" INTEGER NOT NULL)"},
}};

constexpr const char* dedupe_index = "CREATE INDEX weir_dedupe_number ON weir_dedupe(topic, number)";

result<std::int64_t> pragma(database& in, const char* sql) {
  BOOST_OUTCOME_TRY(auto query, in.prepare(sql));
  BOOST_OUTCOME_TRY(const auto has_row, query.step());
  return has_row ? query.number(0) : 0;
}

result<void> check_table(database& in, const std::filesystem::path& path, const char* name, const char* text) {
  BOOST_OUTCOME_TRY(const auto found, in.look_up("SELECT sql FROM sqlite_schema WHERE name = ?1", name));
  if (!found)
    return error{errc::not_a_log, path.string() + " is no whole log: the table " + name + " is missing",
      {{"path", path.string()}, {"table", name}}};
  if (*found != text)
    return error{errc::layout_mismatch, path.string() + " has a table " + name + " that is not the log's",
      {{"path", path.string()}, {"table", name}}};
  return success();
}

} // namespace

row_check& row_check::add(std::int64_t number) noexcept {
  std::array<char, sizeof number> bytes{};
  std::memcpy(bytes.data(), &number, sizeof number);
  value_ = crc32c({bytes.data(), bytes.size()}, value_);
  return *this;
}

row_check& row_check::add(std::string_view bytes) noexcept {
  add(static_cast<std::int64_t>(bytes.size()));
  value_ = crc32c(bytes, value_);
  return *this;
}

std::string packed(const std::vector<std::int64_t>& offsets) {
  std::string bytes(offsets.size() * sizeof(std::int64_t), '\0');
  std::memcpy(bytes.data(), offsets.data(), bytes.size());
  return bytes;
}

std::vector<std::int64_t> unpacked(std::string_view bytes) {
  std::vector<std::int64_t> offsets(bytes.size() / sizeof(std::int64_t));
  std::memcpy(offsets.data(), bytes.data(), offsets.size() * sizeof(std::int64_t));
  return offsets;
}

error damaged_row(const std::filesystem::path& path, std::string_view table, std::string_view which) {
  return error{errc::corrupt,
    path.string() + " is damaged: a row of its table " + std::string{table} + " is not what was written",
    {{"path", path.string()}, {"table", std::string{table}}, {"row", std::string{which}}}};
}

error not_a_log(const std::filesystem::path& path, const std::string& why) {
  return error{errc::not_a_log, path.string() + " is no log: " + why, {{"path", path.string()}}};
}

result<bool> is_empty(database& in) {
  BOOST_OUTCOME_TRY(const auto some, in.look_up("SELECT name FROM sqlite_schema LIMIT 1"));
  return !some.has_value();
}

result<void> make_tables(database& in, const std::filesystem::path& path, std::uint64_t store, std::int64_t now) {
  BOOST_OUTCOME_TRY(const auto empty, is_empty(in));
  if (!empty)
    return not_a_log(path, "it has other tables, and a log begins in a file of its own");
  for (const auto& [name, text] : tables) {
    BOOST_OUTCOME_TRY(in.run(text));
  }
  BOOST_OUTCOME_TRY(in.run(dedupe_index));
  BOOST_OUTCOME_TRY(auto insert, in.prepare("INSERT INTO weir_log VALUES(1, ?1, ?2, ?3)"));
  insert.bind(1, store);
  insert.bind(2, now);
  insert.bind(3, row_check{}.add(store).add(now).value());
  BOOST_OUTCOME_TRY(insert.step());
  BOOST_OUTCOME_TRY(in.run(("PRAGMA application_id = " + std::to_string(application)).c_str()));
  return in.run(("PRAGMA user_version = " + std::to_string(format)).c_str());
}

result<std::uint64_t> check_tables(database& in, const std::filesystem::path& path) {
  BOOST_OUTCOME_TRY(const auto owner, pragma(in, "PRAGMA application_id"));
  if (owner == 0) {
    BOOST_OUTCOME_TRY(const auto empty, is_empty(in));
    if (empty)
      return not_a_log(path, "it is empty").with("holds", "nothing");
  }
  BOOST_OUTCOME_TRY(const auto found, pragma(in, "PRAGMA user_version"));
  if (owner != application)
    return not_a_log(path, "it is another program's database");
  if (found > format)
    return error{errc::newer_format,
      path.string() + " is a log of format " + std::to_string(found) + ", and this program knows format "
        + std::to_string(format) + ": a newer one reads it",
      {{"path", path.string()}, {"format", std::to_string(found)}, {"expected", std::to_string(format)}}};
  if (found != format)
    return not_a_log(path, "its format is " + std::to_string(found) + ", and there is none of that number");
  for (const auto& [name, text] : tables) {
    BOOST_OUTCOME_TRY(check_table(in, path, name, text));
  }
  BOOST_OUTCOME_TRY(check_table(in, path, "weir_dedupe_number", dedupe_index));
  BOOST_OUTCOME_TRY(const auto trigger,
    in.look_up("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND substr(lower(tbl_name), 1, 5) = 'weir_' LIMIT 1"));
  if (trigger)
    return not_a_log(path, "somebody has put the trigger " + as_identifier(*trigger) + " on its tables");
  BOOST_OUTCOME_TRY(auto row, in.prepare("SELECT store, created, \"check\" FROM weir_log WHERE one = 1"));
  BOOST_OUTCOME_TRY(const auto has_row, row.step());
  if (!has_row || row.number(2) != row_check{}.add(row.number(0)).add(row.number(1)).value())
    return damaged_row(path, "weir_log", "1");
  return row.whole_number(0);
}

} // namespace weir::sqlite_log
