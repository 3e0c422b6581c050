#include "bus_fixture.hpp"
#include "pipeline_fixture.hpp"

#include <boost/json.hpp>
#include <doctest/doctest.h>
#include <sqlite3.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

// `weir run` with [sink.announce]: what a subscriber hears, and when.

namespace {

using namespace weir::cli::test;
using namespace std::chrono_literals;
namespace json = boost::json;

struct heard_hint {
  std::string topic;
  std::string key;
  std::string payload;
};

std::vector<heard_hint> hints_in(const process& subscriber) {
  std::vector<heard_hint> all;
  auto text = subscriber.output();
  text.resize(text.rfind('\n') + 1); // the rest may be half of a line
  for (const auto& one : objects_in(text)) {
    if (one.at("type") != "hint")
      continue;
    const auto* key = one.as_object().if_contains("key");
    all.push_back({json::value_to<std::string>(one.at("topic")), key == nullptr ? "" : json::value_to<std::string>(*key),
      json::value_to<std::string>(one.at("payload"))});
  }
  return all;
}

/// Looks at each hint as it is heard, until there are so many.
std::vector<heard_hint> hear(
  const process& subscriber, std::size_t count, const std::function<void(const heard_hint&)>& look = [](const auto&) {}) {
  std::vector<heard_hint> all;
  const bool all_came = comes_true([&] {
    auto now = hints_in(subscriber);
    for (auto seen = all.size(); seen < now.size(); ++seen)
      look(now[seen]);
    all = std::move(now);
    return all.size() >= count;
  });
  REQUIRE_MESSAGE(all_came, subscriber.output());
  return all;
}

std::vector<std::string> keys_of(const std::vector<heard_hint>& all) {
  std::vector<std::string> keys;
  for (const auto& one : all)
    keys.push_back(one.key);
  return keys;
}

std::size_t count_of(const std::string& text, std::string_view what) {
  std::size_t count = 0;
  for (auto at = text.find(what); at != text.npos; at = text.find(what, at + what.size()))
    ++count;
  return count;
}

/// A pipeline that announces, and who hears it.
struct announcing_fixture : pipeline_fixture {
  bus_fixture bus;

  /// The key `announce` of a sink.
  std::string announce(const std::string& topic, const std::string& more = "", const std::string& name = "announces") const {
    return announce_at(bus.url(name), topic, more);
  }
  std::string announce_at(const std::string& url, const std::string& topic, const std::string& more = "") const {
    return "announce = {bus = \"" + url + "\", channel = \"" + bus.channel() + "\", topic = \"" + topic + "\"" + more + "}\n";
  }

  void add_change(const std::string& key, const char* rest = "\"op\":\"upsert\",\"payload\":1") const {
    std::ofstream{*this / "changes.jsonl", std::ios::app} << "{\"collection\":\"c\",\"key\":\"" << key << "\"," << rest
                                                          << "}\n";
  }
};

/// False, too, while the database or the table is not there.
bool has_row(const std::filesystem::path& database, const std::string& key, const std::string& table = "files") {
  sqlite3* opened = nullptr;
  sqlite3_stmt* rows = nullptr;
  const auto select = "SELECT 1 FROM " + table + " WHERE key = ?";
  bool found = false;
  if (sqlite3_open_v2(database.c_str(), &opened, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK
      && sqlite3_prepare_v2(opened, select.c_str(), -1, &rows, nullptr) == SQLITE_OK) {
    sqlite3_bind_text(rows, 1, key.c_str(), -1, SQLITE_TRANSIENT);
    found = sqlite3_step(rows) == SQLITE_ROW;
  }
  sqlite3_finalize(rows);
  sqlite3_close(opened);
  return found;
}

TEST_CASE("the first hint has no key, and then there is one for each key, none before its change is in the file") {
  const announcing_fixture here;
  constexpr int changes = 200;
  here.put_changes(changes);
  here.configure_lines("follow = true\nmax_changes = 7\n", here.announce("changed/{collection}"));
  const auto heard = here.bus.subscribe({"changed/c", "--json"});
  const auto run = here.run();
  const auto is_there = [&](const heard_hint& one) {
    if (!one.key.empty())
      CHECK_MESSAGE(content_of(here / "audit.jsonl").find("\"key\":\"" + one.key + "\"") != std::string::npos, one.key);
  };
  const auto first = hear(*heard, 1 + changes, is_there);
  CHECK(first[0].key.empty());
  std::set<std::string> keys;
  for (const auto& one : first) {
    CHECK(one.topic == "changed/c");
    CHECK(keys.insert(one.key).second);
    CHECK((one.key.empty() || one.payload.starts_with("1:")));
  }
  CHECK(keys.size() == 1 + changes);
  CHECK(first.back().payload == "1:200");
  here.add_change("new");
  CHECK(keys_of(hear(*heard, 2 + changes, is_there)).back() == "new");
  here.add_change("k1", "\"op\":\"delete\"");
  const auto last = hear(*heard, 3 + changes);
  CHECK(last.size() == 3 + changes);
  CHECK(last.back().key == "k1");
  CHECK(last.back().payload == "1:202");
  run->send(SIGTERM);
  CHECK(run->wait() == exited(0));
  CHECK_MESSAGE(run->errors().find("warning") == std::string::npos, run->errors());
}

TEST_CASE("a table's rows are announced after they are in it, a backfill without their keys") {
  const announcing_fixture here;
  here.git({"version"});
  const auto commit = [&](const std::string& name) {
    put(here / ("repository/" + name), name);
    here.git({"add", "."});
    here.git({"commit", "--quiet", "--message=more"});
  };
  commit("old");
  here.configure(
    "name = \"p\"\nstate = \"state\"\n[source]\ntype = \"git\"\nrepository = \"repository\"\nfollow = true\n[[sink]]\n"
    "name = \"files\"\ntype = \"sqlite\"\npath = \"files.db\"\n"
    + here.announce("{collection}/changed"));
  const auto heard = here.bus.subscribe({"files/changed", "--json"});
  const auto run = here.run();
  CHECK(hear(*heard, 1).front().key.empty());
  REQUIRE(comes_true([&] { return has_row(here / "files.db", "old"); }));
  for (const std::string name : {"a", "b\xc3\xa4", "c"}) {
    commit(name);
    bool is_told = false;
    REQUIRE(comes_true([&] {
      for (const auto& one : hints_in(*heard))
        is_told = is_told || one.key == name;
      return is_told;
    }));
    CHECK_MESSAGE(has_row(here / "files.db", name), name);
  }
  run->send(SIGTERM);
  CHECK(run->wait() == exited(0));
}

TEST_CASE("with per = \"batch\" no hint has a key, and the last one has the last position") {
  const announcing_fixture here;
  here.put_changes(50);
  here.configure_lines("", here.announce("all", ", per = \"batch\""));
  const auto heard = here.bus.subscribe({"all", "--json"});
  const auto run = here.run();
  CHECK(run->wait() == exited(0));
  REQUIRE(comes_true([&] {
    const auto now = hints_in(*heard);
    return !now.empty() && now.back().payload == "1:50";
  }));
  for (const auto& one : hints_in(*heard))
    CHECK(one.key.empty());
}

TEST_CASE("sinks that announce at one place use one pair of connections") {
  const announcing_fixture here;
  here.put_changes(1);
  const auto sink = [](const std::string& name) {
    return "[[sink]]\nname = \"" + name + "\"\ntype = \"jsonl\"\npath = \"" + name + ".jsonl\"\n";
  };
  here.configure("name = \"p\"\nstate = \"state\"\n[source]\ntype = \"jsonl\"\npath = \"changes.jsonl\"\nfollow = true\n"
                 + sink("a") + here.announce("of/a") + sink("b") + here.announce("of/b"));
  const auto heard_a = here.bus.subscribe({"of/a", "--json"});
  const auto heard_b = here.bus.subscribe({"of/b", "--json"});
  const auto run = here.run();
  const auto a = hear(*heard_a, 2);
  const auto b = hear(*heard_b, 2);
  CHECK(a.back().key == "k1");
  CHECK(b.back().key == "k1");
  const auto publisher = [](const process& of) {
    return json::value_to<std::string>(objects_in(of.output()).front().at("publisher"));
  };
  CHECK(publisher(*heard_a) == publisher(*heard_b));
  // Those of the check, before it began, are on their way out.
  CHECK(comes_true(
    [] { return server().sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'announces'") == "2"; }));
  run->send(SIGTERM);
  CHECK(run->wait() == exited(0));
}

TEST_CASE("a server that is not there holds up nothing, is told once, and hears everything when it comes") {
  const announcing_fixture here;
  here.put_changes(3);
  here.configure_lines("follow = true\n", here.announce("changed/{collection}"));
  stopped_server stopped;
  const auto run = here.run();
  REQUIRE(comes_true([&] { return here.lines_in("audit.jsonl") == 3 && says(*run, "the bus that is announced on fails"); }));
  here.add_change("k2");
  REQUIRE(comes_true([&] { return here.lines_in("audit.jsonl") == 4; }));
  run->send(SIGSTOP); // so that it is heard
  stopped.start();
  const auto heard = here.bus.subscribe({"changed/c", "--json"});
  run->send(SIGCONT);
  const auto all = hear(*heard, 4);
  CHECK(all.front().key.empty());
  const auto keys = keys_of(all);
  CHECK(std::set<std::string>{keys.begin(), keys.end()} == std::set<std::string>{"", "k1", "k2", "k3"});
  REQUIRE(comes_true([&] { return says(*run, "the bus that is announced on goes on"); }));
  here.add_change("k5");
  REQUIRE(comes_true([&] { return hints_in(*heard).back().key == "k5"; }));
  run->send(SIGTERM);
  CHECK(run->wait() == exited(0));
  CHECK(count_of(run->errors(), "warning") == 1);
}

TEST_CASE("a run that ends with hints that nobody has heard says how many, and is no failure") {
  const announcing_fixture here;
  here.put_changes(3);
  here.configure_lines("", here.announce("changed/{collection}"));
  const stopped_server stopped;
  const auto run = here.run();
  CHECK(run->wait() == exited(0));
  CHECK(here.lines_in("audit.jsonl") == 3);
  CHECK_MESSAGE(
    says(*run, "4 hints could not be published, because the bus fails: can't connect to the server"), run->errors());
}

TEST_CASE("after a crash the first hint of each topic has no key") {
  const announcing_fixture here;
  here.put_changes(3);
  here.configure_lines("follow = true\n", here.announce("changed/{collection}"));
  {
    const auto run = here.run();
    REQUIRE(comes_true([&] { return here.lines_in("audit.jsonl") == 3; }));
    run->send(SIGKILL);
    CHECK(run->wait() == killed(SIGKILL));
  }
  const auto heard = here.bus.subscribe({"changed/c", "--json"});
  here.add_change("k4");
  const auto run = here.run();
  const auto all = hear(*heard, 2);
  CHECK(all.front().key.empty());
  REQUIRE(comes_true([&] { return hints_in(*heard).back().key == "k4"; }));
  for (std::size_t at = 1; at < all.size(); ++at)
    CHECK_FALSE(all[at].key.empty());
  run->send(SIGTERM);
  CHECK(run->wait() == exited(0));
}

TEST_CASE("after a crash a table is announced as the run begins, though nothing new comes") {
  const announcing_fixture here;
  here.put_changes(3);
  const auto configure = [&](const std::string& more) {
    here.configure("name = \"p\"\nstate = \"state\"\n[source]\ntype = \"jsonl\"\npath = \"changes.jsonl\"\n" + more
                   + "[[sink]]\nname = \"rows\"\ntype = \"sqlite\"\npath = \"rows.db\"\n"
                   + here.announce("changed/{collection}"));
  };
  configure("follow = true\n");
  {
    // Killed when the source was told that all is committed, so that nothing comes again, and no hint has got out.
    const stopped_server stopped;
    const auto run = here.run();
    REQUIRE(comes_true([&] { return content_of(here / "state/position.json").find("\"seq\":3") != std::string::npos; }));
    CHECK(has_row(here / "rows.db", "k3", "c"));
    run->send(SIGKILL);
    CHECK(run->wait() == killed(SIGKILL));
  }
  const auto heard = here.bus.subscribe({"changed/c", "--json"});
  configure("");
  for (std::size_t runs = 1; runs <= 2; ++runs) { // the second has nothing that could have been missed, and can't know
    const auto run = here.run();
    CHECK(run->wait() == exited(0));
    REQUIRE(hear(*heard, runs).back().key.empty());
  }
  here.add_change("k4");
  const auto run = here.run();
  CHECK(run->wait() == exited(0));
  CHECK(keys_of(hear(*heard, 4)) == std::vector<std::string>{"", "", "", "k4"});
}

TEST_CASE("one topic for all is announced on as a run begins, also by a sink that is a log") {
  const announcing_fixture here;
  here.put_changes(0);
  here.configure_lines("", here.announce("all"));
  const auto heard = here.bus.subscribe({"all", "--json"});
  const auto run = here.run();
  CHECK(run->wait() == exited(0));
  CHECK(keys_of(hear(*heard, 1)) == std::vector<std::string>{""});
}

TEST_CASE("a bus that can't be is a mistake in the configuration, and a server that is down is none") {
  const announcing_fixture here;
  here.put_changes(1);
  const auto said = [&](const std::string& url, int code) {
    here.configure_lines("", here.announce_at(url, "t"));
    std::string errors;
    for (const auto* command : {"check", "run"}) {
      const auto ended = here.start({command, "pipeline.toml"});
      CHECK_MESSAGE(ended->wait() == exited(code), url);
      CHECK_FALSE(std::filesystem::exists(here / "state"));
      CHECK(ended->errors().find("secret") == std::string::npos);
      CHECK((errors.empty() || errors == ended->errors()));
      errors = ended->errors();
    }
    return errors;
  };
  const auto port = std::to_string(server().port());
  const auto refused = [&](const std::string& rest) { return said("postgres://" + rest, 2); };
  CHECK(refused("weir:secret@127.0.0.1:" + port + "/missing")
      .starts_with("pipeline.toml:10:19: sink[0].announce.bus: the server has no such database"));
  CHECK(refused("locked:secret@127.0.0.1:" + port + "/postgres")
      .starts_with("pipeline.toml:10:19: sink[0].announce.bus: the server does not let this user in"));
  CHECK(refused("weir:secret@127.0.0.1:" + port + "/bytes").find("stored as UTF-8") != std::string::npos);
  CHECK(refused("weir:secret@127.0.0.1:x/postgres").find("port is a number") != std::string::npos);
  CHECK(refused("weir:secret@127.0.0.1:" + port + "/missing")
      .ends_with("; expected a PostgreSQL 13 or later that carries a bus\n"));
  CHECK(said("memory:", 2)
      .starts_with("pipeline.toml:10:19: sink[0].announce.bus: a bus in memory ends with its process, and nobody outside "
                   "would hear it; "));
  here.configure_lines("", here.announce("t"));
  const stopped_server stopped;
  const auto checked = here.start({"check", "pipeline.toml"});
  CHECK(checked->wait() == exited(0));
  CHECK(checked->errors().empty());
}

} // namespace
