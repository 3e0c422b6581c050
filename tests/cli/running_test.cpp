#include "pipeline_fixture.hpp"
#include "terminal.hpp"

#include <boost/json.hpp>
#include <doctest/doctest.h>
#include <sqlite3.h>

#include <csignal>
#include <fcntl.h>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>

namespace {

using namespace weir::cli::test;
using namespace std::chrono_literals;
using weir::posix::file_descriptor;
namespace json = boost::json;

bool says(const process& running, std::string_view text) {
  return running.errors().find(text) != std::string::npos;
}

/// The keys in a log of changes, each of which must be there once.
std::set<std::string> keys_in(const std::filesystem::path& log) {
  std::set<std::string> keys;
  std::istringstream lines{content_of(log)};
  for (std::string line; std::getline(lines, line);)
    CHECK(keys.insert(json::value_to<std::string>(json::parse(line).at("key"))).second);
  return keys;
}

/// The first column of what the query finds, in order.
std::vector<std::string> query(const std::filesystem::path& database, const char* sql) {
  sqlite3* opened = nullptr;
  REQUIRE(sqlite3_open_v2(database.c_str(), &opened, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK);
  std::vector<std::string> found;
  const auto add = [](void* to, int, char** values, char**) {
    static_cast<std::vector<std::string>*>(to)->emplace_back(values[0]);
    return 0;
  };
  CHECK(sqlite3_exec(opened, sql, add, &found, nullptr) == SQLITE_OK);
  sqlite3_close(opened);
  return found;
}

/// A pipe whose reading end the test keeps.
struct pipe_ends {
  file_descriptor out;
  file_descriptor in;

  pipe_ends() {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    out = file_descriptor{ends[0]};
    in = file_descriptor{ends[1]};
  }

  int waiting_bytes() const {
    int count = 0;
    REQUIRE(::ioctl(out.number(), FIONREAD, &count) == 0);
    return count;
  }
};

constexpr std::string_view to_stdout = "name = \"p\"\nstate = \"state\"\n[source]\ntype = \"jsonl\"\npath = \"changes.jsonl\"\n"
                                       "[[sink]]\nname = \"screen\"\ntype = \"stdout\"\n";

TEST_CASE("a run ends when its source does, and the next has nothing left to do") {
  const pipeline_fixture here;
  here.put_changes(1'000);
  here.configure_lines();
  const auto first = here.start({"run", "--json", "pipeline.toml"});
  REQUIRE(first->wait() == exited(0));
  CHECK(keys_in(here / "audit.jsonl").size() == 1'000);
  const auto told = json::parse(first->output());
  CHECK(told.at("pipeline") == "p");
  CHECK(told.at("outcome") == "done");
  CHECK(told.at("exit_code") == 0);
  CHECK(told.at("changes") == 1'000);
  CHECK(told.at("confirmed").at("seq") == 1'000);
  CHECK(told.at("sinks").at("audit").at("changes") == 1'000);
  CHECK(told.at("dead_letters") == 0);
  std::istringstream lines{first->errors()};
  for (std::string line; std::getline(lines, line);)
    CHECK(json::parse(line).as_object().contains("message"));

  const auto second = here.start({"run", "--json", "pipeline.toml"});
  REQUIRE(second->wait() == exited(0));
  CHECK(json::parse(second->output()).at("changes") == 0);
  CHECK(here.lines_in("audit.jsonl") == 1'000);
}

TEST_CASE("a repository's history goes to a database and to a log") {
  const pipeline_fixture here;
  here.git({"version"});
  for (int commit = 1; commit <= 5; ++commit) {
    put(here / ("repository/file" + std::to_string(commit)), std::to_string(commit));
    here.git({"add", "."});
    here.git({"commit", "--quiet", "--message=more"});
  }
  here.git({"rm", "--quiet", "file2"});
  here.git({"commit", "--quiet", "--message=less"});
  here.configure("name = \"p\"\nstate = \"state\"\n[source]\ntype = \"git\"\nrepository = \"repository\"\n[[sink]]\n"
                 "name = \"files\"\ntype = \"sqlite\"\npath = \"files.db\"\n[[sink]]\nname = \"audit\"\ntype = \"jsonl\"\n"
                 "path = \"audit.jsonl\"\n");
  const auto run = here.run();
  REQUIRE_MESSAGE(run->wait() == exited(0), run->errors());
  CHECK(query(here / "files.db", "SELECT key FROM files ORDER BY key")
        == std::vector<std::string>{"file1", "file3", "file4", "file5"});
  CHECK(here.lines_in("audit.jsonl") == 6);
}

TEST_CASE("a quiet run says nothing") {
  const pipeline_fixture here;
  here.put_changes(3);
  here.configure_lines();
  const auto run = here.start({"run", "--quiet", "pipeline.toml"});
  CHECK(run->wait() == exited(0));
  CHECK(run->output().empty());
  CHECK(run->errors().empty());
}

TEST_CASE("changes on standard output, and the summary on standard error") {
  const pipeline_fixture here;
  here.put_changes(50);
  here.configure(to_stdout);
  const auto run = here.start({"run", "--json", "pipeline.toml"});
  CHECK(run->wait() == exited(0));
  const auto lines = run->output();
  CHECK(std::ranges::count(lines, '\n') == 50);
  CHECK(lines.find("\"outcome\"") == std::string::npos);
  CHECK(says(*run, "\"outcome\":\"done\""));
}

TEST_CASE("a reader of standard output that goes away ends the run") {
  const pipeline_fixture here;
  here.put_changes(50);
  here.configure(to_stdout);
  pipe_ends pipe;
  pipe.out.close();
  const auto run = here.run({.output = pipe.in.number()});
  pipe.in.close();
  CHECK(run->wait() == exited(1));
  CHECK_MESSAGE(says(*run, " error "), run->errors());
}

TEST_CASE("what was asked for and can't be written is a failure, and says so") {
  const pipeline_fixture here;
  here.put_changes(1);
  here.configure(to_stdout);
  const std::vector<std::vector<std::string>> questions{
    {"version"}, {"--help"}, {"check", "pipeline.toml"}, {"check", "--json", "pipeline.toml"}};
  for (const auto& asked : questions) {
    CAPTURE(asked.front());
    const file_descriptor full{::open("/dev/full", O_WRONLY | O_CLOEXEC)};
    const auto run = here.start(asked, {.output = full.number()});
    CHECK(run->wait() == exited(1));
    CHECK(run->errors() == "weir: can't write to standard output: No space left on device\n");
  }
}

TEST_CASE("changes can't go to a standard output that is closed, and none is waited for") {
  const pipeline_fixture here;
  here.put_changes(0);
  auto following = std::string{to_stdout};
  following.replace(following.find("[[sink]]"), 0, "follow = true\n");
  here.configure(following);
  process run{{"sh", "-c", "'" + std::string{WEIR_PROGRAM} + "' run pipeline.toml >&-"}, here.path()};
  REQUIRE(run.wait_for(60s) == exited(1));
  CHECK_MESSAGE(run.errors().find("can't write to standard output") != std::string::npos, run.errors());
}

TEST_CASE("what only prints fails where standard output is closed") {
  const pipeline_fixture here;
  here.put_changes(1);
  here.configure_lines();
  for (const std::string asked : {"version", "--help", "check pipeline.toml", "check --json pipeline.toml"}) {
    process run{{"sh", "-c", "'" + std::string{WEIR_PROGRAM} + "' " + asked + " >&-"}, here.path()};
    CHECK_MESSAGE(run.wait() == exited(1), asked);
    CHECK(run.errors() == "weir: can't write to standard output: it is closed, or open for reading only\n");
  }
}

TEST_CASE("a closed standard stream is not taken for something else") {
  const pipeline_fixture here;
  here.put_changes(20);
  here.configure_lines();
  const auto script = "'" + std::string{WEIR_PROGRAM} + "' run pipeline.toml <&- >&- 2>&-";
  process run{{"sh", "-c", script}, here.path()};
  CHECK(run.wait() == exited(0));
  CHECK(here.lines_in("audit.jsonl") == 20);
  CHECK(here.lines_in("state/lock") == 1); // the process id, and nothing that was meant for a terminal
}

TEST_CASE("a signal drains: what was read is finished, and the next run goes on behind it") {
  const pipeline_fixture here;
  here.put_changes(500);
  here.configure_lines("follow = true\n");
  for (const auto signal : {SIGTERM, SIGINT, SIGHUP}) {
    const auto run = here.start({"run", "--json", "pipeline.toml"});
    REQUIRE(comes_true([&] { return here.lines_in("audit.jsonl") == 500 && says(*run, "begins"); }));
    run->send(signal);
    REQUIRE(run->wait() == exited(0));
    const auto told = json::parse(run->output());
    CHECK(told.at("outcome") == "drained");
    CHECK(told.at("confirmed").at("seq") == 500);
    CHECK(says(*run, "reading no further"));
  }
  CHECK(keys_in(here / "audit.jsonl").size() == 500);
}

TEST_CASE("a second signal ends a run that can't drain") {
  const pipeline_fixture here;
  here.put_changes(20'000);
  here.configure(to_stdout);
  for (const auto signal : {SIGINT, SIGTERM}) {
    const pipe_ends pipe;
    const auto run = here.run({.output = pipe.in.number()});
    // Nobody reads: once the pipe is full, the sink waits for ever.
    REQUIRE(comes_true([&] { return pipe.waiting_bytes() > 60'000; }));
    run->send(signal);
    REQUIRE(comes_true([&] { return says(*run, "reading no further"); }));
    CHECK_FALSE(run->wait_for(0ms).has_value());
    do
      run->send(signal); // within a tenth of a second it is the same one
    while (!run->wait_for(50ms));
    CHECK(run->wait() == exited(128 + signal));
  }
}

TEST_CASE("two runs on one state directory: the second is refused") {
  const pipeline_fixture here;
  here.put_changes(10);
  here.configure_lines("follow = true\n");
  const auto first = here.run();
  REQUIRE(comes_true([&] { return here.lines_in("audit.jsonl") == 10; }));
  const auto second = here.run();
  CHECK(second->wait() == exited(3));
  CHECK(says(*second, "is in use by process " + std::to_string(first->id())));
  CHECK(here.start({"check", "pipeline.toml"})->wait() == exited(0));
  first->send(SIGKILL);
  CHECK(first->wait() == killed(SIGKILL));
  const auto third = here.run();
  REQUIRE(comes_true([&] { return says(*third, "begins"); }));
  third->send(SIGTERM);
  CHECK(third->wait() == exited(0));
  CHECK(keys_in(here / "audit.jsonl").size() == 10);
}

TEST_CASE("killed again and again, every change arrives once") {
  const pipeline_fixture here;
  const auto* given = std::getenv("WEIR_SEED");
  const auto seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  INFO("WEIR_SEED=", seed);
  std::mt19937_64 random{seed};
  constexpr std::size_t changes = 10'000;
  here.put_changes(changes);
  here.configure_lines("max_changes = 16\n");
  for (int round = 0; round < 8; ++round) {
    const auto from = here.lines_in("audit.jsonl");
    const auto target = from + std::uniform_int_distribution<std::size_t>{0, (changes - from) / 4}(random);
    const auto run = here.run();
    REQUIRE(comes_true([&] { return here.lines_in("audit.jsonl") >= target || run->wait_for(0ms).has_value(); }));
    run->send(SIGKILL);
    run->wait();
  }
  const auto last = here.run();
  REQUIRE_MESSAGE(last->wait() == exited(0), last->errors());
  CHECK(keys_in(here / "audit.jsonl").size() == changes);
}

TEST_CASE("a bad line ends the run with its number; once it is mended, everything comes once") {
  const pipeline_fixture here;
  here.put_changes(10);
  const auto sound = content_of(here / "changes.jsonl");
  auto text = sound;
  text.insert(text.find("{\"collection\":\"c\",\"key\":\"k5\""), "{broken\n");
  put(here / "changes.jsonl", text);
  here.configure_lines();
  const auto run = here.run();
  CHECK(run->wait() == exited(1));
  CHECK_MESSAGE(says(*run, "line 5"), run->errors());
  CHECK(here.lines_in("audit.jsonl") <= 4);
  CHECK_FALSE(std::filesystem::exists(here / "state/dead-letters.jsonl"));
  put(here / "changes.jsonl", sound);
  CHECK(here.run()->wait() == exited(0));
  CHECK(keys_in(here / "audit.jsonl").size() == 10);
  CHECK(here.lines_in("audit.jsonl") == 10);
}

TEST_CASE("a bad line goes to the dead letters where the configuration says so") {
  const pipeline_fixture here;
  here.put_changes(10);
  auto text = content_of(here / "changes.jsonl");
  text.insert(text.find("{\"collection\":\"c\",\"key\":\"k5\""), "{broken\n");
  put(here / "changes.jsonl", text);
  here.configure_lines("on_bad_record = \"dead-letter\"\n");
  const auto run = here.start({"run", "--json", "pipeline.toml"});
  REQUIRE(run->wait() == exited(0));
  CHECK(keys_in(here / "audit.jsonl").size() == 10);
  const auto summary = json::parse(run->output());
  CHECK(summary.at("dead_letters") == 1);
  CHECK(summary.at("sinks").at("audit").at("changes") == 10); // the bad one was written nowhere
  const auto letter = json::parse(content_of(here / "state/dead-letters.jsonl"));
  CHECK(letter.at("lane") == "source");
  CHECK(letter.at("code") == "bad_record");
  CHECK(letter.at("record") == "{broken");
}

TEST_CASE("on a terminal the progress is one line that is gone at the end") {
  const pipeline_fixture here;
  here.put_changes(1'234);
  here.configure_lines("follow = true\n");
  terminal screen;
  screen.set_width(60);
  const auto run = here.run({.errors = screen.line(), .terminal = "xterm"});
  std::string shown;
  REQUIRE(comes_true([&] { return (shown += screen.shown()).find("\r\x1b[2K1,234 changes  ") != std::string::npos; }));
  CHECK(shown.find("audit ") != std::string::npos);
  run->send(SIGTERM);
  REQUIRE(run->wait() == exited(0));
  shown += screen.shown();
  for (auto at = shown.find(" changes  "); at != std::string::npos; at = shown.find(" changes  ", at + 1)) {
    // It stands behind what erased the one before, or below a line of the log.
    const auto begin = std::max(shown.rfind("\r\x1b[2K", at) + 5, shown.rfind('\n', at) + 1);
    CHECK(std::min(shown.find_first_of("\r\n", at), shown.size()) - begin <= 60);
  }
  const auto erased = shown.rfind("\r\x1b[2K");
  CHECK(shown.substr(erased).find(" changes  ") == std::string::npos);
  CHECK(shown.find(" drained ") != std::string::npos);
}

} // namespace
