#include "../core/seeds.hpp"
#include "../jsonl/batches.hpp"
#include "../jsonl/scratch.hpp"
#include "sqlite_store.hpp"
#include "table_reader.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

using namespace adapter_tests;
using namespace std::string_literals;
using weir::errc;
using weir::lane_item;
using weir::request;
using weir::request_id;
using weir::snapshot_complete;
using weir::sqlite_sink_options;
using weir::sqlite_store;

namespace {

using rows = std::map<std::string, std::string>;
using strings = std::vector<std::string>;

sqlite_sink_options options_for(const std::filesystem::path& path) {
  return {.path = path, .pipeline = "p", .lane = "search", .collections = {}};
}

/// Writes and flushes; nothing may be rejected.
void put(sqlite_store& store, const std::vector<lane_item>& items) {
  const auto written = store.write(items);
  if (!written)
    FAIL(written.error().to_string());
  REQUIRE(written.value().rejected.empty());
  REQUIRE_FALSE(written.value().try_later);
  const auto flushed = store.flush();
  if (!flushed)
    FAIL(flushed.error().to_string());
}

weir::sink_state open(sqlite_store& store) {
  const auto opened = store.open();
  if (!opened)
    FAIL(opened.error().to_string());
  return opened.value();
}

request ask(std::uint64_t id, std::optional<std::string> after = {}) {
  request asked;
  asked.id = {7, id};
  asked.sink = "search";
  asked.collections = {"c"};
  asked.after = std::move(after);
  return asked;
}

snapshot_complete marker(std::uint64_t id, strings collections = {"c"}) {
  return {request_id{7, id}, std::move(collections)};
}

weir::batch chunk(std::uint64_t id, std::vector<weir::envelope> of, std::string walked) {
  return snapshot({7, id}, std::move(of), std::move(walked));
}

} // namespace

TEST_CASE("changes become rows, with their position, and the lane's state is there after opening again") {
  const scratch_directory scratch;
  const auto path = scratch / "out.db";
  {
    sqlite_store store{options_for(path)};
    CHECK(store.write({}).error() == errc::closed);
    CHECK(store.flush().error() == errc::closed);
    const auto state = open(store);
    CHECK_FALSE(state.committed);
    CHECK_FALSE(state.seeded_epoch);
    CHECK_FALSE(state.unfinished);
    auto stamped = at(3, 12);
    stamped.stamp = weir::stamp::from("\x01\0\xFF"s).value();
    stamped.time = -5;
    put(store, {live(at(3, 11), {upsert("files", "a", "1"), upsert("files", "b", "2"), upsert("other", "a", "x")}),
                 live(stamped, {upsert("files", "README.md", R"({"mode":"100644"})"), erase("files", "b"),
                                 erase("files", "never there")})});
    const table_reader reader{path};
    CHECK(reader.query("SELECT key, payload, position, epoch FROM files ORDER BY key")
          == strings{R"(README.md|{"mode":"100644"}|12|3)", "a|1|11|3"});
    CHECK(reader.query("SELECT json_extract(payload, '$.mode') FROM files WHERE key = 'README.md'") == strings{"100644"});
    CHECK(reader.query("SELECT key FROM other") == strings{"a"});
    CHECK(reader.query("PRAGMA journal_mode") == strings{"wal"});
  }
  sqlite_store store{options_for(path)};
  const auto state = open(store);
  REQUIRE(state.committed);
  CHECK(*state.committed == at(3, 12));
  CHECK(state.committed->stamp.bytes() == "\x01\0\xFF"s);
  CHECK(state.committed->time == -5);
  CHECK(state.committed->ends_transaction);
}

TEST_CASE("keys and payloads are kept byte for byte") {
  const scratch_directory scratch;
  const auto path = scratch / "out.db";
  const rows expected{{"", ""}, {"a\0b"s, "\0"s}, {"quote'\"", "it's"}, {"new\nline", "\n"}, {"\xFF\xFE", "\x80"},
    {"gr\xC3\xBC\xC3\x9F", "\xC3\xBC"}, {"a", "text"}, {"A", "other case"}, {"1", "1"}, {"01", "01"}};
  sqlite_store store{options_for(path)};
  open(store);
  std::vector<weir::envelope> changes;
  for (const auto& [key, payload] : expected)
    changes.push_back(upsert("c", key, payload));
  put(store, {live(at(1, 1), changes)});
  const table_reader reader{path};
  CHECK(reader.rows("c") == expected);
  CHECK(reader.query("SELECT typeof(payload) FROM c WHERE key IN ('a', '1', 'new\nline')") == strings{"text", "text", "text"});
  CHECK(reader.query("SELECT typeof(payload) FROM c WHERE key = CAST(x'FFFE' AS TEXT)") == strings{"blob"});
  CHECK(reader.query("SELECT DISTINCT typeof(key) FROM c") == strings{"text"});
  std::vector<weir::envelope> erasures;
  for (const auto& [key, payload] : expected)
    erasures.push_back(erase("c", key));
  put(store, {live(at(1, 2), erasures)});
  CHECK(reader.rows("c").empty());
  auto without_payload = upsert("c", "k", "");
  without_payload.payload.reset();
  put(store, {live(at(1, 3), {without_payload})});
  CHECK(reader.rows("c") == rows{{"k", "NULL"}});
}

TEST_CASE("a collection may be called almost anything") {
  const scratch_directory scratch;
  const auto path = scratch / "out.db";
  sqlite_store store{options_for(path)};
  open(store);
  const strings names{"a\"b", "a'b", "select", "with space", "a;DROP TABLE weir_lane", "\xC3\xBC", "new\nline", "1", "[x]",
    std::string(255, 'n'), "sqlite", "weir", "-- "};
  std::uint64_t seq = 0;
  for (const auto& name : names)
    put(store, {live(at(1, ++seq), {upsert(name, "k", name)})});
  const table_reader reader{path};
  for (const auto& name : names)
    CHECK(reader.rows(name) == rows{{"k", name}});
  CHECK(reader.query("SELECT count(*) FROM weir_lane") == strings{"1"});
}

TEST_CASE("records that no table can take are rejected, and the others go on") {
  const scratch_directory scratch;
  const auto path = scratch / "out.db";
  sqlite_store store{options_for(path)};
  open(store);
  const strings bad{"", std::string(256, 'n'), "sqlite_x", "SQLite_x", "weir_lane", "WEIR_x", "\xFF", "a\0b"s};
  std::vector<weir::envelope> changes{upsert("c", "first", "1")};
  for (const auto& name : bad)
    changes.push_back(upsert(name, "k", "1"));
  changes.push_back(upsert("C", "k", "1")); // differs from "c" in case only
  changes.push_back(upsert("c", "last", "1"));
  const std::vector<lane_item> items{live(at(1, 1), {upsert("c", "before", "1")}), live(at(1, 2), changes)};
  const auto written = store.write(items);
  REQUIRE(written);
  REQUIRE(written.value().rejected.size() == bad.size() + 1);
  std::size_t expected = 1;
  for (const auto& one : written.value().rejected) {
    CHECK(one.item == 1);
    CHECK(one.envelope == expected++);
    CHECK(one.reason == errc::rejected);
    CHECK_FALSE(one.reason.sentence().empty());
  }
  REQUIRE(store.flush());
  const table_reader reader{path};
  CHECK(reader.rows("c") == rows{{"before", "1"}, {"first", "1"}, {"last", "1"}});
}

TEST_CASE("a record that a trigger of the user's refuses is rejected") {
  const scratch_directory scratch;
  const auto path = scratch / "out.db";
  sqlite_store store{options_for(path)};
  open(store);
  put(store, {live(at(1, 1), {upsert("c", "a", "1")})});
  const table_reader reader{path};
  reader.run("CREATE TRIGGER no_b BEFORE INSERT ON c WHEN new.key = 'b' BEGIN SELECT RAISE(ABORT, 'no b here'); END");
  const std::vector<lane_item> items{live(at(1, 2), {upsert("c", "x", "1"), upsert("c", "b", "1"), upsert("c", "z", "1")})};
  const auto written = store.write(items);
  REQUIRE(written);
  REQUIRE(written.value().rejected.size() == 1);
  CHECK(written.value().rejected[0].envelope == 1);
  CHECK(written.value().rejected[0].reason.sentence().find("no b here") != std::string::npos);
  REQUIRE(store.flush());
  CHECK(reader.rows("c") == rows{{"a", "1"}, {"x", "1"}, {"z", "1"}});
  // A trigger that takes the whole transaction with it is no matter of one record.
  reader.run("DROP TRIGGER no_b");
  reader.run("CREATE TRIGGER no_c BEFORE INSERT ON c WHEN new.key = 'c' BEGIN SELECT RAISE(ROLLBACK, 'no c here'); END");
  const std::vector<lane_item> more{live(at(1, 3), {upsert("c", "y", "1"), upsert("c", "c", "1")})};
  CHECK(store.write(more).error() == errc::rejected);
  CHECK(reader.rows("c").size() == 3);
  CHECK(store.flush().error() == errc::closed);
}

TEST_CASE("only the selected collections are written, and theirs are there at once") {
  const scratch_directory scratch;
  const auto path = scratch / "out.db";
  auto options = options_for(path);
  options.collections = {"a", "b"};
  sqlite_store store{options};
  open(store);
  const table_reader reader{path};
  CHECK(reader.rows("b").empty());
  put(store, {live(at(1, 1), {upsert("a", "k", "1"), upsert("c", "k", "1"), upsert("", "k", "1")})});
  REQUIRE(store.begin_backfill(ask(1), 1));
  put(store, {chunk(1, {upsert("a", "l", "2"), upsert("c", "l", "2")}, "l"), marker(1, {"a", "b", "c"})});
  CHECK(reader.rows("a") == rows{{"l", "2"}}); // "k" came before the backfill began, and not in it
  CHECK(reader.query("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'weir%' ORDER BY name")
        == strings{"a", "b"});
}

TEST_CASE("what was not flushed is not there") {
  const scratch_directory scratch;
  const auto path = scratch / "out.db";
  const std::vector<lane_item> first{live(at(1, 1), {upsert("c", "a", "1")})};
  const std::vector<lane_item> second{live(at(1, 2), {upsert("c", "a", "2"), upsert("d", "b", "1")})};
  {
    sqlite_store store{options_for(path)};
    open(store);
    put(store, first);
    REQUIRE(store.write(second));
    CHECK(table_reader{path}.rows("c") == rows{{"a", "1"}});
  } // killed
  sqlite_store store{options_for(path)};
  CHECK(*open(store).committed == at(1, 1));
  CHECK(table_reader{path}.rows("c") == rows{{"a", "1"}});
  put(store, first);
  put(store, second);
  CHECK(table_reader{path}.rows("c") == rows{{"a", "2"}});
}

TEST_CASE("what comes again has no second effect, whatever the batches") {
  const scratch_directory scratch;
  const auto path = scratch / "out.db";
  sqlite_store store{options_for(path)};
  open(store);
  put(store, {live(at(1, 5), {upsert("c", "a", "5"), upsert("c", "b", "5")}), live(at(1, 6), {erase("c", "b")})});
  const table_reader reader{path};
  reader.run("CREATE TABLE log(what)"); // sees every write
  for (const auto* event : {"INSERT", "UPDATE", "DELETE"})
    reader.run("CREATE TRIGGER log_"s + event + " AFTER " + event + " ON c BEGIN INSERT INTO log VALUES('" + event + "'); END");
  put(store, {live(at(1, 5), {upsert("c", "a", "5"), upsert("c", "b", "5")})});
  put(store, {live(at(1, 6), {erase("c", "b")})});
  put(store, {live(at(1, 4), {upsert("c", "a", "4")}), live(at(0, 9), {upsert("c", "a", "0")})});
  // A batch that holds old and new transactions.
  weir::batch both;
  both.at = at(1, 7);
  both.envelopes = weir::make_block({upsert("c", "b", "5"), erase("c", "b"), upsert("c", "z", "7")},
    {{at(1, 5), 0, 1, 1}, {at(1, 6), 1, 1, 0}, {at(1, 7), 2, 1, 0}});
  put(store, {both});
  CHECK(reader.query("SELECT what FROM log") == strings{"INSERT"});
  CHECK(reader.rows("c") == rows{{"a", "5"}, {"z", "7"}});
  CHECK(*open(store).committed == at(1, 7));
}

TEST_CASE("a transaction that was cut goes on after a crash") {
  const scratch_directory scratch;
  const auto path = scratch / "out.db";
  const lane_item first = live(at(1, 5, false), {upsert("c", "a", "1"), upsert("c", "b", "1")});
  const lane_item second = live(at(1, 5, false), {upsert("c", "a", "2")}, 2);
  const lane_item last = live(at(1, 5), {erase("c", "b"), upsert("c", "d", "1")}, 3);
  {
    sqlite_store store{options_for(path)};
    open(store);
    put(store, {first, second});
    CHECK(table_reader{path}.rows("c") == rows{{"a", "2"}, {"b", "1"}});
  }
  sqlite_store store{options_for(path)};
  const auto state = open(store);
  CHECK(*state.committed == at(1, 5));
  CHECK_FALSE(state.committed->ends_transaction);
  SUBCASE("replayed from its start") {
    put(store, {first, second, last});
  }
  SUBCASE("replayed in one piece") {
    put(store, {live(at(1, 5), {upsert("c", "a", "1"), upsert("c", "b", "1"), upsert("c", "a", "2"), erase("c", "b"),
                                 upsert("c", "d", "1")})});
  }
  SUBCASE("only the rest comes") {
    put(store, {last});
  }
  CHECK(table_reader{path}.rows("c") == rows{{"a", "2"}, {"d", "1"}});
  put(store, {first, second, last});
  CHECK(table_reader{path}.rows("c") == rows{{"a", "2"}, {"d", "1"}});
  CHECK(open(store).committed->ends_transaction);
}

TEST_CASE("empty batches carry the position through") {
  const scratch_directory scratch;
  const auto path = scratch / "out.db";
  sqlite_store store{options_for(path)};
  open(store);
  weir::batch bare;
  bare.at = at(1, 3);
  put(store, {live(at(1, 2), {}), bare});
  CHECK(*open(store).committed == at(1, 3));
  put(store, {live(at(2, 0), {})});
  CHECK(*open(store).committed == at(2, 0));
  const auto most = std::numeric_limits<std::uint64_t>::max();
  put(store, {live(at(most, most), {upsert("c", "a", "1")})});
  CHECK(*open(store).committed == at(most, most));
  put(store, {live(at(1, 7), {upsert("c", "a", "old")})});
  CHECK(table_reader{path}.rows("c") == rows{{"a", "1"}});
}

TEST_CASE("a backfill replaces what was there, and what nothing touched goes with its marker") {
  const scratch_directory scratch;
  const auto path = scratch / "out.db";
  sqlite_store store{options_for(path)};
  open(store);
  put(store, {live(at(1, 1),
               {upsert("c", "a", "old"), upsert("c", "b", "old"), upsert("c", "gone", "old"), upsert("d", "other", "1")})});
  REQUIRE(store.begin_backfill(ask(1), 1));
  auto state = open(store); // durable at once
  REQUIRE(state.unfinished);
  CHECK(state.unfinished->request == request_id{7, 1});
  CHECK_FALSE(state.unfinished->walked);
  put(store, {chunk(1, {upsert("c", "a", "new")}, "a")});
  CHECK(open(store).unfinished->walked == "a");
  put(store, {live(at(1, 2), {upsert("c", "live", "1")}), chunk(1, {upsert("c", "b", "old")}, "b")});
  const table_reader reader{path};
  CHECK(reader.rows("c").count("gone") == 1); // until the marker
  put(store, {marker(1)});
  CHECK(reader.rows("c") == rows{{"a", "new"}, {"b", "old"}, {"live", "1"}});
  CHECK(reader.rows("d") == rows{{"other", "1"}}); // not asked for
  CHECK(reader.query("SELECT key, position FROM c ORDER BY key") == strings{"a|1", "b|2", "live|2"});
  state = open(store);
  CHECK(state.seeded_epoch == 1);
  CHECK_FALSE(state.unfinished);
}

TEST_CASE("a snapshot's row never takes a live change back, not even after a crash") {
  const scratch_directory scratch;
  const auto path = scratch / "out.db";
  const lane_item rows_of_snapshot =
    chunk(1, {upsert("c", "deleted", "old"), upsert("c", "changed", "old"), upsert("c", "same", "1")}, "same");
  const lane_item change = live(at(1, 2), {erase("c", "deleted"), upsert("c", "changed", "new")});
  const rows expected{{"changed", "new"}, {"same", "1"}};
  sqlite_store store{options_for(path)};
  open(store);
  put(store, {live(at(1, 1), {upsert("c", "deleted", "old")})});
  REQUIRE(store.begin_backfill(ask(1), 1));
  put(store, {rows_of_snapshot, change});
  // Applied, flushed, not acknowledged: all of it comes again, and the change is known already.
  open(store);
  put(store, {rows_of_snapshot, change});
  const table_reader reader{path};
  CHECK(reader.rows("c") == expected);
  open(store);
  put(store, {rows_of_snapshot});
  CHECK(reader.rows("c") == expected);
  put(store, {marker(1), rows_of_snapshot, marker(1)});
  CHECK(reader.rows("c") == expected);
  CHECK(reader.query("SELECT count(*) FROM weir_gone") == strings{"0"});
  put(store, {live(at(1, 3), {erase("c", "same")})});
  CHECK(reader.query("SELECT count(*) FROM weir_gone") == strings{"0"}); // only in a backfill
  // The next backfill knows better again.
  REQUIRE(store.begin_backfill(ask(2), 1));
  put(
    store, {chunk(2, {upsert("c", "deleted", "2"), upsert("c", "changed", "2"), upsert("c", "same", "2")}, "same"), marker(2)});
  CHECK(reader.rows("c") == rows{{"deleted", "2"}, {"changed", "2"}, {"same", "2"}});
}

TEST_CASE("batches and markers of a request that was superseded are passed over") {
  const scratch_directory scratch;
  const auto path = scratch / "out.db";
  sqlite_store store{options_for(path)};
  open(store);
  put(store, {live(at(1, 1), {upsert("c", "a", "1"), upsert("c", "gone", "1")})});
  put(store, {chunk(9, {upsert("c", "stray", "1")}, "z"), marker(9)}); // none was asked for
  REQUIRE(store.begin_backfill(ask(1), 1));
  put(store, {chunk(1, {upsert("c", "gone", "1")}, "gone")});
  REQUIRE(store.begin_backfill(ask(2), 1));
  put(store, {chunk(1, {upsert("c", "gone", "1"), upsert("c", "stray", "1")}, "z"), marker(1)});
  auto state = open(store);
  CHECK_FALSE(state.seeded_epoch);
  CHECK(state.unfinished->request == request_id{7, 2});
  CHECK_FALSE(state.unfinished->walked);
  put(store, {chunk(2, {upsert("c", "a", "2")}, "a"), marker(2), marker(1)});
  state = open(store);
  CHECK(state.seeded_epoch == 1);
  CHECK(table_reader{path}.rows("c") == rows{{"a", "2"}});
}

TEST_CASE("a backfill is resumed where it stopped, and what it had walked stays") {
  const scratch_directory scratch;
  const auto path = scratch / "out.db";
  sqlite_store store{options_for(path)};
  open(store);
  put(store,
    {live(at(1, 1), {upsert("c", "a", "1"), upsert("c", "b", "1"), upsert("c", "gone", "1"), upsert("c", "live", "1")})});
  REQUIRE(store.begin_backfill(ask(1), 1));
  put(store, {chunk(1, {upsert("c", "a", "2")}, "a"), live(at(1, 2), {erase("c", "live")})});
  const auto state = open(store);
  CHECK(store.begin_backfill(ask(2, "b"), 1).error() == errc::invalid_argument); // not walked to
  CHECK(store.begin_backfill(ask(1, "a"), 2).error() == errc::invalid_argument); // another epoch's
  SUBCASE("by the same request") {
    REQUIRE(store.begin_backfill(ask(1, state.unfinished->walked), 1));
    put(store, {chunk(1, {upsert("c", "b", "2"), upsert("c", "live", "1")}, "live"), marker(1)});
  }
  SUBCASE("by another request") {
    REQUIRE(store.begin_backfill(ask(3, state.unfinished->walked), 1));
    put(store, {chunk(1, {upsert("c", "gone", "1")}, "gone"),
                 chunk(3, {upsert("c", "b", "2"), upsert("c", "live", "1")}, "live"), marker(1), marker(3)});
  }
  SUBCASE("by the same request from the start") {
    REQUIRE(store.begin_backfill(ask(1), 1));
    CHECK_FALSE(open(store).unfinished->walked);
    put(store, {chunk(1, {upsert("c", "a", "2"), upsert("c", "b", "2"), upsert("c", "live", "1")}, "live"), marker(1)});
  }
  CHECK(table_reader{path}.rows("c") == rows{{"a", "2"}, {"b", "2"}});
  CHECK(open(store).seeded_epoch == 1);
}

TEST_CASE("a backfill of an epoch that has passed is not worth resuming") {
  const scratch_directory scratch;
  const auto path = scratch / "out.db";
  sqlite_store store{options_for(path)};
  open(store);
  REQUIRE(store.begin_backfill(ask(1), 1));
  put(store, {live(at(1, 1), {upsert("c", "a", "1")}), chunk(1, {upsert("c", "b", "1")}, "b")});
  CHECK(open(store).unfinished);
  put(store, {live(at(2, 0), {})});
  const auto state = open(store);
  CHECK_FALSE(state.unfinished);
  CHECK_FALSE(state.seeded_epoch);
  REQUIRE(store.begin_backfill(ask(2), 2));
  put(store, {marker(1), chunk(2, {upsert("c", "a", "2")}, "a"), marker(2)});
  CHECK(open(store).seeded_epoch == 2);
  CHECK(table_reader{path}.rows("c") == rows{{"a", "2"}});
}

TEST_CASE("a marker makes the tables of collections that are empty") {
  const scratch_directory scratch;
  const auto path = scratch / "out.db";
  sqlite_store store{options_for(path)};
  open(store);
  REQUIRE(store.begin_backfill(ask(1), 4));
  put(store, {marker(1, {"empty", "weir_not_possible"})});
  CHECK(table_reader{path}.rows("empty").empty());
  CHECK(open(store).seeded_epoch == 4);
}

TEST_CASE("a table that was dropped is made anew, and the sink is not seeded any more") {
  const scratch_directory scratch;
  const auto path = scratch / "out.db";
  {
    sqlite_store store{options_for(path)};
    open(store);
    put(store, {live(at(1, 1), {upsert("c", "a", "1")})});
    REQUIRE(store.begin_backfill(ask(1), 1));
    put(store, {chunk(1, {upsert("c", "a", "1")}, "a"), marker(1)});
    CHECK(open(store).seeded_epoch == 1);
  }
  table_reader{path}.run("DROP TABLE c");
  sqlite_store store{options_for(path)};
  const auto state = open(store);
  CHECK_FALSE(state.seeded_epoch);
  CHECK(*state.committed == at(1, 1));
  CHECK(table_reader{path}.rows("c").empty());
}

TEST_CASE("opened, it says which collections it holds, whatever became of their rows") {
  const scratch_directory scratch;
  const auto path = scratch / "out.db";
  const auto held = [&] {
    sqlite_store store{options_for(path)};
    return open(store).collections;
  };
  {
    sqlite_store store{options_for(path)};
    CHECK(open(store).collections.empty());
    put(store, {live(at(1, 1), {upsert("b", "k", "1"), upsert("a\"'", "k", "1"), upsert("other", "k", "1")})});
    CHECK(open(store).collections == strings{"a\"'", "b", "other"});
    const std::vector<lane_item> unflushed{live(at(1, 2), {upsert("c", "k", "1")})};
    REQUIRE(store.write(unflushed));
  }
  CHECK(held() == strings{"a\"'", "b", "other"}); // what was not committed need not be looked at again
  {
    sqlite_store store{options_for(path)};
    open(store);
    put(store, {live(at(1, 2), {erase("b", "k"), erase("never", "k")})}); // a delete makes the table as well
  }
  CHECK(table_reader{path}.rows("b").empty());
  CHECK(held() == strings{"a\"'", "b", "never", "other"});
  {
    const table_reader reader{path};
    reader.run("DROP TABLE b"); // its rows have gone: that is a change, too
    reader.run("CREATE TABLE mine(x)");
  }
  CHECK(held() == strings{"a\"'", "b", "never", "other"});
  table_reader{path}.run("DROP TABLE b");
  auto options = options_for(path);
  options.collections = {"selected"}; // what was written before is still there
  sqlite_store store{options};
  CHECK(open(store).collections == strings{"a\"'", "b", "never", "other", "selected"});
}

TEST_CASE("columns, indices and tables of the user's stay") {
  const scratch_directory scratch;
  const auto path = scratch / "out.db";
  sqlite_store store{options_for(path)};
  open(store);
  put(store, {live(at(1, 1), {upsert("c", "a", R"({"n":1})")})});
  {
    const table_reader reader{path};
    reader.run("ALTER TABLE c ADD COLUMN note DEFAULT 'none'");
    reader.run("ALTER TABLE c ADD COLUMN n AS (json_extract(payload, '$.n'))");
    reader.run("CREATE INDEX c_by_n ON c(n)");
    reader.run("CREATE TABLE mine(x)");
    reader.run("UPDATE c SET note = 'kept' WHERE key = 'a'");
  }
  put(store, {live(at(1, 2), {upsert("c", "a", R"({"n":2})"), upsert("c", "b", R"({"n":3})")})});
  open(store);
  put(store, {live(at(1, 3), {upsert("c", "b", R"({"n":4})")})});
  CHECK(table_reader{path}.query("SELECT key, note, n FROM c INDEXED BY c_by_n WHERE n > 0 ORDER BY n")
        == strings{"a|kept|2", "b|none|4"});
}

TEST_CASE("while another connection writes, the sink asks to try later") {
  const scratch_directory scratch;
  const auto path = scratch / "out.db";
  sqlite_store store{options_for(path)};
  open(store);
  const table_reader other{path};
  other.run("BEGIN IMMEDIATE");
  const std::vector<lane_item> items{live(at(1, 1), {upsert("c", "a", "1")})};
  const auto written = store.write(items);
  REQUIRE(written);
  CHECK(written.value().try_later);
  CHECK(store.begin_backfill(ask(1), 1).error() == errc::in_use);
  other.run("COMMIT");
  put(store, items);
  CHECK(other.rows("c") == rows{{"a", "1"}});
  CHECK_FALSE(open(store).unfinished);
}

TEST_CASE("a batch that contradicts itself is refused, and nothing of the flush is there") {
  const scratch_directory scratch;
  const auto path = scratch / "out.db";
  sqlite_store store{options_for(path)};
  open(store);
  put(store, {live(at(1, 1), {upsert("c", "a", "1")})});
  weir::batch unsound;
  unsound.at = at(1, 3);
  unsound.envelopes = weir::make_block({upsert("c", "a", "3")}, {{at(1, 3), 0, 2, 0}});
  const std::vector<lane_item> items{live(at(1, 2), {upsert("c", "a", "2")}), unsound};
  CHECK(store.write(items).error() == errc::source_failed);
  CHECK(table_reader{path}.rows("c") == rows{{"a", "1"}});
  CHECK(*open(store).committed == at(1, 1));
  CHECK(store.write(std::vector<lane_item>{weir::batch{}}).error() == errc::position_missing);
}
