#include "log_fixture.hpp"

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include <string>

namespace {

using namespace weir::cli::test;
namespace json = boost::json;

json::object first_object(const std::string& lines) {
  return json::parse(lines_of(lines).at(0)).as_object();
}

/// What was printed of an entry, without what differs from log to log.
std::vector<json::object> entries_of(const std::string& lines) {
  std::vector<json::object> all;
  for (const auto& line : lines_of(lines)) {
    auto one = json::parse(line).as_object();
    CHECK(one.erase("cursor") == 1);
    CHECK(one.erase("time") == 1);
    all.push_back(std::move(one));
  }
  return all;
}

TEST_CASE("create makes a log, and further topics in it") {
  const log_fixture here;
  CHECK(here.done({"create", "a.db"}).starts_with("created the topic \"main\" in a.db: 1 shard, cursor w1:"));
  const auto made =
    first_object(here.done({"create", "a.db", "--topic", "orders", "--shards", "3", "--dedupe-horizon", "9", "--json"}));
  CHECK(made.at("topic") == "orders");
  CHECK(made.at("shards") == 3);
  CHECK(made.at("dedupe_horizon") == 9);
  for (const auto* shards : {"3", "1"}) {
    const auto again = here.run({"create", "a.db", "--topic", "orders", "--shards", shards});
    CHECK(again.end == exited(2));
    CHECK(again.output.empty());
    CHECK(again.errors == "weir log create: the topic \"orders\" is there already in a.db (code=invalid_argument)\n");
  }
  const auto heads = lines_of(here.done({"head", "a.db"}));
  REQUIRE(heads.size() == 6);
  CHECK(heads[0] == "main shard 0: earliest 0, head 0, 0 entries, 0 B");
  CHECK(heads[1].starts_with("main cursor: w1:"));
  CHECK(heads[4] == "orders shard 2: earliest 0, head 0, 0 entries, 0 B");
  CHECK(lines_of(here.done({"head", "a.db", "--topic", "main"})).size() == 2);
  CHECK(lines_of(here.done({"head", "a.db", "--json"})).size() == 2);
}

TEST_CASE("append takes lines as they are, and read gives them back") {
  const log_fixture here;
  here.done({"create", "a.db"});
  const std::string lines{"first\n\n\xff\xfe \0 \r\nno line feed", 27};
  const auto stored = here.done({"append", "a.db"}, lines);
  CHECK(stored == "stored 4 entries, cursor " + here.head("a.db") + "\n");
  CHECK(here.done({"read", "a.db"}) == lines + "\n");
  const auto nothing = here.done({"append", "a.db"});
  CHECK(nothing == "stored 0 entries, cursor " + here.head("a.db") + "\n");
  const auto report = first_object(here.done({"append", "a.db", "--json", "--key", "k"}, "x\n"));
  CHECK(report.at("stored") == 1);
  CHECK(report.at("cursor") == json::value(here.head("a.db")));
  const auto entries = entries_of(here.done({"read", "a.db", "--json"}));
  REQUIRE(entries.size() == 5);
  CHECK(entries[0] == json::parse(R"({"shard":0,"offset":0,"payload":"first"})").as_object());
  CHECK(entries[2] == json::parse(R"({"shard":0,"offset":2,"payload_base64":"//4gACAN"})").as_object());
  CHECK(entries[4] == json::parse(R"({"shard":0,"offset":4,"key":"k","payload":"x"})").as_object());
}

TEST_CASE("append prints where each entry is, once it is there") {
  const log_fixture here;
  here.done({"create", "a.db", "--shards", "2"});
  const auto stored = here.done({"append", "a.db", "--offsets", "--shard", "1"}, "a\nb\n");
  CHECK(stored == "1:0\n1:1\nstored 2 entries, cursor " + here.head("a.db") + "\n");
  const auto lines = lines_of(here.done({"append", "a.db", "--offsets", "--json", "--shard", "1", "--jsonl"},
    "{\"payload\":\"c\"}\n\n{\"payload\":\"d\",\"shard\":0}\n"));
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] == R"({"line":1,"shard":1,"offset":2})");
  CHECK(lines[1] == R"({"line":3,"shard":0,"offset":0})");
}

TEST_CASE("what read prints as JSON can be appended to another log: bytes, keys, shards and dedupe keys") {
  const log_fixture here;
  here.done({"create", "a.db", "--shards", "3"});
  here.done({"create", "b.db", "--shards", "3"});
  std::string lines;
  for (int number = 0; number < 3000; ++number)
    lines += "{\"payload_base64\":\"/w==\",\"key\":\"k" + std::to_string(number % 7) + "\",\"dedupe\":\"d"
             + std::to_string(number) + "\"}\n{\"payload\":\"" + std::to_string(number) + "\"}\n";
  CHECK(here.done({"append", "a.db", "--jsonl"}, lines).starts_with("stored 6,000 entries, "));
  const auto piped = here.shell("weir log read a.db --json | weir log append b.db --jsonl");
  CHECK(piped.end == exited(0));
  CHECK(piped.output.starts_with("stored 6,000 entries, "));
  const auto from = entries_of(here.done({"read", "a.db", "--json"}));
  CHECK(from.size() == 6000);
  CHECK(from == entries_of(here.done({"read", "b.db", "--json"})));
  // Once more: what has a dedupe key is there already.
  CHECK(here.done({"append", "a.db", "--jsonl"}, lines).starts_with("stored 3,000 entries, 3,000 more were there already, "));
}

TEST_CASE("read goes from a cursor or an offset, over all shards or one, up to a limit") {
  const log_fixture here;
  here.done({"create", "a.db"});
  here.done({"append", "a.db"}, numbered_lines(10));
  CHECK(here.done({"read", "a.db", "--after", "7"}) == "line 9\nline 10\n");
  CHECK(here.done({"read", "a.db", "--after", "-1", "--limit", "1"}) == "line 1\n");
  CHECK(here.done({"read", "a.db", "--after", here.head("a.db")}).empty());
  const auto third = json::parse(lines_of(here.done({"read", "a.db", "--json"})).at(2)).as_object();
  CHECK(here.done({"read", "a.db", "--limit", "2", "--after", json::value_to<std::string>(third.at("cursor"))})
        == "line 4\nline 5\n");

  here.done({"create", "b.db", "--shards", "2"});
  for (const auto* shard : {"1", "0", "1"})
    here.done({"append", "b.db", "--shard", shard}, std::string{"to "} + shard + "\n");
  CHECK(here.done({"read", "b.db"}) == "to 0\nto 1\nto 1\n");
  CHECK(here.done({"read", "b.db", "--shard", "1"}) == "to 1\nto 1\n");
  CHECK(here.done({"read", "b.db", "--limit", "2"}) == "to 0\nto 1\n");
  // Each entry's cursor goes on behind it, whatever its shard.
  const auto objects = lines_of(here.done({"read", "b.db", "--json"}));
  REQUIRE(objects.size() == 3);
  const auto cursor = json::value_to<std::string>(json::parse(objects[1]).at("cursor"));
  CHECK(here.done({"read", "b.db", "--after", cursor}) == "to 1\n");
}

TEST_CASE("read prints a large log whole") {
  const log_fixture here;
  here.done({"create", "a.db"});
  const auto lines = numbered_lines(100'000);
  here.done({"append", "a.db"}, lines);
  CHECK(here.done({"read", "a.db"}) == lines);
  CHECK(here.shell("weir log read a.db | head -n 2").output == "line 1\nline 2\n");
  CHECK(here.shell("weir log read a.db | head -n 2").end == exited(0));
}

TEST_CASE("trim drops what a snapshot covers, and says who held it back and who lost something") {
  const log_fixture here;
  here.done({"create", "a.db"});
  here.done({"append", "a.db"}, numbered_lines(10));
  const auto bare = here.run({"trim", "a.db", "--through", "4"});
  CHECK(bare.end == exited(1));
  CHECK(bare.errors
        == "weir log trim: no snapshot covers what would be trimmed; make one, or force it (code=not_covered, topic=main, "
           "best_snapshot=none); \"weir log snapshot\" makes one, --force does without\n");
  here.done({"snapshot", "a.db", "--at", "4"}, "state");
  CHECK(here.done({"trim", "a.db", "--through", "4"}) == "main shard 0: 5 entries went; earliest 5, head 10\n");
  CHECK(here.done({"trim", "a.db", "--through", "4"}) == "main shard 0: nothing went; earliest 5, head 10\n");
  here.done({"checkpoints", "a.db", "--set", "search", "--to", "6"});
  CHECK(here.done({"trim", "a.db", "--through", here.head("a.db"), "--force", "--hold-entries", "3"})
        == "main shard 0: 2 entries went; earliest 7, head 10\n"
           "main less went than was asked for, for the sake of \"search\"\n");
  CHECK(first_object(here.done({"trim", "a.db", "--through", "8", "--force", "--hold-bytes", "1", "--json"}))
        == json::parse(R"({"topic":"main","shards":[{"shard":0,"went":2,"earliest":9,"head":10}],"held_by":[],
             "expired":["search"]})")
          .as_object());
  CHECK(here.done({"checkpoints", "a.db"}).starts_with("search: expired, 1 entry behind ("));
  CHECK(here.done({"read", "a.db"}) == "line 10\n");
  const auto beyond = here.run({"trim", "a.db", "--through", "10", "--force"});
  CHECK(beyond.end == exited(2));
  CHECK(beyond.errors.find("code=ahead_of_head") != std::string::npos);
}

TEST_CASE("a snapshot is stored in chunks, listed, and read back byte for byte") {
  const log_fixture here;
  here.done({"create", "a.db"});
  here.done({"append", "a.db"}, numbered_lines(3));
  std::string state;
  for (std::uint32_t number = 0; state.size() < 2'500'000; ++number)
    state += static_cast<char>(number * 2'654'435'761U >> 24);
  const auto stored = here.done({"snapshot", "a.db"}, state);
  CHECK(stored.starts_with("1: 2.4 MiB in 3 chunks, "));
  CHECK(stored.ends_with(", cursor " + here.head("a.db") + "\n"));
  CHECK(here.done({"snapshot", "a.db", "--read", "1"}) == state);
  CHECK(first_object(here.done({"snapshot", "a.db", "--at", "0", "--json"})).at("bytes") == 0);
  CHECK(here.done({"snapshot", "a.db", "--read", "2"}).empty());
  CHECK(lines_of(here.done({"snapshot", "a.db", "--list"})).size() == 2);
  CHECK(first_object(here.done({"snapshot", "a.db", "--list", "--json"})).at("chunks") == 3);
  const auto none = here.run({"snapshot", "a.db", "--read", "3"});
  CHECK(none.end == exited(2));
  CHECK(none.errors.find("code=no_snapshot") != std::string::npos);

  here.sql("a.db", "UPDATE weir_chunk SET chunk = zeroblob(length(chunk)) WHERE snapshot = 1 AND number = 1");
  const auto damaged = here.run({"snapshot", "a.db", "--read", "1"});
  CHECK(damaged.end == exited(1));
  CHECK(damaged.errors.find("code=snapshot_corrupt") != std::string::npos);
  CHECK(damaged.output == state.substr(0, 1U << 20));
}

TEST_CASE("checkpoints are listed, moved by a person, and dropped") {
  const log_fixture here;
  here.done({"create", "a.db"});
  here.done({"append", "a.db"}, numbered_lines(5));
  CHECK(here.done({"checkpoints", "a.db"}).empty());
  CHECK(here.done({"checkpoints", "a.db", "--set", "search", "--to", "3"}).starts_with("new: search: 1 entry behind ("));
  CHECK(here.done({"checkpoints", "a.db", "--set", "search", "--to", "1"}).starts_with("search: 3 entries behind ("));
  here.done({"checkpoints", "a.db", "--set", "audit", "--to", here.head("a.db")});
  const auto all = lines_of(here.done({"checkpoints", "a.db"}));
  REQUIRE(all.size() == 2);
  CHECK(all[0] == "audit: up to date, revision 1, cursor " + here.head("a.db"));
  CHECK(all[1].find("revision 2, cursor w1:") != std::string::npos);
  const auto object = first_object(here.done({"checkpoints", "a.db", "--json"}));
  CHECK(object.at("consumer") == "audit");
  CHECK(object.at("lag").at("entries") == 0);
  CHECK(here.done({"checkpoints", "a.db", "--drop", "audit"}).starts_with("dropped audit: up to date, revision 1, cursor "));
  const auto gone = here.run({"checkpoints", "a.db", "--drop", "audit"});
  CHECK(gone.end == exited(2));
  CHECK(gone.errors == "weir log checkpoints: there is no consumer \"audit\"; there are: \"search\" (code=invalid_argument)\n");
  const auto beyond = here.run({"checkpoints", "a.db", "--set", "search", "--to", "5"});
  CHECK(beyond.end == exited(2));
  CHECK(beyond.errors.find("code=ahead_of_head") != std::string::npos);
}

TEST_CASE("a log with several topics, or none, wants to know which") {
  const log_fixture here;
  here.done({"create", "a.db", "--topic", "one"});
  CHECK(here.done({"append", "a.db"}, "x\n").find(":one:") != std::string::npos);
  here.done({"create", "a.db", "--topic", "two"});
  const auto which = here.run({"read", "a.db"});
  CHECK(which.end == exited(2));
  CHECK(which.errors
        == "weir log read: the log has several topics, and --topic says which: \"one\", \"two\" (code=invalid_argument)\n");
  CHECK(here.done({"read", "a.db", "--topic", "one"}) == "x\n");
  const auto unknown = here.run({"read", "a.db", "--topic", "three"});
  CHECK(unknown.end == exited(2));
  CHECK(unknown.errors
        == "weir log read: the store has no topic of that name (code=unknown_topic, topic=three, known=\"one, two\")\n");
  const auto shard = here.run({"read", "a.db", "--topic", "one", "--shard", "1"});
  CHECK(shard.end == exited(2));
  CHECK(shard.errors.find("the topic has no shard of that number") != std::string::npos);
}

} // namespace
