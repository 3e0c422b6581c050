#include "log_fixture.hpp"
#include "pipeline_fixture.hpp"
#include "terminal.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <string>
#include <unistd.h>

// `weir run` with [stream] type = "durable": what only a real process shows. Kills, rewritten histories and memory are in
// tests/pipeline.

namespace {

using namespace weir::cli::test;
using namespace std::chrono_literals;
using weir::posix::file_descriptor;

const std::string durable = "[stream]\ntype = \"durable\"\nlog = {type = \"sqlite\", path = \"lanes.db\"}\n";
const std::string audit = "[[sink]]\nname = \"audit\"\ntype = \"jsonl\"\npath = \"audit.jsonl\"\n";
const std::string screen = "[[sink]]\nname = \"screen\"\ntype = \"stdout\"\n";

std::string pipeline(const std::string& rest, const std::string& name = "p", const std::string& state = "state") {
  return "name = \"" + name + "\"\nstate = \"" + state + "\"\n[source]\ntype = \"jsonl\"\npath = \"changes.jsonl\"\n" + rest;
}

bool says(const process& running, std::string_view text) {
  return running.errors().find(text) != std::string::npos;
}

/// A pipe that nobody reads until somebody does.
struct unread_pipe {
  file_descriptor out;
  file_descriptor in;

  unread_pipe() {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    out = file_descriptor{ends[0]};
    in = file_descriptor{ends[1]};
  }

  /// Lines that are read until the writer has gone.
  std::size_t lines() {
    in = file_descriptor{};
    std::size_t count = 0;
    char bytes[65536];
    for (ssize_t got = 0; (got = ::read(out.number(), bytes, sizeof bytes)) > 0;)
      count += static_cast<std::size_t>(std::count(bytes, bytes + got, '\n'));
    return count;
  }
};

TEST_CASE("a sink that stands still holds up neither the source nor another sink, and gets everything in the end") {
  constexpr int changes = 50'000;
  const pipeline_fixture here;
  here.put_changes(changes);
  here.configure(pipeline(durable + "floor = \"log\"\nitems = 4\n" + audit + screen));
  {
    const unread_pipe standing;
    const auto run = here.run({.output = standing.in.number()});
    REQUIRE(comes_true([&] { return here.lines_in("audit.jsonl") == changes; }));
    // The source is released although one sink has nothing: what it lacks is in the log.
    REQUIRE(comes_true([&] { return content_of(here / "state/position.json").find("\"seq\":50000") != std::string::npos; }));
    run->send(SIGKILL);
    CHECK(run->wait() == killed(SIGKILL));
  }
  unread_pipe reading;
  const auto run = here.run({.output = reading.in.number()});
  const auto lines = reading.lines();
  CHECK_MESSAGE(run->wait() == exited(0), run->errors());
  CHECK(lines >= changes - 8192); // what was in the pipe of the one that was killed had been written
  CHECK(lines <= changes);
  CHECK(here.lines_in("audit.jsonl") == changes);
}

TEST_CASE("check says where the stream is, and run how far it had come") {
  const pipeline_fixture here;
  here.put_changes(10);
  here.configure(pipeline(durable + audit));
  const auto check = here.start({"check", "pipeline.toml"});
  CHECK(check->wait() == exited(0));
  CHECK(check->output().find("stream  durable in " + (here / "lanes.db").native() + ", topic p\n") != std::string::npos);
  CHECK(!std::filesystem::exists(here / "lanes.db"));
  CHECK(here.run()->wait() == exited(0));
  const auto again = here.run();
  CHECK(again->wait() == exited(0));
  CHECK(says(*again, "from=1:10)"));
  CHECK(here.lines_in("audit.jsonl") == 10);
}

TEST_CASE("a process that is killed while it creates the log is no obstacle for the next") {
  const pipeline_fixture here;
  here.put_changes(10);
  here.configure(pipeline(durable + audit));
  put(here / "lanes.db", "");
  CHECK(here.start({"check", "pipeline.toml"})->wait() == exited(0));
  CHECK(here.run()->wait() == exited(0));
  CHECK(here.lines_in("audit.jsonl") == 10);
}

TEST_CASE("a log that can't be the stream's is refused, by name") {
  const pipeline_fixture here;
  here.put_changes(10);
  here.configure(pipeline(durable + audit));
  put(here / "lanes.db", "no database, but long enough to be taken for one: " + std::string(4096, 'x'));
  const auto foreign = here.run();
  CHECK(foreign->wait() == exited(2));
  CHECK(says(*foreign, "stream.log.path: " + (here / "lanes.db").native() + " is no log: it is no SQLite database; expected"));
  CHECK(!std::filesystem::exists(here / "audit.jsonl"));
}

TEST_CASE("another pipeline's stream is refused, and left as it is") {
  const pipeline_fixture here;
  here.put_changes(10);
  here.configure(pipeline(durable + audit));
  CHECK(here.run()->wait() == exited(0));
  here.configure(
    pipeline("[stream]\ntype = \"durable\"\nlog = {type = \"sqlite\", path = \"lanes.db\", topic = \"p\"}\n" + screen, "other",
      "other-state"));
  const auto other = here.run();
  CHECK(other->wait() == exited(2));
  CHECK(says(*other, ": stream.log.topic: the stream in the log belongs to p; expected a topic that is"));
  CHECK(other->output().empty());
  // A topic of its own is no matter.
  here.configure(pipeline(durable + screen, "other", "other-state"));
  CHECK(here.run()->wait() == exited(0));
  here.configure(pipeline(durable + audit));
  CHECK(here.run()->wait() == exited(0));
}

TEST_CASE("nobody else writes into a stream's topic") {
  const pipeline_fixture here;
  here.put_changes(10);
  here.configure(pipeline(durable + audit));
  CHECK(here.run()->wait() == exited(0));
  here.configure(pipeline("[[sink]]\nname = \"x\"\ntype = \"log\"\npath = \"lanes.db\"\ntopic = \"p\"\n", "q", "q-state"));
  const auto sink = here.run();
  CHECK(sink->wait() == exited(2));
  CHECK(says(*sink, "a stream is kept in the topic, which nobody else may write into"));
  const auto append = here.start({"log", "append", "lanes.db", "--topic", "p"});
  CHECK(append->wait() != exited(0));
  CHECK(says(*append, "a stream is kept in the topic, which nobody else may write into (code=wrong_owner, topic=p)"));
  // What is only called like a topic of requests is anybody's.
  CHECK(here.start({"log", "create", "lanes.db", "--topic", "mine.requests"})->wait() == exited(0));
  for (int one = 0; one < 2; ++one) {
    unread_pipe line;
    REQUIRE(::write(line.in.number(), "a line\n", 7) == 7);
    line.in = file_descriptor{};
    CHECK(
      here.start({"log", "append", "lanes.db", "--topic", "mine.requests"}, {.input = line.out.number()})->wait() == exited(0));
  }
  const auto request = here.start({"log", "append", "lanes.db", "--topic", "p.requests"});
  CHECK(request->wait() != exited(0));
  CHECK(says(*request, "a stream is kept in the topic, which nobody else may write into (code=wrong_owner, topic=p.requests)"));
  here.configure(
    pipeline("[[sink]]\nname = \"x\"\ntype = \"log\"\npath = \"lanes.db\"\ntopic = \"p.requests\"\n", "q", "q-state"));
  CHECK(here.run()->wait() == exited(2));
  here.configure(pipeline(durable + audit));
  CHECK(here.run()->wait() == exited(0));
  // Nor is the topic that the stream itself has beside it anybody's stream.
  here.configure(pipeline(durable + screen, "p.requests", "other-state"));
  const auto other = here.run();
  CHECK(other->wait() == exited(2));
  CHECK(says(*other, "topics of that name are kept for what sinks ask for"));
}

TEST_CASE("check tells what run would trip over, and leaves no trace") {
  const pipeline_fixture here;
  here.put_changes(10);
  const auto refused = [&](const std::string& log, std::string_view sentence) {
    CAPTURE(log);
    here.configure(pipeline("[stream]\ntype = \"durable\"\nlog = {type = \"sqlite\", " + log + "}\n" + audit));
    for (const auto* command : {"check", "run"}) {
      const auto told = here.start({command, "pipeline.toml"});
      CHECK(told->wait() == exited(2));
      CHECK_MESSAGE(says(*told, sentence), told->errors());
    }
  };
  refused(R"(path = "missing/lanes.db")", "stream.log.path: there is no directory");
  std::filesystem::create_symlink("missing/lanes.db", here / "link.db");
  refused(R"(path = "link.db")", "stream.log.path: there is no directory");
  CHECK(!std::filesystem::exists(here / "missing"));
  refused("path = \"lanes.db\", topic = \"" + std::string(245, 't') + "\"", "stream.log.topic: ");
  CHECK(!std::filesystem::exists(here / "lanes.db"));
  CHECK(here.start({"log", "create", "lanes.db", "--topic", "wide", "--shards", "2"})->wait() == exited(0));
  refused(R"(path = "lanes.db", topic = "wide")", "stream.log.topic: ");
  CHECK(here.start({"log", "create", "lanes.db", "--topic", "lines"})->wait() == exited(0));
  unread_pipe line;
  REQUIRE(::write(line.in.number(), "a line\n", 7) == 7);
  line.in = file_descriptor{};
  CHECK(here.start({"log", "append", "lanes.db", "--topic", "lines"}, {.input = line.out.number()})->wait() == exited(0));
  refused(R"(path = "lanes.db", topic = "lines")", "stream.log.");
}

TEST_CASE("the floor may change from the log to the sinks: what they lack is in the log") {
  constexpr int changes = 20'000;
  const pipeline_fixture here;
  here.put_changes(changes);
  const auto with_floor = [&](const std::string& floor) {
    here.configure(pipeline(durable + "floor = \"" + floor + "\"\nitems = 4\n" + audit + screen));
  };
  with_floor("log");
  {
    const unread_pipe standing;
    const auto run = here.run({.output = standing.in.number()});
    REQUIRE(comes_true([&] { return content_of(here / "state/position.json").find("\"seq\":20000") != std::string::npos; }));
    run->send(SIGKILL);
    CHECK(run->wait() == killed(SIGKILL));
  }
  with_floor("sink");
  CHECK(here.start({"check", "pipeline.toml"})->wait() == exited(0));
  unread_pipe reading;
  const auto run = here.run({.output = reading.in.number()});
  const auto lines = reading.lines();
  CHECK_MESSAGE(run->wait() == exited(0), run->errors());
  CHECK(lines >= changes - 8192);
  CHECK(here.lines_in("audit.jsonl") == changes);
}

TEST_CASE("a log's entry that is no change ends a pipeline, unless it may be set aside") {
  const pipeline_fixture here;
  CHECK(here.start({"log", "create", "lines.db"})->wait() == exited(0));
  unread_pipe line;
  REQUIRE(::write(line.in.number(), "a line\n", 7) == 7);
  line.in = file_descriptor{};
  CHECK(here.start({"log", "append", "lines.db"}, {.input = line.out.number()})->wait() == exited(0));
  const auto reading = [&](const std::string& policy) {
    here.configure("name = \"p\"\nstate = \"state\"\n[source]\ntype = \"log\"\npath = \"lines.db\"\n" + policy + audit);
    return here.run();
  };
  const auto stopped = reading("");
  CHECK(stopped->wait() == exited(1));
  CHECK(says(*stopped, "the entry is no change"));
  const auto useless = reading("format = \"entries\"\non_bad_record = \"stop\"\n");
  CHECK(useless->wait() == exited(2));
  CHECK(says(*useless, "source.on_bad_record: has no effect"));
  const auto aside = reading("on_bad_record = \"dead-letter\"\n");
  CHECK(aside->wait() == exited(0));
  CHECK(says(*aside, "dead letter"));
}

TEST_CASE("a link to where the log is to be is as good as a path") {
  const pipeline_fixture here;
  here.put_changes(10);
  std::filesystem::create_directory(here / "elsewhere");
  std::filesystem::create_symlink("elsewhere/kept.db", here / "lanes.db");
  here.configure(pipeline(durable + audit));
  CHECK(here.start({"check", "pipeline.toml"})->wait() == exited(0));
  CHECK(here.run()->wait() == exited(0));
  CHECK(std::filesystem::exists(here / "elsewhere/kept.db"));
  CHECK(here.lines_in("audit.jsonl") == 10);
}

TEST_CASE("a lane's place is not set by hand; dropped, the lane begins anew") {
  const pipeline_fixture here;
  here.put_changes(10);
  here.configure(pipeline(durable + audit));
  CHECK(here.run()->wait() == exited(0));
  const auto set = here.start({"log", "checkpoints", "lanes.db", "--topic", "p", "--set", "lane:audit", "--to", "0"});
  CHECK(set->wait() != exited(0));
  CHECK_MESSAGE(says(*set, "a lane's place is its stream's alone to set"), set->errors());
  CHECK(here.start({"log", "checkpoints", "lanes.db", "--topic", "p", "--drop", "lane:audit"})->wait() == exited(0));
  here.put_changes(20);
  CHECK(here.run()->wait() == exited(0));
  CHECK(here.lines_in("audit.jsonl") == 20);
}

TEST_CASE("a change of 20 MiB goes through") {
  const pipeline_fixture here;
  here.put_changes(3);
  put(here / "changes.jsonl", content_of(here / "changes.jsonl")
                                + "{\"collection\":\"c\",\"key\":\"big\",\"op\":\"upsert\",\"payload\":\""
                                + std::string(20U << 20U, 'x') + "\"}\n");
  here.configure("name = \"p\"\nstate = \"state\"\n[source]\ntype = \"jsonl\"\npath = \"changes.jsonl\"\nmax_line = \"64MiB\"\n"
                 + durable + audit);
  const auto run = here.run();
  CHECK_MESSAGE(run->wait() == exited(0), run->errors());
  CHECK(here.lines_in("audit.jsonl") == 4);
}

TEST_CASE("an entry that was given up is lost to the lane that did not have it, and that is said") {
  constexpr int changes = 50'000;
  const pipeline_fixture here;
  here.put_changes(changes);
  here.configure(pipeline(durable + "items = 4\n" + audit + screen));
  {
    const unread_pipe standing;
    const auto run = here.run({.output = standing.in.number()});
    REQUIRE(comes_true([&] { return here.lines_in("audit.jsonl") == changes; }));
    run->send(SIGKILL);
    CHECK(run->wait() == killed(SIGKILL));
  }
  damage_entry(here / "lanes.db", "\"n\":49000}");
  const auto damaged = here.run();
  CHECK(damaged->wait() == exited(2));
  CHECK(says(*damaged, "stream.log.path: the entry is not what was appended"));
  CHECK(here.start({"log", "repair", "lanes.db"})->wait() == exited(0));
  const auto without = here.run();
  CHECK(without->wait() == exited(1));
  CHECK(says(*without, "an entry that the lane has not acknowledged was given up (code=cursor_expired"));
  const auto anew = here.run();
  CHECK_MESSAGE(anew->wait() == exited(0), anew->errors());
  CHECK(says(*anew, "what the lane screen lacks is gone from the stream's log; it begins anew"));
  CHECK(here.lines_in("audit.jsonl") == changes);
}

TEST_CASE("a lane whose sink is gone is dropped, one whose sink is new gets what is retained") {
  const pipeline_fixture here;
  here.put_changes(10);
  here.configure(pipeline(durable + audit + "[[sink]]\nname = \"old\"\ntype = \"jsonl\"\npath = \"old.jsonl\"\n"));
  CHECK(here.run()->wait() == exited(0));
  here.configure(pipeline(durable + audit));
  const auto next = here.run();
  CHECK(next->wait() == exited(0));
  CHECK(says(*next, "the stream's log has a lane old that is no sink of this pipeline any more; it is dropped"));
  CHECK(!says(*here.run(), "dropped"));
}

TEST_CASE("a log that lacks what was confirmed is refused: it is an older one") {
  const pipeline_fixture here;
  here.put_changes(10);
  here.configure(pipeline(durable + audit));
  CHECK(here.run()->wait() == exited(0));
  std::filesystem::copy_file(here / "lanes.db", here / "older.db");
  here.put_changes(20);
  CHECK(here.run()->wait() == exited(0));
  for (const auto* suffix : {"-wal", "-shm"})
    std::filesystem::remove(here / ("lanes.db" + std::string{suffix}));
  std::filesystem::rename(here / "older.db", here / "lanes.db");
  const auto run = here.run();
  CHECK(run->wait() == exited(2));
  CHECK(
    says(*run, "stream.log.path: the stream's log holds everything up to 1:10, less than was confirmed to the source, 1:20; "));
  CHECK(here.lines_in("audit.jsonl") == 20);
  // Without one the lanes begin anew, behind what was confirmed.
  std::filesystem::remove(here / "lanes.db");
  here.put_changes(30);
  CHECK(here.run()->wait() == exited(0));
  CHECK(here.lines_in("audit.jsonl") == 30);
}

/// Whether the log has trimmed over a sink of the pipeline p.
bool has_lost_its_place(const pipeline_fixture& here, const std::string& sink) {
  const auto listing = here.start({"log", "checkpoints", "lanes.db", "--topic", "p", "--json"});
  if (listing->wait() != exited(0))
    return false;
  std::istringstream lines{listing->output()};
  for (std::string line; std::getline(lines, line);)
    if (line.find("\"lane:" + sink + "\"") != std::string::npos)
      return line.find("\"expired\":true") != std::string::npos;
  return false;
}

TEST_CASE("a sink that lags more than the log retains loses its place, and says so") {
  constexpr int changes = 60'000;
  constexpr int at_once = 2'000; // much less than is retained: who reads keeps up
  const pipeline_fixture here;
  here.put_changes(changes);
  std::istringstream all{content_of(here / "changes.jsonl")};
  put(here / "changes.jsonl", "");
  here.configure("name = \"p\"\nstate = \"state\"\n[source]\ntype = \"jsonl\"\npath = \"changes.jsonl\"\nfollow = true\n"
                 + durable + "retain_bytes = \"1MiB\"\nitems = 4\n" + audit + screen);
  {
    const unread_pipe standing;
    const auto run = here.run({.output = standing.in.number()});
    for (int written = 0; written < changes;) {
      std::ofstream more{here / "changes.jsonl", std::ios::app};
      std::string line;
      for (int one = 0; one < at_once && std::getline(all, line); ++one, ++written)
        more << line << '\n';
      more.close();
      REQUIRE(comes_true([&] { return here.lines_in("audit.jsonl") == static_cast<std::size_t>(written); }));
    }
    REQUIRE(comes_true([&] { return has_lost_its_place(here, "screen"); }));
    run->send(SIGKILL);
    run->wait();
  }
  here.configure(pipeline(durable + "items = 4\n" + audit + screen)); // with room for everything that comes again
  CHECK(here.start({"check", "pipeline.toml"})->wait() == exited(0));
  unread_pipe reading;
  const auto next = here.run({.output = reading.in.number()});
  const auto lines = reading.lines();
  CHECK_MESSAGE(next->wait() == exited(0), next->errors());
  CHECK(says(*next, "what the lane screen lacks is gone from the stream's log; it begins anew behind "));
  CHECK(lines >= changes - 8192); // from the source, to which it was not confirmed
  CHECK(here.lines_in("audit.jsonl") == changes);
}

TEST_CASE("a stream whose lanes have all lost their place goes on behind what was confirmed") {
  constexpr int changes = 60'000;
  for (const auto* floor : {"log", "sink"}) {
    CAPTURE(floor);
    const pipeline_fixture here;
    here.put_changes(changes);
    const auto retaining = [&](const std::string& limit) {
      here.configure(pipeline(durable + limit + "items = 4\nfloor = \"" + floor + "\"\n" + screen));
    };
    retaining("retain_bytes = \"1MiB\"\n");
    {
      const unread_pipe standing;
      const auto run = here.run({.output = standing.in.number()});
      REQUIRE(comes_true([&] { return has_lost_its_place(here, "screen"); }));
      run->send(SIGKILL);
      run->wait();
    }
    retaining("");
    CHECK(here.start({"check", "pipeline.toml"})->wait() == exited(0));
    unread_pipe reading;
    const auto next = here.run({.output = reading.in.number()});
    const auto lines = reading.lines();
    CHECK_MESSAGE(next->wait() == exited(0), next->errors());
    CHECK(says(*next, "it begins anew behind "));
    CHECK(says(*next, "confirmed=1:60000"));
    if (std::string_view{floor} == "sink")
      CHECK(lines >= changes - 8192);
  }
}

} // namespace
