#include "../jsonl/batches.hpp"
#include "../jsonl/scratch.hpp"
#include "sqlite_store.hpp"
#include "table_reader.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <map>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <vector>

using namespace adapter_tests;
using weir::errc;
using weir::lane_item;
using weir::sqlite_sink_options;
using weir::sqlite_store;

namespace {

sqlite_sink_options options_for(const std::filesystem::path& path, std::vector<std::string> collections = {}) {
  return {.path = path, .pipeline = "p", .lane = "search", .collections = std::move(collections)};
}

/// Both open() and check() fail alike, and say something.
weir::error refusal_of(const sqlite_sink_options& options) {
  const auto checked = sqlite_store::check(options);
  const auto opened = sqlite_store{options}.open();
  REQUIRE_FALSE(checked);
  REQUIRE_FALSE(opened);
  CHECK(checked.error() == opened.error().code());
  CHECK(checked.error().sentence() == opened.error().sentence());
  CHECK_FALSE(opened.error().sentence().empty());
  return opened.error();
}

std::vector<std::string> files_in(const std::filesystem::path& directory) {
  std::vector<std::string> names;
  for (const auto& one : std::filesystem::directory_iterator{directory})
    names.push_back(one.path().filename().string() + ":" + read_file(one.path()));
  std::sort(names.begin(), names.end());
  return names;
}

void make_database(const std::filesystem::path& path, std::vector<lane_item> items) {
  sqlite_store store{options_for(path)};
  REQUIRE(store.open());
  REQUIRE(store.write(items));
  REQUIRE(store.flush());
}

} // namespace

TEST_CASE("paths that can't hold a database are refused with their reason") {
  const scratch_directory scratch;
  CHECK(refusal_of(options_for(scratch / "no/such/out.db")) == errc::not_found);
  write_file(scratch / "file", "x");
  CHECK(refusal_of(options_for(scratch / "file/out.db")) == errc::not_found);
  CHECK(refusal_of(options_for(scratch.path())) == errc::invalid_argument);
  CHECK(refusal_of(options_for("")) == errc::invalid_argument);
  CHECK(refusal_of(options_for(":memory:")) == errc::invalid_argument);
  const auto fifo = scratch / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(refusal_of(options_for(fifo)) == errc::invalid_argument);
}

TEST_CASE("a file or a directory that may not be written is refused by the sink") {
  const scratch_directory scratch;
  std::filesystem::permissions(scratch.path(), std::filesystem::perms{0777});
  make_database(scratch / "sealed.db", {live(at(1, 1), {upsert("c", "a", "1")})});
  std::filesystem::permissions(scratch / "sealed.db", std::filesystem::perms{0444});
  std::filesystem::create_directory(scratch / "sealed");
  std::filesystem::permissions(scratch / "sealed", std::filesystem::perms{0555});
  const without_rights dropped;
  if (!dropped.is_on_for("a file or a directory that may not be written is refused by the sink"))
    return;
  CHECK(refusal_of(options_for(scratch / "sealed.db")) == errc::permission_denied);
  CHECK(refusal_of(options_for(scratch / "sealed/new.db")) == errc::permission_denied);
}

TEST_CASE("what is no database is refused and left alone") {
  const scratch_directory scratch;
  const auto path = scratch / "out.db";
  for (const auto& content : {std::string{"xy"}, std::string{"hello, this is text\n"}, std::string(5000, 'x'),
         std::string(100'000, '\0'), "SQLite format 3" + std::string(1, '\0') + std::string(5000, 'x')}) {
    write_file(path, content);
    CAPTURE(content.substr(0, 20));
    CAPTURE(content.size());
    const auto refusal = refusal_of(options_for(path));
    CHECK(refusal == errc::corrupt);
    CHECK(read_file(path) == content);
    CHECK(files_in(scratch.path()).size() == 1);
  }
  write_file(path, "");
  CHECK(sqlite_store::check(options_for(path))); // an empty file is an empty database
  CHECK(sqlite_store{options_for(path)}.open());
}

TEST_CASE("another pipeline's database is refused, with both names") {
  const scratch_directory scratch;
  const auto path = scratch / "out.db";
  make_database(path, {live(at(1, 1), {upsert("c", "a", "1")})});
  const auto before = files_in(scratch.path());
  auto options = options_for(path);
  options.pipeline = "other";
  const auto refusal = refusal_of(options);
  CHECK(refusal == errc::wrong_owner);
  CHECK(refusal.fact_of("pipeline") == "other");
  CHECK(refusal.fact_of("found_pipeline") == "p");
  options = options_for(path);
  options.lane = "audit";
  const auto second = refusal_of(options);
  CHECK(second == errc::wrong_owner);
  CHECK(second.fact_of("lane") == "audit");
  CHECK(second.fact_of("found_lane") == "search");
  CHECK(files_in(scratch.path()) == before);
}

TEST_CASE("who opens a database to write fences who wrote to it before") {
  const scratch_directory scratch;
  const auto path = scratch / "out.db";
  sqlite_store first{options_for(path)};
  REQUIRE(first.open());
  const std::vector<lane_item> one{live(at(1, 1), {upsert("c", "a", "1")})};
  REQUIRE(first.write(one));
  REQUIRE(first.flush());
  sqlite_store second{options_for(path)};
  REQUIRE(second.open());
  const std::vector<lane_item> two{live(at(1, 2), {upsert("c", "a", "from the first")})};
  REQUIRE(first.write(two));
  const auto fenced = first.flush();
  REQUIRE_FALSE(fenced);
  CHECK(fenced.error() == errc::fenced);
  CHECK(fenced.error().fact_of("path") == path.native());
  CHECK(first.flush().error() == errc::closed);
  const std::vector<lane_item> again{live(at(1, 2), {upsert("c", "a", "from the second")})};
  REQUIRE(second.write(again));
  REQUIRE(second.flush());
  CHECK(table_reader{path}.rows("c") == std::map<std::string, std::string>{{"a", "from the second"}});
}

TEST_CASE("of two pipelines that find no database and both make one, the slower is refused") {
  const scratch_directory scratch;
  const auto path = scratch / "out.db";
  auto other = options_for(path);
  other.pipeline = "other";
  constexpr int rounds = 30;
  for (int round = 0; round < rounds; ++round) {
    std::filesystem::remove(path);
    std::barrier start{2};
    std::array<std::optional<weir::errc>, 2> outcomes;
    const auto run = [&](std::size_t number, const sqlite_sink_options& options) {
      sqlite_store store{options};
      start.arrive_and_wait();
      if (auto opened = store.open(); !opened)
        outcomes.at(number) = opened.error().code();
      start.arrive_and_wait();
    };
    std::thread racing{run, 1, other};
    run(0, options_for(path));
    racing.join();
    const auto& refused = outcomes[0] ? outcomes[0] : outcomes[1];
    REQUIRE((outcomes[0].has_value() != outcomes[1].has_value()));
    const bool is_expected = refused == errc::wrong_owner || refused == errc::in_use;
    CHECK_MESSAGE(is_expected, std::string{name_of(*refused)});
  }
}

TEST_CASE("another format is refused, and says which") {
  const scratch_directory scratch;
  const auto path = scratch / "out.db";
  make_database(path, {});
  for (const auto* found : {"1", "3"}) {
    table_reader{path}.run("UPDATE weir_lane SET format = " + std::string{found});
    const auto refusal = refusal_of(options_for(path));
    CHECK(refusal == errc::unsupported);
    CHECK(refusal.fact_of("format") == found);
    CHECK(refusal.fact_of("expected") == "2");
  }
  table_reader{path}.run("UPDATE weir_lane SET format = 0");
  CHECK(refusal_of(options_for(path)) == errc::corrupt);
  table_reader{path}.run("DROP TABLE weir_lane; CREATE TABLE weir_lane(x)");
  CHECK(refusal_of(options_for(path)) == errc::corrupt);
}

TEST_CASE("tables that the sink did not make are not its own") {
  const scratch_directory scratch;
  const auto path = scratch / "out.db";
  {
    const table_reader user{path};
    user.run("CREATE TABLE Files(name, size); INSERT INTO Files VALUES('a', 1); CREATE VIEW v AS SELECT * FROM Files");
  }
  const auto before = files_in(scratch.path());
  const auto refusal = refusal_of(options_for(path, {"files"}));
  CHECK(refusal == errc::wrong_owner);
  CHECK(refusal.fact_of("collection") == "files");
  CHECK(refusal.fact_of("found") == "Files");
  CHECK(refusal_of(options_for(path, {"v"})) == errc::wrong_owner);
  CHECK(files_in(scratch.path()) == before);

  // Where collections are not named, it shows when one comes; beside others the sink may live.
  sqlite_store store{options_for(path)};
  REQUIRE(store.open());
  REQUIRE(store.write(std::vector<lane_item>{live(at(1, 1), {upsert("c", "a", "1")})}));
  REQUIRE(store.flush());
  CHECK(store.write(std::vector<lane_item>{live(at(1, 2), {upsert("c", "a", "2"), upsert("files", "a", "1")})}).error()
        == errc::wrong_owner);
  REQUIRE(store.open());
  const table_reader user{path};
  CHECK(user.query("SELECT * FROM Files") == std::vector<std::string>{"a|1"});
  CHECK(user.rows("c") == std::map<std::string, std::string>{{"a", "1"}});
  // A table of its own that has lost its columns.
  user.run("DROP TABLE c; CREATE TABLE c(key)");
  CHECK(store.open().error() == errc::wrong_owner);
}

TEST_CASE("collections that differ only in case are refused") {
  const scratch_directory scratch;
  const auto path = scratch / "out.db";
  make_database(path, {live(at(1, 1), {upsert("files", "a", "1")})});
  CHECK(refusal_of(options_for(path, {"Files"})) == errc::invalid_argument);
  for (const auto* name : {"", "sqlite_a", "weir_a", "\xFF"})
    CHECK(refusal_of(options_for(path, {name})) == errc::invalid_argument);
  CHECK(sqlite_store{options_for(scratch / "new.db", {"a", "A"})}.open().error() == errc::rejected);
}

TEST_CASE("a database in another encoding is refused") {
  const scratch_directory scratch;
  const auto path = scratch / "out.db";
  table_reader{path}.run("PRAGMA encoding = 'UTF-16'; CREATE TABLE x(y)");
  CHECK(refusal_of(options_for(path)) == errc::unsupported);
}

TEST_CASE("checking leaves no trace") {
  const scratch_directory scratch;
  const auto path = scratch / "out.db";
  REQUIRE(sqlite_store::check(options_for(path, {"c"})));
  CHECK(files_in(scratch.path()).empty());
  make_database(path, {live(at(1, 1), {upsert("c", "a", "1")})});
  auto before = files_in(scratch.path());
  CHECK(before.size() == 1);
  REQUIRE(sqlite_store::check(options_for(path, {"c", "d"})));
  CHECK(files_in(scratch.path()) == before);
  // And while it is open, with a log beside it; then nothing but the shared memory's read marks may move.
  sqlite_store store{options_for(path)};
  REQUIRE(store.open());
  const auto content = read_file(path);
  const auto log = read_file(path.string() + "-wal");
  REQUIRE(sqlite_store::check(options_for(path)));
  auto other = options_for(path);
  other.pipeline = "other";
  CHECK(sqlite_store::check(other).error() == errc::wrong_owner);
  CHECK(read_file(path) == content);
  CHECK(read_file(path.string() + "-wal") == log);
  REQUIRE(store.write(std::vector<lane_item>{live(at(1, 2), {upsert("c", "a", "2")})}));
  REQUIRE(store.flush());
  const auto odd = scratch / "odd name?#%41.db";
  make_database(odd, {});
  REQUIRE(sqlite_store::check(options_for(odd)));
  CHECK_FALSE(std::filesystem::exists(scratch / "odd name"));
}

TEST_CASE("a full disk is reported by the sink, nothing of the flush is there, and it goes on when there is room again") {
  const small_disk disk{4U << 20U};
  if (!disk.is_there_for(
        "a full disk is reported by the sink, nothing of the flush is there, and it goes on when there is room again"))
    return;
  const auto path = disk / "out.db";
  sqlite_store store{options_for(path)};
  REQUIRE(store.open());
  REQUIRE(store.write(std::vector<lane_item>{live(at(1, 1), {upsert("c", "first", "1")})}));
  REQUIRE(store.flush());
  for (const auto room : {0U, 8192U, 100'000U, 400'000U}) {
    CAPTURE(room);
    disk.fill(room);
    auto seq = std::uint64_t{2};
    auto failed = weir::result<void>{weir::success()};
    while (failed && seq < 5000) {
      const std::vector<lane_item> items{
        live(at(1, seq), {upsert("c", std::to_string(seq), std::string(500, 'x')), upsert("c", "last", std::to_string(seq))})};
      if (auto written = store.write(items); !written)
        failed = written.error();
      else if (seq % 10 == 0)
        failed = store.flush();
      ++seq;
    }
    REQUIRE_FALSE(failed);
    CHECK(failed.error() == errc::storage_full);
    disk.empty();
    const auto opened = store.open();
    REQUIRE(opened);
    // Either nothing of a flush is there, or all of it.
    const auto committed = opened.value().committed->seq;
    const table_reader reader{path};
    CHECK(reader.query("PRAGMA integrity_check") == std::vector<std::string>{"ok"});
    CHECK((committed == 1 || committed % 10 == 0));
    CHECK(reader.rows("c").size() == (committed == 1 ? 1 : committed + 1));
    if (committed > 1)
      CHECK(reader.rows("c")["last"] == std::to_string(committed));
    std::vector<weir::envelope> erasures{erase("c", "last")};
    for (std::uint64_t key = 2; key <= 5000; ++key)
      erasures.push_back(erase("c", std::to_string(key)));
    REQUIRE(store.write(std::vector<lane_item>{live(at(1, 100'000 + room), erasures)}));
    REQUIRE(store.flush());
    REQUIRE(store.write(std::vector<lane_item>{}));
    reader.run("UPDATE weir_lane SET seq = 1");
    REQUIRE(store.open());
  }
}
