#include <weir/cli/files.hpp>

#include "log_fixture.hpp"
#include "terminal.hpp"

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include <csignal>
#include <string>

namespace {

using namespace weir::cli::test;
namespace json = boost::json;

TEST_CASE("a damaged entry ends a read behind what is before it, until it is given up") {
  const log_fixture here;
  here.done({"create", "a.db"});
  here.done({"append", "a.db"}, numbered_lines(9));
  CHECK(here.done({"verify", "a.db"}).starts_with("a.db is sound: 9 entries ("));
  here.damage("a.db", "line 5");

  for (const auto* command : {"read", "tail"}) {
    const auto stopped = here.run({command, "a.db", "--after", "-1"});
    CHECK(stopped.end == exited(1));
    CHECK(stopped.output == numbered_lines(4));
    CHECK_MESSAGE(stopped.errors.starts_with(std::string{"weir log "} + command + ": the entry is not what was appended: "),
      stopped.errors);
    CHECK_MESSAGE(
      stopped.errors.ends_with("offset=4); \"weir log repair\" gives it up, and reads pass over it\n"), stopped.errors);
  }
  CHECK(here.done({"read", "a.db", "--after", "4"}) == "line 6\nline 7\nline 8\nline 9\n"); // behind it nobody is disturbed

  const auto found = here.run({"verify", "a.db"});
  CHECK(found.end == exited(1));
  CHECK(found.errors.empty());
  const auto lines = lines_of(found.output);
  REQUIRE(lines.size() == 2);
  CHECK_MESSAGE(lines[0].starts_with("main shard 0: entry 4 is damaged: "), lines[0]);
  CHECK_MESSAGE(lines[1].starts_with("a.db is damaged: 9 entries ("), lines[1]);
  const auto report = here.run({"verify", "a.db", "--json"});
  CHECK(report.end == exited(1));
  CHECK(json::parse(report.output).at("sound") == false);
  CHECK(json::parse(report.output).at("damaged").at(0).at("first") == 4);

  const auto repaired = here.done({"repair", "a.db"});
  CHECK_MESSAGE(lines_of(repaired).at(0).starts_with("main shard 0: entry 4 is given up: "), repaired);
  CHECK(lines_of(here.done({"verify", "a.db"})).at(0).starts_with("main shard 0: entry 4 is given up: "));
  CHECK(here.done({"read", "a.db"}) == "line 1\nline 2\nline 3\nline 4\nline 6\nline 7\nline 8\nline 9\n");
}

TEST_CASE("reads pass over entries that were given up, also where nothing follows them") {
  const log_fixture here;
  here.done({"create", "a.db"});
  here.done({"append", "a.db"}, numbered_lines(3));
  here.damage("a.db", "line 3");
  here.done({"repair", "a.db"});
  CHECK(here.done({"read", "a.db"}) == "line 1\nline 2\n");
  CHECK(here.done({"read", "a.db", "--after", "1"}).empty());
  const auto tail = here.start({"tail", "a.db", "--after", "1", "--limit", "1"});
  here.done({"append", "a.db"}, "line 4\n");
  CHECK(tail->wait() == exited(0));
  CHECK(tail->output() == "line 4\n");
}

TEST_CASE("verify and repair draw a bar on a terminal, and take it away") {
  const log_fixture here;
  here.done({"create", "a.db"});
  here.done({"append", "a.db"}, std::string(3U << 20, 'x') + "\nsmall\n");
  for (const auto* command : {"verify", "repair"}) {
    terminal screen;
    screen.set_width(60);
    const auto running = here.start({command, "a.db"}, {.errors = screen.line(), .terminal = "xterm"});
    CHECK(running->wait() == exited(0));
    const auto shown = screen.shown();
    CHECK_MESSAGE(shown.find("%  3.0 MiB of 3.0 MiB") != std::string::npos, shown);
    CHECK_MESSAGE(shown.ends_with("\r\x1b[2K"), shown);
    CHECK(running->output().starts_with("a.db is sound: 2 entries (3.0 MiB)"));
    CHECK(here.run({command, "a.db"}).errors.empty());
  }
}

} // namespace
