#include <weir/cursor.hpp>

#include "log_fixture.hpp"

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace {

using namespace weir::cli::test;
namespace json = boost::json;

/// A command line for each command that takes a log; create makes one, and refuses what is there and is none.
const std::vector<std::vector<std::string>> on_a_log{{"append"}, {"read"}, {"tail"}, {"head"}, {"trim", "--through", "0"},
  {"snapshot"}, {"snapshot", "--list"}, {"snapshot", "--read", "1"}, {"checkpoints"}, {"checkpoints", "--drop", "x"},
  {"checkpoints", "--set", "x", "--to", "0"}, {"verify"}, {"repair"}};

/// What each command says of a file, which must be the same.
std::string said_of(const log_fixture& here, const std::string& file, bool create_too = true) {
  std::string sentence;
  auto commands = on_a_log;
  if (create_too)
    commands.push_back({"create"});
  for (auto words : commands) {
    const auto prefix = "weir log " + words.front() + ": ";
    words.push_back(file);
    const auto refused = here.run(words);
    CHECK_MESSAGE(refused.end == exited(2), prefix, refused.errors);
    CHECK(refused.output.empty());
    REQUIRE_MESSAGE(refused.errors.starts_with(prefix), refused.errors);
    const auto rest = refused.errors.substr(prefix.size());
    if (sentence.empty())
      sentence = rest;
    CHECK_MESSAGE(rest == sentence, prefix);
  }
  return sentence;
}

TEST_CASE("what is no log is refused by every command, and left as it is") {
  const log_fixture here;
  put(here / "text", "once upon a time\n");
  put(here / "empty", "");
  std::filesystem::create_directory(here / "folder");
  here.sql("other.db", "CREATE TABLE notes(text)");
  const auto other = content_of(here / "other.db");

  CHECK(said_of(here, "text") == "text is no log: it is no SQLite database (code=not_a_log)\n");
  CHECK(said_of(here, "empty", false) == "empty is no log: it is empty (code=not_a_log, holds=nothing)\n");
  CHECK(said_of(here, "folder") == "folder is no regular file (code=invalid_argument)\n");
  CHECK(said_of(here, "other.db") == "other.db is no log: it is another program's database (code=not_a_log)\n");
  CHECK(said_of(here, "none.db", false)
        == "there is no file none.db: No such file or directory (code=not_found); \"weir log create\" makes a log\n");
  CHECK(content_of(here / "text") == "once upon a time\n");
  CHECK(content_of(here / "empty").empty());
  CHECK(content_of(here / "other.db") == other);
  CHECK_FALSE(std::filesystem::exists(here / "none.db"));
  const auto folder = here.run({"create", "none/a.db"});
  CHECK(folder.end == exited(2));
  CHECK(folder.errors.find("there is no directory none") != std::string::npos);
}

TEST_CASE("a log of a newer format, or with a table that is not the log's, is refused by every command") {
  const log_fixture here;
  here.done({"create", "newer.db"});
  here.sql("newer.db", "PRAGMA user_version = 2");
  CHECK(said_of(here, "newer.db")
        == "newer.db is a log of format 2, and this program knows format 1: a newer one reads it (code=newer_format, format=2, "
           "expected=1)\n");
  here.done({"create", "foreign.db"});
  here.sql("foreign.db", "DROP TABLE weir_pin; CREATE TABLE weir_pin(mine)");
  CHECK(said_of(here, "foreign.db") == "foreign.db has a table weir_pin that is not the log's (code=layout_mismatch)\n");
  here.done({"create", "lacking.db"});
  here.sql("lacking.db", "DROP TABLE weir_repair");
  CHECK(said_of(here, "lacking.db") == "lacking.db is no whole log: the table weir_repair is missing (code=not_a_log)\n");
}

TEST_CASE("cursors that are not of this topic, or not what was printed, are refused wherever one is taken") {
  const log_fixture here;
  here.done({"create", "a.db"});
  here.done({"append", "a.db"}, numbered_lines(3));
  here.done({"create", "b.db"});
  here.done({"append", "b.db"}, numbered_lines(3));
  const auto good = here.head("a.db");
  const auto of_topic =
    json::value_to<std::string>(json::parse(here.done({"create", "b.db", "--topic", "other", "--json"})).at("cursor"));
  auto changed = good;
  changed[changed.size() - 10] = changed[changed.size() - 10] == '2' ? '1' : '2';
  const std::vector<std::pair<std::string, std::string>> wrong{
    {here.head("a.db").substr(0, good.size() - 2), "code=invalid_cursor"},
    {changed, "the checksum does not fit: the cursor was cut or changed (code=invalid_cursor"},
    {"w1:" + good, "code=invalid_cursor"},
    {"w2" + good.substr(2), "no cursor of a version that is known here (code=invalid_cursor"},
    {"nonsense", "code=invalid_cursor"},
    {"-2", "an offset is a number from -1 to 2^62, and -2 is none (code=invalid_cursor)"},
    {"99999999999999999999", "an offset is a number from -1 to 2^62"},
    {of_topic, "the cursor is of another store (code=wrong_source"},
  };
  const auto refuses = [&](std::vector<std::string> words, const std::string& part) {
    const auto refused = here.run(words);
    CHECK_MESSAGE(refused.end == exited(2), refused.errors);
    CHECK_MESSAGE(refused.errors.find(part) != std::string::npos, refused.errors);
    CHECK(refused.output.empty());
  };
  for (const auto& [cursor, part] : wrong) {
    refuses({"read", "a.db", "--after", cursor}, part);
    refuses({"tail", "a.db", "--after", cursor}, part);
    refuses({"trim", "a.db", "--force", "--through", cursor}, part);
    refuses({"snapshot", "a.db", "--at", cursor}, part);
    refuses({"checkpoints", "a.db", "--set", "x", "--to", cursor}, part);
  }
  refuses({"read", "b.db", "--topic", "main", "--after", of_topic}, "the cursor is of another topic (code=wrong_source");
  refuses({"read", "a.db", "--after", "3"}, "the cursor is beyond the shard's head (code=ahead_of_head");
  here.done({"trim", "a.db", "--force", "--through", "1"});
  refuses({"read", "a.db", "--after", "0"}, "what follows the cursor is not retained any more (code=cursor_expired");
  CHECK(here.done({"read", "a.db", "--after", "1"}) == "line 3\n");
  CHECK(here.done({"read", "a.db"}) == "line 3\n");
}

TEST_CASE("a cursor of another epoch is refused") {
  const log_fixture here;
  here.done({"create", "a.db"});
  here.done({"append", "a.db"}, numbered_lines(3));
  // One that this store's topic might have printed in its second epoch: made with the program's own code.
  auto at = weir::parse_cursor(here.head("a.db")).value();
  at.epoch = 2;
  const auto refused = here.run({"read", "a.db", "--after", weir::to_text(at)});
  CHECK(refused.end == exited(2));
  CHECK_MESSAGE(
    refused.errors == "weir log read: the cursor is of another epoch of the topic (code=stale_epoch, given=2, expected=1)\n",
    refused.errors);
}

TEST_CASE("output that can't be written ends every command that prints with 1") {
  const log_fixture here;
  here.done({"create", "a.db"});
  here.done({"append", "a.db"}, numbered_lines(3));
  here.done({"snapshot", "a.db"}, "state");
  here.done({"checkpoints", "a.db", "--set", "x", "--to", "0"});
  for (const auto* words : {"create b.db", "append a.db", "read a.db", "read --json a.db", "tail --after -1 a.db", "head a.db",
         "trim a.db --through -1", "snapshot a.db", "snapshot --list a.db", "snapshot --read 1 a.db", "checkpoints a.db",
         "verify a.db", "repair a.db"}) {
    const auto full = here.shell(std::string{"echo x | weir log "} + words + " >/dev/full");
    CHECK_MESSAGE(full.end == exited(1), words);
    CHECK_MESSAGE(full.errors.starts_with("weir: can't write to standard output: No space left on device\n"), words);
    const auto closed = here.shell("rm -f b.db*; echo x | weir log " + std::string{words} + " >&-");
    CHECK_MESSAGE(closed.end == exited(1), words);
    CHECK_MESSAGE(
      closed.errors.starts_with("weir: can't write to standard output: it is closed, or open for reading only\n"), words);
  }
}

TEST_CASE("an option of the environment that is absurd is refused by name") {
  const log_fixture here;
  here.done({"create", "a.db"});
  const auto refused = here.shell("WEIR_SQLITE_READERS=0 weir log read a.db");
  CHECK(refused.end == exited(2));
  CHECK(refused.errors == "weir log read: WEIR_SQLITE_READERS is a number from 1 to 64 (code=invalid_argument, given=0)\n");
}

} // namespace
