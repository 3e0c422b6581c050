#include <weir/cli/files.hpp>

#include "../core/seeds.hpp"
#include "../jsonl/scratch.hpp"
#include "log_fixture.hpp"

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include <array>
#include <csignal>
#include <fcntl.h>
#include <map>
#include <set>
#include <string>
#include <unistd.h>

namespace {

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool is_sanitized = true;
#else
constexpr bool is_sanitized = false;
#endif
#else
constexpr bool is_sanitized = false; // g++ 12 runs without
#endif

using namespace weir::cli::test;
using weir::posix::file_descriptor;
namespace json = boost::json;

struct open_pipe {
  open_pipe() {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    reading = file_descriptor{ends[0]};
    writing = file_descriptor{ends[1]};
  }
  void write(std::string_view text) const { REQUIRE(weir::cli::write_all(writing.number(), text) == 0); }
  file_descriptor reading;
  file_descriptor writing;
};

/// The whole lines of offsets that were printed, in order.
std::vector<std::string> offsets_in(const std::string& output) {
  std::vector<std::string> all;
  for (const auto& line : lines_of(output.substr(0, output.rfind('\n') + 1)))
    if (line.find_first_not_of("0123456789:") == std::string::npos)
      all.push_back(line);
  return all;
}

/// SHARD:OFFSET and payload of everything in the log.
std::map<std::string, std::string> entries_in(const log_fixture& here, const std::string& file) {
  std::map<std::string, std::string> all;
  for (const auto& line : lines_of(here.done({"read", file, "--json"}))) {
    const auto one = json::parse(line).as_object();
    all.emplace(std::to_string(one.at("shard").as_int64()) + ":" + std::to_string(one.at("offset").as_int64()),
      json::value_to<std::string>(one.at("payload")));
  }
  return all;
}

TEST_CASE("a line is safe as soon as its offset is printed, while more is waited for") {
  const log_fixture here;
  here.done({"create", "a.db"});
  open_pipe input;
  const auto running = here.start({"append", "a.db", "--offsets"}, {.input = input.reading.number()});
  input.write("one\ntwo\nthr");
  REQUIRE(comes_true([&] { return running->output() == "0:0\n0:1\n"; }));
  CHECK(here.done({"read", "a.db"}) == "one\ntwo\n");
  input.write("ee\n");
  REQUIRE(comes_true([&] { return running->output() == "0:0\n0:1\n0:2\n"; }));
  input.writing.close();
  CHECK(running->wait() == exited(0));
  CHECK(here.done({"read", "a.db"}) == "one\ntwo\nthree\n");
}

TEST_CASE("append that is killed at any moment has every entry whose offset it printed") {
  const auto count = std::uint64_t{60'000};
  const auto input_text = numbered_lines(count);
  const auto lines = lines_of(input_text);
  for (const auto seed : core_tests::seeds(12)) {
    core_tests::random_source random{seed};
    const log_fixture here;
    const auto shards = random.between(1, 3);
    here.done({"create", "a.db", "--shards", std::to_string(shards)});
    put(here / "input", input_text);
    const file_descriptor input{::open((here / "input").c_str(), O_RDONLY | O_CLOEXEC)};
    const auto running = here.start({"append", "a.db", "--offsets"}, {.input = input.number()});
    const auto enough = static_cast<std::size_t>(random.below(count * 6));
    REQUIRE(comes_true([&] { return running->output().size() >= enough || running->wait_for({}); }));
    running->send(SIGKILL);
    running->wait();
    const auto safe = offsets_in(running->output());
    const auto there = entries_in(here, "a.db");
    std::size_t lost = 0;
    for (std::size_t number = 0; number < safe.size(); ++number) {
      const auto found = there.find(safe[number]);
      lost += found == there.end() || found->second != lines[number] ? 1 : 0;
    }
    CHECK_MESSAGE(lost == 0, safe.size(), " were printed; ", core_tests::replay(seed));
    CHECK(here.done({"verify", "a.db"}).starts_with("a.db is sound: "));
    CHECK(here.done({"append", "a.db"}, "goes on\n").starts_with("stored 1 entry, "));
  }
}

TEST_CASE("append on a full disk loses nothing that it acknowledged, and says what it did not store") {
  const adapter_tests::small_disk disk{2U << 20};
  if (!disk.is_there_for("append on a full disk loses nothing that it acknowledged, and says what it did not store"))
    return;
  const log_fixture here;
  const auto file = (disk / "a.db").native();
  here.done({"create", file});
  const auto text = numbered_lines(200'000);
  const auto full = here.run({"append", file, "--offsets"}, text);
  CHECK(full.end == exited(1));
  const auto safe = offsets_in(full.output);
  REQUIRE_FALSE(safe.empty());
  std::string expected{"weir log append: stored "};
  auto grouped = std::to_string(safe.size());
  for (auto at = static_cast<std::ptrdiff_t>(grouped.size()) - 3; at > 0; at -= 3)
    grouped.insert(static_cast<std::size_t>(at), 1, ',');
  expected += grouped + " entries, up to and with line " + std::to_string(safe.size()) + "; line "
              + std::to_string(safe.size() + 1)
              + " and what follows it were not stored, because: SQLite: database or disk is full (" + "code=storage_full, ";
  CHECK_MESSAGE(full.errors.starts_with(expected), full.errors);
  CHECK(offsets_in(full.output).size() == lines_of(full.output).size()); // and no line that says it was done
  const auto lines = lines_of(text);
  std::string stored;
  bool are_in_order = true;
  for (std::size_t number = 0; number < safe.size(); ++number) {
    are_in_order = are_in_order && safe[number] == "0:" + std::to_string(number);
    stored += lines[number] + "\n";
  }
  CHECK(are_in_order);
  CHECK(here.done({"read", file}) == stored);
  CHECK(here.done({"verify", file}).find(" is sound: ") != std::string::npos);

  // From standard input's first missing line on, it can go on where there is room.
  const auto report = here.run({"append", file, "--json"}, text);
  CHECK(report.end == exited(1));
  const auto object = json::parse(report.output).as_object();
  CHECK(object.at("first_missing_line").as_int64() == object.at("stored").as_int64() + 1);
  CHECK(object.at("error").at("code") == "storage_full");
}

TEST_CASE("a full disk keeps a log from being made, and says so") {
  const adapter_tests::small_disk disk{64U << 10};
  if (!disk.is_there_for("a full disk keeps a log from being made, and says so"))
    return;
  disk.fill(0);
  const log_fixture here;
  const auto refused = here.run({"create", (disk / "a.db").native()});
  CHECK(refused.end == exited(1));
  CHECK_MESSAGE(refused.errors.find("code=storage_full") != std::string::npos, refused.errors);
}

TEST_CASE("a line that is no entry stops append: what is before it is stored, and nothing behind") {
  const log_fixture here;
  here.done({"create", "a.db"});
  std::string lines;
  for (int number = 1; number <= 5000; ++number)
    lines += "{\"payload\":\"" + std::to_string(number) + "\"}\n";
  const auto bad = here.run({"append", "a.db", "--jsonl"}, lines + "\n{\"payload\":5001}\n" + lines);
  CHECK(bad.end == exited(1));
  CHECK(bad.output.empty());
  CHECK(bad.errors
        == "weir log append: stored 5,000 entries, up to and with line 5001; line 5002 and what follows it were not stored, "
           "because: line 5002: its payload is no text (code=bad_record)\n");
  CHECK(lines_of(here.done({"read", "a.db"})).size() == 5000);
  const auto first = here.run({"append", "a.db", "--jsonl", "--json"}, "nonsense");
  CHECK(first.end == exited(1));
  CHECK(json::parse(first.output).at("first_missing_line") == 1);
  const auto shard = here.run({"append", "a.db", "--jsonl"}, "{\"payload\":\"\",\"shard\":1}");
  CHECK(shard.errors.find("because: line 1 is for shard 1, and the topic has 1 shard (code=bad_record)") != std::string::npos);
  const auto option = here.run({"append", "a.db", "--shard", "1"}, "x\n");
  CHECK(option.end == exited(2));
}

TEST_CASE("an entry that is too large stops append, and is not read into memory") {
  const log_fixture here;
  here.done({"create", "a.db"});
  const std::string limit{"export WEIR_SQLITE_LARGEST_ENTRY=100; "};
  const auto large = here.shell(
    limit + "(echo small; head -c 100 /dev/zero; echo; head -c 101 /dev/zero; echo; echo behind) | weir log append a.db");
  CHECK(large.end == exited(1));
  CHECK(
    large.errors
    == "weir log append: stored 2 entries, up to and with line 2; line 3 and what follows it were not stored, because: line 3 "
       "has more than 100B (code=entry_too_large)\n");
  const auto keyed = here.shell(limit + "head -c 98 /dev/zero | weir log append a.db --key key");
  CHECK(keyed.errors.find("line 1 is an entry of 101 bytes, and the log takes 100 at most") != std::string::npos);
  // The address sanitizer itself takes more address space than any limit would leave.
  const std::string at_most{is_sanitized ? "" : "ulimit -v 4000000; "};
  const auto endless = here.shell(at_most + "head -c 3G /dev/zero | weir log append a.db");
  CHECK(endless.end == exited(1));
  CHECK_MESSAGE(endless.errors.find("line 1 has more than 16MiB") != std::string::npos, endless.errors);
}

TEST_CASE("a dedupe conflict stops append exactly there, wherever it stands among the lines") {
  for (const auto at : {1, 2, 500, 1024, 1025, 2999, 3000}) {
    for (const bool is_twin : {false, true}) {
      CAPTURE(at);
      CAPTURE(is_twin);
      const log_fixture here;
      here.done({"create", "a.db"});
      std::uint64_t before = 0;
      if (!is_twin) {
        here.done({"append", "a.db", "--jsonl"}, "{\"payload\":\"another\",\"dedupe\":\"taken\"}");
        before = 1;
      }
      std::string lines;
      for (int number = 1; number <= 3000; ++number) {
        const bool is_taken = number == at || (is_twin && at > 1 && number == 1);
        lines += "{\"payload\":\"" + std::to_string(number) + "\",\"dedupe\":\""
                 + (is_taken ? "taken" : "d" + std::to_string(number)) + "\"}\n";
      }
      const auto stopped = here.run({"append", "a.db", "--jsonl"}, lines);
      const bool conflicts = !is_twin || at > 1;
      CHECK(stopped.end == exited(conflicts ? 1 : 0));
      const auto stored = lines_of(here.done({"read", "a.db"}));
      CHECK(stored.size() == before + (conflicts ? static_cast<std::uint64_t>(at) - 1 : 3000));
      if (conflicts)
        CHECK_MESSAGE(
          stopped.errors.find("line " + std::to_string(at) + " and what follows it were not stored") != std::string::npos,
          stopped.errors);
      // A twin may be known by its line alone, or by where it was stored.
      const bool says_line = stopped.errors.find("a line above has the same dedupe key") != std::string::npos;
      const bool says_place = stopped.errors.find("first_shard=0, first_offset=0") != std::string::npos;
      if (conflicts)
        CHECK_MESSAGE((says_place || (is_twin && says_line)), stopped.errors);
    }
  }
}

TEST_CASE("a signal ends append, and everything that it read is stored") {
  for (const auto signal : {SIGINT, SIGTERM}) {
    const log_fixture here;
    here.done({"create", "a.db"});
    open_pipe input;
    const auto running = here.start({"append", "a.db", "--offsets"}, {.input = input.reading.number()});
    input.write("one\ntwo\ncut");
    REQUIRE(comes_true([&] { return running->output() == "0:0\n0:1\n"; }));
    running->send(signal);
    CHECK(running->wait() == exited(0));
    CHECK(running->output() == "0:0\n0:1\nstored 2 entries, cursor " + here.head("a.db") + "\n");
    CHECK(running->errors() == "weir log append: line 3 was not read to its end, and not stored\n");
    CHECK(here.done({"read", "a.db"}) == "one\ntwo\n");
  }
}

TEST_CASE("when nobody reads the offsets any more, append ends quietly, and what it read is stored") {
  const log_fixture here;
  here.done({"create", "a.db"});
  open_pipe input;
  open_pipe output;
  const auto running =
    here.start({"append", "a.db", "--offsets"}, {.input = input.reading.number(), .output = output.writing.number()});
  output.writing.close();
  input.write("one\n");
  std::array<char, 16> told{};
  CHECK(::read(output.reading.number(), told.data(), told.size()) == 4);
  output.reading.close();
  input.write("two\n");
  CHECK(running->wait() == exited(0));
  CHECK(running->errors().empty());
  CHECK(here.done({"read", "a.db"}) == "one\ntwo\n");
}

TEST_CASE("a file that may not grow is a full disk, and what is stored is said") {
  const log_fixture here;
  here.done({"create", "a.db"});
  const auto cut =
    here.shell("ulimit -f 400; for line in $(seq 2000); do printf '%0999d\\n' $line; done | weir log append a.db");
  CHECK(cut.end == exited(1));
  CHECK_MESSAGE(cut.errors.find("were not stored, because: ") != std::string::npos, cut.errors);
  CHECK(cut.errors.find("code=storage_full") != std::string::npos);
  CHECK(here.shell("weir log verify a.db").end == exited(0));
}

TEST_CASE("offsets that can't be written end append with 1, and no line is lost") {
  const log_fixture here;
  here.done({"create", "a.db"});
  const auto full = here.shell("echo one | weir log append a.db --offsets >/dev/full");
  CHECK(full.end == exited(1));
  CHECK(full.errors.starts_with(
    "weir: can't write to standard output: No space left on device\nweir log append: stored 1 entry, cursor "));
  CHECK(here.done({"read", "a.db"}) == "one\n");
}

TEST_CASE("what append can't read is said, with what it stored before") {
  const log_fixture here;
  here.done({"create", "a.db"});
  const auto folder = here.shell("weir log append a.db <.");
  CHECK(folder.end == exited(1));
  CHECK_MESSAGE(
    folder.errors.starts_with("weir log append: stored nothing; line 1 and what follows it were not stored, because: "
                              "standard input: "),
    folder.errors);
  const auto closed = here.shell("weir log append a.db <&-");
  CHECK(closed.end == exited(0));
}

TEST_CASE("two processes that append to one topic both get all of their lines in") {
  const log_fixture here;
  here.done({"create", "a.db"});
  const auto both =
    here.shell("seq 1 20000 | weir log append a.db >one & seq 20001 40000 | weir log append a.db >two; wait $!");
  CHECK(both.end == exited(0));
  CHECK_MESSAGE(both.errors.empty(), both.errors);
  const auto stored = lines_of(here.done({"read", "a.db"}));
  CHECK(stored.size() == 40'000);
  CHECK(std::set<std::string>{stored.begin(), stored.end()}.size() == 40'000);
}

} // namespace
