#include <weir/cli/files.hpp>

#include "log_fixture.hpp"

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include <csignal>
#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace {

using namespace weir::cli::test;
using namespace std::chrono_literals;
using weir::posix::file_descriptor;
namespace json = boost::json;

TEST_CASE("tail prints what another process appends, until a signal, and says where it ended") {
  const log_fixture here;
  here.done({"create", "a.db"});
  here.done({"append", "a.db"}, "before\n");
  const auto running = here.start({"tail", "a.db", "--after", "-1"});
  REQUIRE(comes_true([&] { return running->output() == "before\n"; }));
  for (int number = 1; number <= 5; ++number) {
    here.done({"append", "a.db"}, "entry " + std::to_string(number) + "\n");
    REQUIRE(comes_true([&] { return running->output().ends_with("entry " + std::to_string(number) + "\n"); }));
  }
  running->send(SIGTERM);
  CHECK(running->wait() == exited(0));
  CHECK(lines_of(running->output()).size() == 6);
  CHECK(running->errors() == "weir log tail: ended; --after " + here.head("a.db") + " goes on\n");
}

TEST_CASE("tail begins at the head, and ends at its limit") {
  const log_fixture here;
  here.done({"create", "a.db"});
  here.done({"append", "a.db"}, numbered_lines(100));
  const auto running = here.start({"tail", "a.db", "--limit", "2", "--json"});
  // Whenever it began: some of these come later.
  int number = 0;
  while (!running->wait_for({}) && number < 10'000)
    here.done({"append", "a.db"}, "new " + std::to_string(++number) + "\n");
  CHECK(running->wait() == exited(0));
  CHECK(running->errors().empty());
  const auto lines = lines_of(running->output());
  REQUIRE(lines.size() == 2);
  const auto first = json::parse(lines[0]).at("offset").as_int64();
  CHECK(first >= 100);
  CHECK(json::parse(lines[1]).at("offset").as_int64() == first + 1);
  CHECK(json::value_to<std::string>(json::parse(lines[0]).at("payload")) == "new " + std::to_string(first - 99));
}

TEST_CASE("tail merges shards in the order their entries came") {
  const log_fixture here;
  here.done({"create", "a.db", "--shards", "3"});
  std::string expected;
  for (int number = 0; number < 12; ++number) {
    const auto line = "entry " + std::to_string(number) + "\n";
    here.done({"append", "a.db", "--shard", std::to_string(number * 7 % 3)}, line);
    expected += line;
  }
  CHECK(here.done({"read", "a.db"}) != expected);
  const auto origin = json::value_to<std::string>(
    json::parse(here.done({"create", "a.db", "--topic", "empty", "--shards", "3", "--json"})).at("cursor"));
  CHECK(here.run({"tail", "a.db", "--topic", "main", "--after", origin, "--limit", "12"}).end == exited(2)); // another topic's
  const auto before = here.done({"read", "a.db", "--topic", "main", "--json", "--limit", "1"});
  const auto first = json::value_to<std::string>(json::parse(before).at("cursor"));
  // Behind the first entry of shard 0, which is the very first.
  CHECK("entry 0\n" + here.done({"tail", "a.db", "--topic", "main", "--after", first, "--limit", "11"}) == expected);
  const auto one = here.done({"tail", "a.db", "--topic", "main", "--after", first, "--limit", "4", "--shard", "1"});
  CHECK(one == "entry 1\nentry 4\nentry 7\nentry 10\n");
}

TEST_CASE("each line of a tail has a cursor that goes on behind it") {
  const log_fixture here;
  here.done({"create", "a.db", "--shards", "2"});
  for (int number = 0; number < 8; ++number)
    here.done({"append", "a.db", "--shard", std::to_string(number % 2)}, std::to_string(number) + "\n");
  auto cursor = json::value_to<std::string>(
    json::parse(lines_of(here.done({"read", "a.db", "--json", "--limit", "1"})).at(0)).at("cursor"));
  for (int number = 1; number < 8; ++number) {
    const auto line = json::parse(here.done({"tail", "a.db", "--json", "--limit", "1", "--after", cursor}));
    CHECK(line.at("payload") == json::value(std::to_string(number)));
    cursor = json::value_to<std::string>(line.at("cursor"));
  }
  CHECK(cursor == here.head("a.db"));
}

TEST_CASE("tail ends when nobody reads it, though nothing comes") {
  const log_fixture here;
  here.done({"create", "a.db"});
  here.done({"append", "a.db"}, "one\ntwo\n");
  const auto piped = here.shell("weir log tail a.db --after -1 | head -n 1");
  CHECK(piped.end == exited(0));
  CHECK(piped.output == "one\n");
  CHECK(piped.errors.empty());
}

TEST_CASE(
  "where standard output can't be written to, no entry is read or followed, and none stored whose offset is asked for") {
  const log_fixture here;
  here.done({"create", "a.db"});
  const file_descriptor read_only{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
  constexpr auto sentence = "weir: can't write to standard output: it is closed, or open for reading only\n";
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"tail", "a.db"},
         {"tail", "a.db", "--json", "--after", "-1"}, {"read", "a.db"}, {"append", "a.db", "--offsets"}, {"tail", "none.db"}}) {
    CAPTURE(words.front());
    const auto ended = here.start(words, {.output = read_only.number()});
    REQUIRE(ended->wait_for(60s) == exited(1));
    CHECK(ended->errors() == sentence);
  }
  const auto closed = here.shell("timeout 60 weir log tail a.db >&-; echo $? >&2; echo x | weir log append a.db --offsets >&-");
  CHECK(closed.end == exited(1));
  CHECK(closed.errors == sentence + std::string{"1\n"} + sentence);
  CHECK(here.done({"read", "a.db"}).empty());
}

TEST_CASE("a log can be read, followed and verified by who can't write it, and sees what others write") {
  const log_fixture here;
  if (::geteuid() != 0) {
    std::printf("SKIP a log can be read by who can't write it: only root can run a program as somebody else\n");
    return;
  }
  std::filesystem::permissions(here.path(), std::filesystem::perms{0755});
  here.done({"create", "a.db"});
  here.done({"append", "a.db"}, "one\n");
  const std::string as_nobody{"cd /; exec setpriv --reuid=65534 --regid=65534 --clear-groups "};
  const auto nobody = [&](const std::string& words) { return here.shell(as_nobody + WEIR_PROGRAM + " log " + words); };
  const auto file = (here / "a.db").native();
  if (nobody("--help").end != exited(0)) {
    std::printf("SKIP a log can be read by who can't write it: the program is where nobody else can run it\n");
    return;
  }
  CHECK(nobody("read " + file).output == "one\n");
  CHECK(nobody("head " + file).output.starts_with("main shard 0: earliest 0, head 1, 1 entry, "));
  CHECK(nobody("checkpoints " + file).end == exited(0));
  CHECK(nobody("snapshot --list " + file).end == exited(0));
  CHECK(nobody("verify " + file).end == exited(0));
  for (const auto* command : {"append", "create --topic b", "trim --through 0 --force", "snapshot", "repair",
         "checkpoints --drop x", "checkpoints --set x --to 0"}) {
    const auto refused = nobody(command + (" " + file));
    CHECK_MESSAGE(refused.end == exited(2), command);
    CHECK_MESSAGE(refused.errors.find("Permission denied (code=permission_denied)") != std::string::npos, refused.errors);
  }
  process tail{{"bash", "-c", as_nobody + WEIR_PROGRAM + " log tail --after -1 " + file}, here.path()};
  REQUIRE(comes_true([&] { return tail.output() == "one\n"; }));
  here.done({"append", "a.db"}, "two\n");
  REQUIRE(comes_true([&] { return tail.output() == "one\ntwo\n"; }));
  here.done({"append", "a.db"}, "three\n");
  REQUIRE(comes_true([&] { return tail.output() == "one\ntwo\nthree\n"; }));
  tail.send(SIGTERM);
  CHECK(tail.wait() == exited(0));
}

} // namespace
