#include "lane_record.hpp"

#include <weir/utf8.hpp>

#include <algorithm>

namespace weir {

namespace {

constexpr std::int64_t format = 2; // 1 had no writer
constexpr std::size_t longest_name = 255;

constexpr const char* own_tables = R"(
CREATE TABLE IF NOT EXISTS weir_lane(
  one INTEGER PRIMARY KEY CHECK(one = 1),
  format INTEGER NOT NULL,
  pipeline TEXT NOT NULL,
  lane TEXT NOT NULL,
  writer INTEGER NOT NULL DEFAULT 0,
  epoch INTEGER,
  seq INTEGER,
  stamp BLOB,
  time INTEGER,
  ends_transaction INTEGER,
  seeded_epoch INTEGER,
  generation INTEGER NOT NULL DEFAULT 0,
  request TEXT,
  request_epoch INTEGER,
  walked BLOB
);
CREATE TABLE IF NOT EXISTS weir_collection(name TEXT PRIMARY KEY NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS weir_gone(collection TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY(collection, key)) WITHOUT ROWID;
)";

result<void> check_row(statement& row, const lane_owner& owner, const std::filesystem::path& path) {
  if (const auto found = row.number(0); found != format)
    return error{found > 0 ? errc::unsupported : errc::corrupt,
      path.string() + " was written in format " + std::to_string(found) + ", and this program knows format "
        + std::to_string(format),
      {{"path", path.string()}, {"format", std::to_string(found)}, {"expected", std::to_string(format)}}};
  auto pipeline = row.bytes(1);
  auto lane = row.bytes(2);
  if (pipeline == owner.pipeline && lane == owner.lane)
    return success();
  return error{errc::wrong_owner,
    path.string() + " belongs to the sink \"" + lane + "\" of the pipeline \"" + pipeline + "\", not to \"" + owner.lane
      + "\" of \"" + owner.pipeline + "\"",
    {{"path", path.string()}, {"pipeline", owner.pipeline}, {"lane", owner.lane}, {"found_pipeline", std::move(pipeline)},
      {"found_lane", std::move(lane)}}};
}

std::optional<std::uint64_t> optional_number(const statement& row, int column) {
  if (row.is_null(column))
    return std::nullopt;
  return row.whole_number(column);
}

} // namespace

result<void> check_owner(database& opened, const lane_owner& owner, const std::filesystem::path& path) {
  auto encoding = opened.look_up("PRAGMA encoding");
  if (!encoding)
    return std::move(encoding).error();
  if (encoding.value() != "UTF-8")
    return error{errc::unsupported,
      path.string() + " is encoded in " + encoding.value().value_or("nothing") + ", and keys need UTF-8",
      {{"path", path.string()}, {"expected", "UTF-8"}}};
  auto is_there = opened.look_up("SELECT name FROM sqlite_schema WHERE name = 'weir_lane'");
  if (!is_there)
    return std::move(is_there).error();
  if (!is_there.value())
    return success();
  auto select = opened.prepare("SELECT format, pipeline, lane FROM weir_lane");
  if (!select)
    return error{errc::corrupt, path.string() + " has a table weir_lane that is not the sink's", {{"path", path.string()}}};
  auto has_row = select.value().step();
  if (!has_row)
    return std::move(has_row).error();
  return has_row.value() ? check_row(select.value(), owner, path) : success();
}

result<void> make_own_tables(database& opened, const lane_owner& owner, const std::filesystem::path& path) {
  if (auto made = opened.run(own_tables); !made)
    return made;
  auto insert = opened.prepare("INSERT OR IGNORE INTO weir_lane(one, format, pipeline, lane) VALUES(1, ?1, ?2, ?3)");
  if (!insert)
    return std::move(insert).error();
  insert.value().bind(1, format);
  insert.value().bind_text(2, owner.pipeline);
  insert.value().bind_text(3, owner.lane);
  auto done = insert.value().step();
  if (!done)
    return std::move(done).error();
  if (auto ours = check_owner(opened, owner, path); !ours) // somebody else was faster
    return ours;
  return opened.run("UPDATE weir_lane SET writer = writer + 1");
}

result<lane_record> read_record(database& opened) {
  auto select =
    opened.prepare("SELECT epoch, seq, stamp, time, ends_transaction, seeded_epoch, generation, request, request_epoch, "
                   "walked, writer FROM weir_lane");
  if (!select)
    return std::move(select).error();
  auto& row = select.value();
  auto has_row = row.step();
  if (!has_row)
    return std::move(has_row).error();
  lane_record record;
  if (!has_row.value())
    return record;
  if (!row.is_null(0)) {
    auto made = stamp::from(row.bytes(2));
    if (!made)
      return error{errc::corrupt, "the table weir_lane holds a stamp that is too long"};
    record.committed = position{row.whole_number(0), row.whole_number(1), made.value(), row.number(3), row.number(4) != 0};
  }
  record.seeded_epoch = optional_number(row, 5);
  record.generation = row.whole_number(6);
  record.writer = row.whole_number(10);
  if (!row.is_null(7)) {
    const auto request = parse_request_id(row.bytes(7));
    if (!request)
      return error{errc::corrupt, "the table weir_lane holds a request that is none"};
    record.backfill = backfill_record{*request, row.whole_number(8), std::nullopt};
    if (!row.is_null(9))
      record.backfill->walked = row.bytes(9);
  }
  return record;
}

result<statement> prepare_store(database& opened) {
  return opened.prepare(
    "UPDATE weir_lane SET epoch = ?1, seq = ?2, stamp = ?3, time = ?4, ends_transaction = ?5, seeded_epoch = ?6, "
    "generation = ?7, request = ?8, request_epoch = ?9, walked = ?10 WHERE writer = ?11 RETURNING writer");
}

result<void> store_record(statement& prepared, const lane_record& record) {
  const auto& at = record.committed;
  for (auto parameter = 1; parameter <= 10; ++parameter)
    prepared.bind_null(parameter);
  prepared.bind(11, record.writer);
  if (at) {
    prepared.bind(1, at->epoch);
    prepared.bind(2, at->seq);
    prepared.bind_blob(3, at->stamp.bytes());
    prepared.bind(4, at->time);
    prepared.bind(5, std::int64_t{at->ends_transaction});
  }
  if (record.seeded_epoch)
    prepared.bind(6, *record.seeded_epoch);
  prepared.bind(7, record.generation);
  std::string request;
  if (record.backfill) {
    request = to_string(record.backfill->request);
    prepared.bind_text(8, request);
    prepared.bind(9, record.backfill->epoch);
    if (record.backfill->walked)
      prepared.bind_blob(10, *record.backfill->walked);
  }
  auto is_ours = prepared.step();
  if (!is_ours)
    return std::move(is_ours).error();
  prepared.reset();
  if (!is_ours.value())
    return error{errc::fenced, "another run has opened this sink's database since, and writes to it now"};
  return success();
}

result<void> check_collection_name(std::string_view name) {
  std::string_view wrong;
  std::string_view expected = "another beginning";
  const auto begins_with = [&](std::string_view start) {
    const auto are_alike = [](char left, char right) { return (left | 0x20) == (right | 0x20); };
    return name.size() >= start.size() && std::equal(start.begin(), start.end(), name.begin(), are_alike);
  };
  if (name.empty()) {
    wrong = "it is empty";
    expected = "a name that is not empty";
  } else if (name.size() > longest_name) {
    wrong = "it is too long";
    expected = "a name of at most 255 bytes";
  } else if (!is_utf8(name) || name.find('\0') != std::string_view::npos) {
    wrong = "it is not UTF-8, or holds a NUL byte";
    expected = "UTF-8 without NUL";
  } else if (begins_with("sqlite_")) {
    wrong = "it begins with sqlite_, which is SQLite's own";
  } else if (begins_with("weir_")) {
    wrong = "it begins with weir_, which is the sink's own";
  } else {
    return success();
  }
  return error{errc::invalid_argument, "a collection of this name can't be a table: " + std::string{wrong},
    {{"collection", std::string{name.substr(0, longest_name)}}, {"expected", std::string{expected}}}};
}

result<std::vector<std::string>> list_collections(database& opened) {
  auto select = opened.prepare("SELECT name FROM weir_collection ORDER BY name");
  if (!select)
    return std::move(select).error();
  std::vector<std::string> names;
  for (;;) {
    auto has_row = select.value().step();
    if (!has_row)
      return std::move(has_row).error();
    if (!has_row.value())
      return names;
    names.push_back(select.value().bytes(0));
  }
}

} // namespace weir
