#include <weir/cli/arguments.hpp>
#include <weir/cli/log_arguments.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

using namespace weir::cli;
using namespace std::chrono_literals;

log_arguments accepted(std::vector<std::string> given) {
  auto parsed = parse_log_arguments(given);
  const auto* end = std::get_if<early_end>(&parsed);
  REQUIRE_MESSAGE(end == nullptr, end->message);
  return std::get<log_arguments>(parsed);
}

template <class Request>
Request request(std::vector<std::string> given) {
  const auto read = accepted(std::move(given));
  REQUIRE(std::holds_alternative<Request>(read.what));
  return std::get<Request>(read.what);
}

early_end ended(std::vector<std::string> given) {
  auto parsed = parse_log_arguments(given);
  REQUIRE(std::holds_alternative<early_end>(parsed));
  return std::get<early_end>(parsed);
}

/// The mistake without where there is help.
std::string refused(std::vector<std::string> given) {
  const auto end = ended(std::move(given));
  CHECK(end.code == exit_code::usage);
  CHECK(end.output.empty());
  const auto help = end.message.find("\nTry \"weir log");
  CHECK_MESSAGE(help != std::string::npos, end.message);
  CHECK_MESSAGE(end.message.ends_with(" --help\".\n"), end.message);
  return end.message.substr(0, help);
}

TEST_CASE("weir log takes a command, a file, and options in any order") {
  const auto read = accepted({"read", "--json", "events.db", "--topic", "orders", "--limit=3"});
  CHECK(read.command == "read");
  CHECK(read.file == "events.db");
  CHECK(read.topic == "orders");
  CHECK(read.json);
  CHECK(accepted({"head", "--", "-strange.db"}).file == "./-strange.db");
  CHECK_FALSE(accepted({"head", "a.db"}).topic);
  auto whole = parse_arguments(std::vector<std::string>{"log", "tail", "a.db"});
  REQUIRE(std::holds_alternative<log_arguments>(whole));
  CHECK(std::get<log_arguments>(whole).command == "tail");
}

TEST_CASE("what each command is asked for") {
  CHECK(request<log_create>({"create", "a"}).shards == 1);
  CHECK_FALSE(request<log_create>({"create", "a"}).dedupe_horizon);
  const auto create = request<log_create>({"create", "a", "--shards", "4096", "--dedupe-horizon", "1099511627776"});
  CHECK(create.shards == 4096);
  CHECK(create.dedupe_horizon == std::uint64_t{1} << 40);

  const auto append = request<log_append>({"append", "a", "--key", "--k", "--shard", "4095", "--jsonl", "--offsets"});
  CHECK(append.key == "--k");
  CHECK(append.shard == 4095);
  CHECK(append.reads_jsonl);
  CHECK(append.tells_offsets);

  const auto read = request<log_read>({"read", "a", "--after", "-1", "--limit", "4611686018427387904", "--shard", "0"});
  CHECK(read.after == "-1");
  CHECK(read.limit == std::uint64_t{1} << 62);
  CHECK(read.shard == 0);
  CHECK_FALSE(read.follows);
  CHECK(request<log_read>({"tail", "a"}).follows);

  const auto trim = request<log_trim>(
    {"trim", "a", "--through", "7", "--force", "--hold-entries", "0", "--hold-bytes", "2 MiB", "--hold-age", "48h"});
  CHECK(trim.through == "7");
  CHECK(trim.force);
  CHECK(trim.budget.entries == 0);
  CHECK(trim.budget.bytes == 2U << 20);
  CHECK(trim.budget.age == std::chrono::nanoseconds{48h});
  const auto plain = request<log_trim>({"trim", "a", "--through", "7"});
  CHECK_FALSE(plain.force);
  CHECK_FALSE(plain.budget.entries);
  CHECK_FALSE(plain.budget.bytes);
  CHECK_FALSE(plain.budget.age);

  CHECK_FALSE(request<log_snapshot>({"snapshot", "a"}).at);
  CHECK(request<log_snapshot>({"snapshot", "a", "--at", "3"}).at == "3");
  CHECK(request<log_snapshot_read>({"snapshot", "a", "--read", "3"}).id == 3);
  (void)request<log_snapshot_list>({"snapshot", "a", "--list"});

  (void)request<log_checkpoint_list>({"checkpoints", "a"});
  CHECK(request<log_checkpoint_drop>({"checkpoints", "a", "--drop", "c"}).consumer == "c");
  const auto set = request<log_checkpoint_set>({"checkpoints", "a", "--to", "4", "--set", "c"});
  CHECK(set.consumer == "c");
  CHECK(set.to == "4");

  CHECK_FALSE(request<log_scrub>({"verify", "a"}).repairs);
  CHECK(request<log_scrub>({"repair", "a"}).repairs);
}

TEST_CASE("each command has help with an example, and the list has all of them") {
  const auto whole = ended({"--help"});
  CHECK(whole.code == exit_code::done);
  CHECK(whole.message.empty());
  for (const auto* part : {"Example:", "Exit codes:"})
    CHECK(whole.output.find(part) != std::string::npos);
  for (const auto* name : {"create", "append", "read", "tail", "head", "trim", "snapshot", "checkpoints", "verify", "repair"}) {
    CHECK_MESSAGE(whole.output.find("\n  " + std::string{name} + " ") != std::string::npos, name);
    for (const auto* option : {"--help", "-h"}) {
      const auto one = ended({name, option});
      CHECK(one.code == exit_code::done);
      CHECK(one.message.empty());
      const auto example = one.output.find("Example:\n");
      REQUIRE_MESSAGE(example != std::string::npos, one.output);
      CHECK_MESSAGE(one.output.find("weir log " + std::string{name} + " events.db", example) != std::string::npos, one.output);
    }
  }
  const auto none = ended({});
  CHECK(none.code == exit_code::usage);
  CHECK(none.output.empty());
  CHECK(none.message == whole.output);
}

TEST_CASE("what is wrong with a log's command line is told in a sentence, with what was meant") {
  CHECK(refused({"raed", "a"}) == "weir log: there is no command \"raed\"; did you mean \"read\"?");
  CHECK(refused({"fetch"})
        == "weir log: there is no command \"fetch\"; expected \"create\", \"append\", \"read\", \"tail\", \"head\", \"trim\", "
           "\"snapshot\", \"checkpoints\", \"verify\" or \"repair\"");
  CHECK(refused({"--json", "read", "a"}) == "weir log: the command comes first, then its options: \"--json\" stands before it");
  CHECK(refused({"read"}) == "weir log read: the log's FILE is missing, as in \"weir log read events.db\"");
  CHECK(refused({"read", ""}) == "weir log read: the log's FILE is missing, as in \"weir log read events.db\"");
  CHECK(refused({"read", "a", "b"}) == "weir log read: \"b\" is one argument too many");
  CHECK(refused({"read", "--aftr", "3", "a"}) == "weir log read: there is no option \"--aftr\"; did you mean \"--after\"?");
  CHECK(refused({"read", "--aftr=3", "a"}) == "weir log read: there is no option \"--aftr\"; did you mean \"--after\"?");
  CHECK(refused({"read", "--aftr"}) == "weir log read: there is no option \"--aftr\"; did you mean \"--after\"?");
  CHECK(refused({"verify", "a", "--topic", "b"})
        == "weir log verify: there is no option \"--topic\"; expected \"--json\" or \"--help\"");
  CHECK(refused({"read", "a", "--after"}) == "weir log read: --after needs a value: --after CURSOR");
  CHECK(refused({"read", "a", "--json=yes"}) == "weir log read: --json takes no value");
  CHECK(refused({"read", "a", "--after", "1", "--after", "2"}) == "weir log read: --after is given twice");
}

TEST_CASE("numbers that are absurd are refused with what would be right") {
  for (const auto* wrong : {"0", "-1", "1e9", "18446744073709551616", "4611686018427387905", "five", "1.5", " 1", ""})
    CHECK(
      refused({"read", "a", "--limit", wrong})
      == "weir log read: --limit takes a whole number from 1 to 4611686018427387904; \"" + std::string{wrong} + "\" is none");
  CHECK(refused({"tail", "a", "--shard", "4096"})
        == "weir log tail: --shard takes a whole number from 0 to 4095; \"4096\" is none");
  CHECK(refused({"create", "a", "--shards", "0"})
        == "weir log create: --shards takes a whole number from 1 to 4096; \"0\" is none");
  CHECK(refused({"create", "a", "--dedupe-horizon", "1099511627777"})
        == "weir log create: --dedupe-horizon takes a whole number from 1 to 1099511627776; \"1099511627777\" is none");
  CHECK(refused({"snapshot", "a", "--read", "0"})
        == "weir log snapshot: --read takes a whole number from 1 to 9223372036854775807; \"0\" is none");
  for (const auto* wrong : {"1TB", "-1", "99999999999GiB", ""})
    CHECK(refused({"trim", "a", "--through", "1", "--hold-bytes", wrong})
          == "weir log trim: --hold-bytes takes a number of bytes, as in 4096, 64KiB, 16MiB or 2GiB; \"" + std::string{wrong}
               + "\" is none");
  for (const auto* wrong : {"2 days", "10", "876001h", "-1s"})
    CHECK(refused({"trim", "a", "--through", "1", "--hold-age", wrong})
          == "weir log trim: --hold-age takes a time of at most 876000h, as in 30s, 10min or 48h; \"" + std::string{wrong}
               + "\" is none");
}

TEST_CASE("what can't be asked for together, or alone, is refused") {
  CHECK(refused({"trim", "a"}) == "weir log trim: --through CURSOR is missing: it says which entries are to go");
  CHECK(refused({"snapshot", "a", "--list", "--read", "1"}) == "weir log snapshot: --list and --read exclude each other");
  CHECK(refused({"snapshot", "a", "--at", "1", "--read", "1"}) == "weir log snapshot: --at and --read exclude each other");
  CHECK(refused({"checkpoints", "a", "--drop", "x", "--set", "x", "--to", "1"})
        == "weir log checkpoints: --drop and --set exclude each other");
  CHECK(refused({"checkpoints", "a", "--set", "x"}) == "weir log checkpoints: --set CONSUMER and --to CURSOR belong together");
  CHECK(refused({"checkpoints", "a", "--to", "1"}) == "weir log checkpoints: --set CONSUMER and --to CURSOR belong together");
  CHECK(refused({"append", "a", "--key", ""})
        == "weir log append: --key takes a key of one byte or more; leave it out for entries without one");
}

TEST_CASE("a topic's name is checked before anything is touched") {
  CHECK(refused({"create", "a", "--topic", ""}).starts_with("weir log create: --topic \"\": "));
  CHECK(refused({"create", "a", "--topic", "\xff"}).starts_with("weir log create: --topic \"\\xFF\": "));
  CHECK(refused({"create", "a", "--topic", std::string(250, 'x')}).find("249 bytes") != std::string::npos);
  CHECK(accepted({"create", "a", "--topic", std::string(249, 'x')}).topic == std::string(249, 'x'));
}

TEST_CASE("control characters in a log's arguments do not reach the terminal") {
  for (const auto& given : std::vector<std::vector<std::string>>{
         {"\x1b[2J"}, {"read", "a", "\x1b[2J"}, {"read", "--\x1b[2J"}, {"read", "a", "--limit", "\x1b[2J"}})
    CHECK(refused(given).find('\x1b') == std::string::npos);
}

} // namespace
