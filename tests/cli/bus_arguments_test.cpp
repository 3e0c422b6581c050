#include <weir/cli/arguments.hpp>
#include <weir/cli/bus_arguments.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace {

using namespace weir::cli;
using namespace std::chrono_literals;
using weir::drop_policy;

/// The command, --bus with a URL, and more.
std::vector<std::string> line(std::string command, std::vector<std::string> more) {
  std::vector<std::string> words{std::move(command), "--bus", "postgres://localhost/app"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

bus_arguments accepted(std::vector<std::string> given) {
  auto parsed = parse_bus_arguments(given);
  const auto* end = std::get_if<early_end>(&parsed);
  REQUIRE_MESSAGE(end == nullptr, end->message);
  return std::get<bus_arguments>(parsed);
}

template <class Request>
Request request(std::vector<std::string> given) {
  const auto read = accepted(std::move(given));
  REQUIRE(std::holds_alternative<Request>(read.what));
  return std::get<Request>(read.what);
}

early_end ended(std::vector<std::string> given) {
  auto parsed = parse_bus_arguments(given);
  REQUIRE(std::holds_alternative<early_end>(parsed));
  return std::get<early_end>(parsed);
}

/// The mistake without where there is help.
std::string refused(std::vector<std::string> given) {
  const auto end = ended(std::move(given));
  CHECK(end.code == exit_code::usage);
  CHECK(end.output.empty());
  const auto help = end.message.find("\nTry \"weir bus");
  CHECK_MESSAGE(help != std::string::npos, end.message);
  CHECK_MESSAGE(end.message.ends_with(" --help\".\n"), end.message);
  return end.message.substr(0, help);
}

TEST_CASE("weir bus takes a topic that begins with a dash behind the mark, as it stands") {
  for (const auto* topic : {"-x", "--", "--json", "./-x"})
    CHECK(request<bus_subscribe>({"subscribe", "--bus", "postgres://localhost/app", "--", topic}).topic == topic);
  CHECK(request<bus_publish>({"publish", "--bus", "postgres://localhost/app", "--", "-x"}).topic == "-x");
}

TEST_CASE("weir bus takes a command, a topic, and options in any order") {
  const auto read = accepted({"subscribe", "--json", "changed/orders", "--bus", "postgres://localhost/app", "--channel=c"});
  CHECK(read.command == "subscribe");
  CHECK(read.where == bus_place{"postgres://localhost/app", "c"});
  CHECK(read.json);
  CHECK(std::get<bus_subscribe>(read.what).topic == "changed/orders");
  CHECK(accepted(line("stat", {})).where.channel == "weir_bus");
  CHECK_FALSE(accepted(line("stat", {})).json);
  CHECK(accepted({"stat", "--bus", "postgresql://localhost"}).where.url == "postgresql://localhost");
  auto whole = parse_arguments(std::vector<std::string>{"bus", "stat", "--bus", "postgres://localhost"});
  REQUIRE(std::holds_alternative<bus_arguments>(whole));
  CHECK(std::get<bus_arguments>(whole).command == "stat");
}

TEST_CASE("what each command of a bus is asked for") {
  const auto plain = request<bus_publish>(line("publish", {"t"}));
  CHECK(plain.topic == "t");
  CHECK(plain.key.empty());
  CHECK(request<bus_publish>(line("publish", {"t", "--key", "--k"})).key == "--k");
  CHECK(request<bus_publish>(line("publish", {"t", "--key", ""})).key.empty());

  const auto usual = request<bus_subscribe>(line("subscribe", {"t"}));
  CHECK(usual.topic == "t");
  CHECK_FALSE(usual.count);
  CHECK(usual.policy == drop_policy::drop_newest);
  CHECK(usual.buffer == 1024);
  const auto other = request<bus_subscribe>(line("subscribe", {"t", "--count", "4611686018427387904", "--buffer", "1048576"}));
  CHECK(other.count == std::uint64_t{1} << 62);
  CHECK(other.buffer == std::size_t{1} << 20);

  CHECK(request<bus_stat>(line("stat", {})).time == 6s);
  CHECK(request<bus_stat>(line("stat", {"--for", "1min"})).time == 60s);
  CHECK(request<bus_stat>(line("stat", {"--for=250ms"})).time == 250ms);
}

TEST_CASE("each policy has its name") {
  const std::pair<const char*, drop_policy> all[]{{"drop-newest", drop_policy::drop_newest},
    {"drop-oldest", drop_policy::drop_oldest}, {"conflate", drop_policy::conflate}, {"last-by-key", drop_policy::last_by_key},
    {"end", drop_policy::end}};
  for (const auto& [name, policy] : all)
    CHECK(request<bus_subscribe>(line("subscribe", {"t", "--policy", name})).policy == policy);
  for (const auto* wrong : {"drop_newest", "End", "", "last-by-keys"})
    CHECK(refused(line("subscribe", {"t", "--policy", wrong}))
          == "weir bus subscribe: --policy takes \"drop-newest\", \"drop-oldest\", \"conflate\", \"last-by-key\" or \"end\"; \""
               + std::string{wrong} + "\" is none");
}

TEST_CASE("each command of a bus has help with an example, and the list has all of them") {
  const auto whole = ended({"--help"});
  CHECK(whole.code == exit_code::done);
  CHECK(whole.message.empty());
  for (const auto* part : {"Example:", "Exit codes:"})
    CHECK(whole.output.find(part) != std::string::npos);
  for (const auto* name : {"publish", "subscribe", "stat"}) {
    CHECK_MESSAGE(whole.output.find("\n  " + std::string{name} + " ") != std::string::npos, name);
    for (const auto* option : {"--help", "-h"}) {
      const auto one = ended({name, option});
      CHECK(one.code == exit_code::done);
      CHECK(one.message.empty());
      const auto example = one.output.find("Example:\n");
      REQUIRE_MESSAGE(example != std::string::npos, one.output);
      CHECK_MESSAGE(
        one.output.find("weir bus " + std::string{name} + " --bus postgres://localhost/app", example) != std::string::npos,
        one.output);
    }
  }
  const auto none = ended({});
  CHECK(none.code == exit_code::usage);
  CHECK(none.output.empty());
  CHECK(none.message == whole.output);
}

TEST_CASE("what is wrong with a bus's command line is told in a sentence, with what was meant") {
  CHECK(refused({"sub"}).starts_with("weir bus: there is no command \"sub\"; "));
  CHECK(refused({"publsh"}) == "weir bus: there is no command \"publsh\"; did you mean \"publish\"?");
  CHECK(refused({"tail"}).starts_with("weir bus: there is no command \"tail\"; "));
  CHECK(refused({"--json", "stat"}) == "weir bus: the command comes first, then its options: \"--json\" stands before it");
  for (const auto* command : {"publish", "subscribe"}) {
    const auto missing =
      std::string{"weir bus "} + command + ": the TOPIC is missing, as in \"weir bus " + command + " changed/orders\"";
    CHECK(refused(line(command, {})) == missing);
    CHECK(refused(line(command, {""})) == missing);
    CHECK(refused(line(command, {"a", "b"})) == std::string{"weir bus "} + command + ": \"b\" is one argument too many");
  }
  CHECK(refused(line("stat", {"t"})) == "weir bus stat: \"t\" is one argument too many");
  CHECK(refused(line("stat", {"--fr", "1s"})) == "weir bus stat: there is no option \"--fr\"; did you mean \"--for\"?");
  CHECK(refused(line("publish", {"t", "--count", "1"})).starts_with("weir bus publish: there is no option \"--count\"; "));
  CHECK(refused(line("subscribe", {"t", "--key", "k"})).starts_with("weir bus subscribe: there is no option \"--key\"; "));
  CHECK(refused(line("stat", {"--for"})) == "weir bus stat: --for needs a value: --for DURATION");
  CHECK(refused({"stat", "--bus"}) == "weir bus stat: --bus needs a value: --bus URL");
  CHECK(refused(line("stat", {"--json=yes"})) == "weir bus stat: --json takes no value");
  CHECK(refused(line("stat", {"--bus", "postgres://b"})) == "weir bus stat: --bus is given twice");
}

TEST_CASE("a bus that can't be there is refused, with the reason") {
  for (const auto* command : {"publish", "subscribe"})
    CHECK(refused({command, "t"})
          == std::string{"weir bus "} + command + ": --bus URL is missing, as in --bus postgres://localhost/app");
  CHECK(refused({"stat"}) == "weir bus stat: --bus URL is missing, as in --bus postgres://localhost/app");
  for (const auto* url : {"memory:", "memory://here"})
    CHECK(refused({"stat", "--bus", url})
          == "weir bus stat: --bus: a bus in memory ends with its process, and nobody outside would hear it; expected a URL "
             "such as postgres://localhost/app");
  CHECK(refused({"stat", "--bus", "nats://localhost"})
        == "weir bus stat: --bus: \"nats\" is no kind of bus; expected a URL such as postgres://localhost/app");
  for (const auto* url : {"", "localhost", "host=localhost dbname=app", "postgres:/localhost", "POSTGRES"})
    CHECK(
      refused({"stat", "--bus", url}) == "weir bus stat: --bus: it is no URL; expected a URL such as postgres://localhost/app");
}

TEST_CASE("a password is never said back") {
  for (const auto* url : {"nats://u:secret@localhost", "host=localhost password=secret", "u:secret@localhost/app", "secret",
         "postgres:u:secret@localhost", "memory:secret", "memory://u:secret@x", "u:secret@localhost://app"})
    CHECK_MESSAGE(refused({"stat", "--bus", url}).find("secret") == std::string::npos, url);
  const std::string sound{"postgres://u:secret@localhost/app"};
  for (const auto& given : std::vector<std::vector<std::string>>{{"publish", "--bus", sound}, {"stat", "--bus", sound, "extra"},
         {"stat", "--bus", sound, sound}, {"stat", "--bus", sound, "--bus", sound}, {"stat", "--buss", sound},
         {"stat", "--buss=" + sound}, {"stat", "--bus", sound, "--for", sound}, {sound}, {"stat", sound},
         {"publish", sound, sound}, {"publish", sound}, {"publish", "--bus", sound, sound + std::string(257, 'x')},
         {"subscribe", "--bus", sound, "t", "--policy", sound},
         {"stat", "--bus", sound, "--channel", sound + std::string(64, 'x')},
         {"stat", "--bus", sound, "host=localhost password=secret"}})
    CHECK_MESSAGE(refused(given).find("secret") == std::string::npos, given.back());
}

TEST_CASE("a topic and a channel are checked before anything is touched") {
  for (const auto* command : {"publish", "subscribe"}) {
    CHECK(refused(line(command, {std::string(257, 'x')})).find(": a bus topic ") != std::string::npos);
    CHECK(refused(line(command, {"a\xff"})).starts_with(std::string{"weir bus "} + command + ": the topic \"a\\xFF\": "));
  }
  CHECK(request<bus_publish>(line("publish", {std::string(256, 'x')})).topic.size() == 256);
  CHECK(accepted(line("stat", {"--channel", std::string(63, 'c')})).where.channel.size() == 63);
  for (const auto& wrong : {std::string(64, 'c'), std::string{}, std::string{"\xff"}})
    CHECK(refused(line("stat", {"--channel", wrong})).ends_with(": a channel has 1 to 63 bytes of UTF-8 without NUL"));
}

TEST_CASE("numbers, times and keys that no bus takes are refused with what would be right") {
  for (const auto* wrong : {"0", "-1", "1e9", "4611686018427387905", "18446744073709551616", "five", " 1", ""})
    CHECK(refused(line("subscribe", {"t", "--count", wrong}))
          == "weir bus subscribe: --count takes a whole number from 1 to 4611686018427387904; \"" + std::string{wrong}
               + "\" is none");
  for (const auto* wrong : {"0", "1048577", "1KiB"})
    CHECK(refused(line("subscribe", {"t", "--buffer", wrong}))
          == "weir bus subscribe: --buffer takes a whole number from 1 to 1048576; \"" + std::string{wrong} + "\" is none");
  for (const auto* wrong : {"10", "2 days", "876001h", "-1s", ""})
    CHECK(refused(line("stat", {"--for", wrong}))
          == "weir bus stat: --for takes a time of at most 876000h, as in 30s, 10min or 48h; \"" + std::string{wrong}
               + "\" is none");
  CHECK(request<bus_publish>(line("publish", {"t", "--key", std::string(5800, 'k')})).key.size() == 5800);
  CHECK(refused(line("publish", {"t", "--key", std::string(5801, 'k')}))
        == "weir bus publish: --key: a hint has at most 5800 bytes, key and payload together");
}

TEST_CASE("control characters in a bus's arguments do not reach the terminal") {
  for (const auto& given : std::vector<std::vector<std::string>>{{"\x1b[2J"}, line("publish", {"t", "\x1b[2J"}),
         line("publish", {"--\x1b[2J"}), line("publish", {"\x1b[2J\xff"}), line("stat", {"--channel", "\x1b[2J\xff"}),
         line("stat", {"--for", "\x1b[2J"}), {"stat", "--bus", "\x1b[2J://x"}})
    CHECK(refused(given).find('\x1b') == std::string::npos);
}

} // namespace
