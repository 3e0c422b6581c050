#include <weir/cli/console.hpp>
#include <weir/cli/files.hpp>
#include <weir/cli/log.hpp>

#include "terminal.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace {

using namespace weir;
using namespace weir::cli;
using weir::cli::test::terminal;

/// A pipe, of which everything that was written so far can be read.
class pipe {
public:
  pipe() {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
    out_ = posix::file_descriptor{ends[0]};
    in_ = posix::file_descriptor{ends[1]};
  }
  int in() const { return in_.number(); }
  std::string content() {
    std::array<char, 4096> piece{};
    const auto count = ::read(out_.number(), piece.data(), piece.size());
    return count > 0 ? std::string{piece.data(), static_cast<std::size_t>(count)} : std::string{};
  }
  void close_reader() { out_.close(); }

private:
  posix::file_descriptor out_;
  posix::file_descriptor in_;
};

TEST_CASE("on a terminal the status line is redrawn in place and stays below the lines") {
  terminal here;
  console to{here.line()};
  REQUIRE(to.is_terminal());
  to.line("first");
  CHECK(here.shown() == "first\n");
  to.status("10 changes");
  CHECK(here.shown() == "\r\x1b[2K10 changes");
  to.status("10 changes");
  CHECK(here.shown() == "");
  to.status("20 changes");
  CHECK(here.shown() == "\r\x1b[2K20 changes");
  to.line("second");
  CHECK(here.shown() == "\r\x1b[2Ksecond\n20 changes");
  to.status("");
  CHECK(here.shown() == "\r\x1b[2K");
  to.line("third");
  CHECK(here.shown() == "third\n");
  to.status("30");
  to.abandon();
  CHECK(here.shown() == "\r\x1b[2K30\r\x1b[2K");
}

TEST_CASE("the width is the terminal's, as of now") {
  terminal here;
  const console to{here.line()};
  here.set_width(132);
  CHECK(to.width() == 132);
  here.set_width(40);
  CHECK(to.width() == 40);
  here.set_width(0);
  CHECK(to.width() == 80);
}

TEST_CASE("a terminal that takes no commands has no status line") {
  terminal here;
  ::setenv("TERM", "dumb", 1);
  console to{here.line()};
  CHECK_FALSE(to.is_terminal());
  to.status("10 changes");
  to.line("first");
  CHECK(here.shown() == "first\n");
}

TEST_CASE("in a pipe there are lines only") {
  pipe there;
  console to{there.in()};
  CHECK_FALSE(to.width().has_value());
  to.status("10 changes");
  to.line("first");
  to.status("");
  to.abandon();
  CHECK(there.content() == "first\n");
}

TEST_CASE("entries as text") {
  using namespace std::chrono_literals;
  log_entry entry{std::chrono::sys_days{std::chrono::January / 2 / 2026} + 3h + 4min + 5s + 67ms, severity::info, "hello", {}};
  CHECK(to_text(entry) == "2026-01-02T03:04:05.067Z info    hello");
  entry.level = severity::warning;
  entry.facts = {{"lane", "files"}, {"reason", "no space left"}, {"empty", ""}, {"bytes", "\x1b\xff"}};
  CHECK(to_text(entry)
        == "2026-01-02T03:04:05.067Z warning hello (lane=files, reason=\"no space left\", empty=\"\", bytes=\"\\x1B\\xFF\")");
  entry.facts.clear();
  entry.message = "two\nlines";
  CHECK(to_text(entry) == "2026-01-02T03:04:05.067Z warning two\\x0Alines");
}

TEST_CASE("entries as JSON") {
  using namespace std::chrono_literals;
  log_entry entry{std::chrono::sys_days{std::chrono::January / 2 / 2026} + 67ms, severity::error, "say \"hi\"\n", {}};
  CHECK(to_json(entry) == R"({"time":"2026-01-02T00:00:00.067Z","level":"error","message":"say \"hi\"\n"})");
  entry.facts = {{"path", "caf\xe9"}};
  CHECK(
    to_json(entry)
    == "{\"time\":\"2026-01-02T00:00:00.067Z\",\"level\":\"error\",\"message\":\"say \\\"hi\\\"\\n\",\"facts\":{\"path\":\"caf"
       "\xef\xbf\xbd\"}}");
}

TEST_CASE("a quiet log tells warnings and errors only") {
  pipe there;
  console to{there.in()};
  cli::log quiet{to, {.json = false, .quiet = true}};
  quiet.info("nothing to see");
  CHECK(there.content() == "");
  quiet.warning("look");
  CHECK(there.content().find(" warning look\n") != std::string::npos);
  quiet.failure(error{errc::in_use, "taken", {{"pid", "5"}}});
  CHECK(there.content().find(" error   taken (code=in_use, pid=5)\n") != std::string::npos);
}

TEST_CASE("a log is stamped with the time") {
  pipe there;
  console to{there.in()};
  cli::log log{to, {}};
  const auto before = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  log.info("now");
  const auto line = there.content();
  CHECK(line.size() > 30);
  CHECK(line >= to_text(log_entry{before, severity::info, {}, {}}).substr(0, 19));
}

} // namespace
