#include "child_pipeline.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

using weir::errc;
using weir::git::child_pipeline;
using weir::git::command;
using weir::git::interruption;
using readiness = child_pipeline::readiness;

namespace {

constexpr std::chrono::minutes long_enough{5};

command shell(std::string script) {
  return {"sh", {"/bin/sh", "-c", std::move(script)}};
}

struct everything {
  std::string output;
  weir::git::pipeline_end end;
};

everything run(const std::vector<command>& commands, const std::vector<std::string>& environment = {}) {
  const interruption never;
  auto started = child_pipeline::start(commands, environment, never);
  REQUIRE(started);
  everything seen;
  std::array<char, 65536> piece{};
  for (;;) {
    auto got = started.value().read(piece.data(), piece.size(), long_enough);
    REQUIRE(got);
    REQUIRE(got.value().is != readiness::quiet);
    if (got.value().is == readiness::end)
      break;
    seen.output.append(piece.data(), got.value().size);
  }
  auto end = started.value().finish();
  REQUIRE(end);
  seen.end = std::move(end).value();
  return seen;
}

std::string line_from(child_pipeline& from) {
  std::string line;
  char one = 0;
  while (line.empty() || line.back() != '\n') {
    auto got = from.read(&one, 1, long_enough);
    REQUIRE(got);
    REQUIRE(got.value().is == readiness::data);
    line += one;
  }
  return line;
}

bool is_there(pid_t id) {
  return ::kill(id, 0) == 0 || errno != ESRCH;
}

std::size_t open_files() {
  const std::filesystem::directory_iterator files{"/proc/self/fd"};
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

} // namespace

TEST_CASE("programs are connected as in a shell, and see the given environment only") {
  const auto seen =
    run({shell("printf '%s\\n' b a; echo $SECRET"), shell("/usr/bin/sort"), shell("/usr/bin/tr a-z A-Z; cat; echo $GIVEN")},
      {"GIVEN=given", "PATH=/usr/bin:/bin"});
  CHECK(seen.output == "\nA\nB\ngiven\n");
  CHECK(seen.end.exit_status == 0);
  CHECK(seen.end.failed.empty());
}

TEST_CASE("a flood of errors beside the output blocks nobody, and its beginning is kept") {
  const auto seen =
    run({shell("i=0; while [ $i -lt 3000 ]; do echo error-$i-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx >&2; "
               "echo output-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; i=$((i+1)); done; exit 3")});
  CHECK(seen.output.size() == 3000 * 61);
  CHECK(seen.end.exit_status == 3);
  CHECK(seen.end.failed == "sh");
  CHECK(seen.end.standard_error.size() == 8192);
  CHECK(seen.end.standard_error.starts_with("error-0-"));
}

TEST_CASE("errors that are written behind the end of the output are read too") {
  const auto seen =
    run({shell("exec >&-; i=0; while [ $i -lt 5000 ]; do echo 0123456789012345678901234567890123456789 >&2; i=$((i+1)); "
               "done; exit 5")});
  CHECK(seen.output.empty());
  CHECK(seen.end.exit_status == 5);
  CHECK(seen.end.standard_error.size() == 8192);
}

TEST_CASE("the failure that is told is the one that caused the others") {
  const auto broken =
    run({{"writer", {"/bin/sh", "-c", "exec /usr/bin/yes"}}, {"reader", {"/bin/sh", "-c", "echo no >&2; exit 7"}}});
  CHECK(broken.end.failed == "reader");
  CHECK(broken.end.exit_status == 7);
  CHECK(broken.end.standard_error == "no\n");
  const auto first = run({{"writer", {"/bin/sh", "-c", "exit 4"}}, {"reader", {"/bin/cat"}}});
  CHECK(first.end.failed == "writer");
  CHECK(first.end.exit_status == 4);
  const auto signalled = run({shell("kill -TERM $$")});
  CHECK(signalled.end.exit_status == 128 + SIGTERM);
  const auto cut_off = run({{"writer", {"/bin/sh", "-c", "exec /usr/bin/yes"}}, {"reader", {"/usr/bin/head", "-c4"}}});
  CHECK(cut_off.output == "y\ny\n");
  CHECK(cut_off.end.failed == "writer");
  CHECK(cut_off.end.exit_status == 128 + SIGPIPE);
}

TEST_CASE("a missing program is named, a forbidden one too, and nothing is left open") {
  const interruption never;
  const auto before = open_files();
  {
    auto started = child_pipeline::start({{"it", {"no-such-program-anywhere"}}}, {}, never);
    REQUIRE_FALSE(started);
    CHECK(started.error() == errc::not_found);
    CHECK(started.error().fact_of("program") == "no-such-program-anywhere");
    CHECK(child_pipeline::start({{"it", {"/etc/passwd"}}}, {}, never).error() == errc::permission_denied);
    // The one that could be started does not outlive the failure.
    CHECK(child_pipeline::start({shell("exec sleep 600"), {"it", {"/no/such"}}}, {}, never).error() == errc::not_found);
  }
  CHECK(open_files() == before);
}

TEST_CASE("whoever is dropped is killed and reaped") {
  const interruption never;
  const auto before = open_files();
  std::vector<pid_t> ids;
  {
    auto started =
      child_pipeline::start({shell("trap '' TERM PIPE; echo $$; while :; do sleep 600; done"), shell("echo $$; exec cat")},
        {"PATH=/usr/bin:/bin"}, never);
    REQUIRE(started);
    ids.push_back(std::stoi(line_from(started.value())));
    ids.push_back(std::stoi(line_from(started.value())));
    char one = 0;
    auto nothing = started.value().read(&one, 1, std::chrono::milliseconds{1});
    REQUIRE(nothing);
    CHECK(nothing.value().is == readiness::quiet);
    auto moved = std::move(started).value();
    for (const auto id : ids) {
      CHECK(is_there(id));
      CHECK(::getpgid(id) == id); // a terminal's ctrl-C is not for them
    }
  }
  for (const auto id : ids)
    CHECK_FALSE(is_there(id));
  CHECK(open_files() == before);
}

TEST_CASE("an interruption from another thread ends a wait, and every later one") {
  interruption interrupted;
  auto started = child_pipeline::start({shell("exec >&2; exec sleep 600")}, {"PATH=/usr/bin:/bin"}, interrupted);
  REQUIRE(started);
  auto other = child_pipeline::start({shell("exec sleep 600")}, {"PATH=/usr/bin:/bin"}, interrupted);
  REQUIRE(other);
  std::thread interrupter{[&] { interrupted.raise(); }};
  char one = 0;
  auto waited = other.value().read(&one, 1, long_enough);
  interrupter.join();
  REQUIRE_FALSE(waited);
  CHECK(waited.error() == errc::cancelled);
  CHECK(other.value().read(&one, 1, long_enough).error() == errc::cancelled);
  CHECK(started.value().finish().error() == errc::cancelled);
}

TEST_CASE("signals that the caller ignores or blocks are not inherited") {
  const auto old = std::signal(SIGPIPE, SIG_IGN);
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto seen = run({{"cat", {"/bin/cat", "/proc/self/status"}}});
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  std::signal(SIGPIPE, old);
  const auto mask = [&](const std::string& name) {
    const auto at = seen.output.find(name + ":\t");
    REQUIRE(at != std::string::npos);
    return std::stoull(seen.output.substr(at + name.size() + 2, 16), nullptr, 16);
  };
  CHECK(mask("SigBlk") == 0);
  CHECK((mask("SigIgn") & (1u << (SIGPIPE - 1))) == 0);
}
