#include <weir/cli/config.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

using namespace weir::cli;

constexpr std::string_view head = "name = \"n\"\nstate = \"s\"\n";
constexpr std::string_view git = "[source]\ntype = \"git\"\nrepository = \".\"\n";
constexpr std::string_view sink = "[[sink]]\nname = \"a\"\ntype = \"sqlite\"\npath = \"a.db\"\n";

/// Everything that is wrong with the text, one line each, as the program prints it. Each line says once what was expected.
std::string complaints(const std::string& text) {
  const auto parsed = parse_config(text, "/d");
  if (parsed)
    return {};
  for (const auto& one : parsed.error()) {
    CHECK_MESSAGE(!one.expected.empty(), one.wrong);
    const auto said = " " + one.wrong + " " + one.expected;
    CHECK_MESSAGE(said.find(" expected ") == std::string::npos, said);
  }
  return to_string(parsed.error(), "p.toml");
}

std::string all(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const auto part : parts)
    text += part;
  return text;
}

TEST_CASE("a sound configuration has nothing to complain about") {
  CHECK(complaints(all({head, git, sink})) == "");
}

TEST_CASE("an empty file says what is missing, all of it") {
  CHECK(complaints("")
        == "p.toml:1:1: name: is missing; expected up to 64 letters, digits and \"._-\", beginning with a letter or a digit, "
           "such as \"quickstart\"\n"
           "p.toml:1:1: state: is missing; expected the path of a directory that is this pipeline's alone\n"
           "p.toml:1:1: source: is missing; expected a table [source] that says where changes come from\n"
           "p.toml:1:1: sink: is missing; expected one table [[sink]] for each destination\n");
}

TEST_CASE("syntax errors have their place and say what TOML wants") {
  CHECK(complaints(all({head, "[source\n"})) == "p.toml:3:8: not valid TOML: saw '\\n' (in the table header); expected ']'\n");
  CHECK(complaints("name \"n\"\n") == "p.toml:1:6: not valid TOML: saw '\"' (in the key-value pair); expected '='\n");
  CHECK(complaints(all({head, "name = \"m\"\n"}))
        == "p.toml:3:8: not valid TOML: cannot redefine existing string 'name' (in the key-value pair); expected each key and "
           "each table once\n");
  CHECK(complaints("name = \"a\\q\"\n")
        == "p.toml:1:11: not valid TOML: unknown escape sequence '\\q' (in the string); expected \\\\ for a backslash\n");
  CHECK(complaints("name = \"a")
        == "p.toml:1:10: not valid TOML: encountered end-of-file (in the string); expected the rest of "
           "the string\n");
  CHECK(complaints("name = \"\xff\"")
        == "p.toml:1:8: not valid TOML: Encountered invalid utf-8 sequence; expected text in UTF-8\n");
  for (const auto* wrong :
    {"= 1", "a", "a.", "a = \"\\ud800\"", "a = 'b\nc'", "a = \"\\u1\"", "a = \"\x01\"", "a = 2020-13-01", "a = 25:00:00",
      "a = [1", "a = {b", "a = {b = 1,}", "a = -", "a = +x", "a = 1__0", "a = _1", "a = 1.", "a = 0x", "a = tru", "a = inf1",
      "[a]\n[a]", "[[a]]\n[a]", "a = 1\na.b = 2", "a b = 1", "a = 1 b", "\"\"\"a\"\"\" = 1", "\x01", "a = 1\rb = 2"})
    CHECK_MESSAGE(complaints(wrong).find("TOML: ") != std::string::npos, wrong);
}

TEST_CASE("what a fuzzer found") {
  CHECK(complaints("name = na\nm")
        == "p.toml:1:10: not valid TOML: saw 'na\\x0A' (in the floating-point); expected a number, true or false, or text in "
           "quotes, such as \"16MiB\"\n");
  CHECK(complaints("a = 1\n[\n[b")
        == "p.toml:2:2: not valid TOML: a table without a name; expected a name after the bracket, such as [source]\n");
  CHECK(complaints("[[ ]]")
        == "p.toml:1:4: not valid TOML: a table without a name; expected a name after the bracket, such as [source]\n");
}

TEST_CASE("what needs quotes is told so") {
  constexpr std::string_view expected = "; expected a number, true or false, or text in quotes, such as \"16MiB\"\n";
  CHECK(complaints("name = \n") == all({"p.toml:1:8: not valid TOML: saw '\\n' (in the key-value pair)", expected}));
  CHECK(complaints("name = quickstart\n")
        == all({"p.toml:1:8: not valid TOML: could not determine value type (in the value)", expected}));
  CHECK(complaints("[stream]\nbytes = 16MiB\n")
        == all({"p.toml:2:11: not valid TOML: saw 'M' (in the decimal integer)", expected}));
  CHECK(complaints("[stream]\nbytes = 1.5MiB\n")
        == all({"p.toml:2:12: not valid TOML: saw 'M' (in the floating-point)", expected}));
}

TEST_CASE("a number that no 64 bits hold is shown where it begins, with the limits") {
  const auto complaint = [](std::string_view place, std::string_view number, std::string_view kind) {
    return all({"p.toml:", place, ": not valid TOML: '", number, "' is not representable in 64 bits (in the ", kind,
      " integer); expected a whole number from -9223372036854775808 to 9223372036854775807\n"});
  };
  CHECK(complaints("[stream]\nitems = 9223372036854775808") == complaint("2:9", "9223372036854775808", "decimal"));
  CHECK(complaints("[stream]\nitems = -9223372036854775809 # few\n") == complaint("2:9", "9223372036854775809", "decimal"));
  CHECK(complaints("a = 'ü'\nb = ['ü', +10_000_000_000_000_000_000, 2]\r\n")
        == complaint("2:11", "10000000000000000000", "decimal"));
  CHECK(complaints("\xEF\xBB\xBF"
                   "a=0x10000000000000000\n")
        == complaint("1:3", "0x10000000000000000", "hexadecimal"));
  CHECK(complaints("a = 1e999\n").starts_with("p.toml:1:5: "));
  CHECK(complaints("a = 007").starts_with("p.toml:1:5: "));
  CHECK(complaints("a = " + std::string(500, '9')).starts_with("p.toml:1:5: "));
}

TEST_CASE("an unknown key comes with the nearest one that would be known") {
  CHECK(
    complaints(all({"naem = \"x\"\n", head, git, sink}))
    == "p.toml:1:1: naem: is not a known key (did you mean \"name\"?); expected \"name\", \"state\", \"source\", \"stream\", "
       "\"sink\" or \"scheduler\" at the top of the file\n");
  CHECK(complaints(all({head, git, sink, "on-failure = \"stop\"\n"}))
        == "p.toml:10:1: sink[0].on-failure: is not a known key (did you mean \"on_failure\"?); expected \"name\", \"type\", "
           "\"on_failure\", \"dead_letter_after\", \"backoff_min\", \"backoff_max\", \"announce\" or \"path\" in [[sink]] of "
           "type \"sqlite\"\n");
}

TEST_CASE("an unknown key that nothing resembles comes with all that are known") {
  CHECK(
    complaints(all({head, git, sink, "[scheduler]\n\"colour of \\u001b\" = 1\n"}))
    == "p.toml:11:1: scheduler.\"colour of \\x1B\": is not a known key; expected \"threads\" or \"policy\" in [scheduler]\n");
}

TEST_CASE("a key in the wrong table is told where it belongs") {
  CHECK(complaints(all({head, git, "path = \"x\"\n", sink}))
        == "p.toml:6:1: source.path: belongs in [source] of type \"jsonl\"; expected \"type\", \"max_changes\", \"max_bytes\", "
           "\"follow\", \"repository\", \"ref\" or \"collection\" in [source] of type \"git\"\n");
  CHECK(complaints(all({head, git, sink, "[stream]\nthreads = 2\n"}))
        == "p.toml:11:1: stream.threads: belongs in [scheduler]; expected \"type\", \"items\", \"bytes\" or \"budget\" in "
           "[stream] of type \"channel\"\n");
}

TEST_CASE("types that are not there") {
  CHECK(complaints(all({head, "[source]\ntype = \"gti\"\nrepository = \".\"\npath = \"x\"\n", sink}))
        == "p.toml:4:8: source.type: \"gti\" is not a choice here (did you mean \"git\"?); expected \"git\", \"jsonl\" or "
           "\"log\"\n");
  CHECK(complaints(all({head, git, "[[sink]]\nname = \"a\"\ntype = \"kafka\"\n"}))
        == "p.toml:8:8: sink[0].type: \"kafka\" is not a choice here; expected \"sqlite\", \"jsonl\", \"stdout\" or \"log\"\n");
  CHECK(complaints(all({head, git, sink, "[stream]\ntype = \"kafka\"\n"}))
        == "p.toml:11:8: stream.type: \"kafka\" is not a choice here; expected \"channel\" or \"durable\"\n");
  CHECK(complaints(all({head, "[source]\nrepository = \".\"\n", sink}))
        == "p.toml:3:1: source.type: is missing; expected \"git\", \"jsonl\" or \"log\"\n");
}

TEST_CASE("a durable stream says where it is kept") {
  const auto with = [](const std::string& keys) { return complaints(all({head, git, sink, "[stream]\n" + keys})); };
  const std::string durable = "type = \"durable\"\n";
  CHECK(with(durable)
        == "p.toml:10:1: stream.log: is missing; expected a table such as {type = \"sqlite\", path = \"lanes.db\"}\n");
  CHECK(with(durable + "log = \"lanes.db\"\n")
        == "p.toml:12:7: stream.log: is the text \"lanes.db\"; expected one table, [stream.log]\n");
  CHECK(with(durable + "log = {}\n")
        == "p.toml:12:7: stream.log.type: is missing; expected \"sqlite\"\n"
           "p.toml:12:7: stream.log.path: is missing; expected the path of a log, which is a SQLite file\n");
  CHECK(with(durable + "log = {type = \"nats\", path = \"x\"}\n")
        == "p.toml:12:15: stream.log.type: \"nats\" is not a choice here; expected \"sqlite\"\n");
  CHECK(with(durable + "log = {type = \"sqlite\", path = \"x\", tpoic = \"y\"}\n")
        == "p.toml:12:37: stream.log.tpoic: is not a known key (did you mean \"topic\"?); expected \"type\", \"path\" or "
           "\"topic\" in [stream.log]\n");
  CHECK(with(durable + "log = {type = \"sqlite\", path = \"x\"}\nfloor = \"disk\"\n")
        == "p.toml:13:9: stream.floor: \"disk\" is not a choice here; expected \"sink\" or \"log\"\n");
  CHECK(with("floor = \"log\"\n")
        == "p.toml:11:1: stream.floor: belongs in [stream] of type \"durable\"; expected \"type\", \"items\", \"bytes\" or "
           "\"budget\" in [stream] of type \"channel\"\n");
  CHECK(complaints(all({head, git, "[[sink]]\nname = \"a\"\ntype = \"log\"\npath = \"x\"\n", "[stream]\n", durable,
          "log = {type = \"sqlite\", path = \"x\"}\n"}))
        == "p.toml:9:8: sink[0].path: \"/d/x\" is the file that the stream is kept in; expected another file\n");
}

TEST_CASE("a sink that announces says on which bus, and where on it") {
  const auto with = [](const std::string& keys) { return complaints(all({head, git, sink, "announce = {" + keys + "}\n"})); };
  const std::string bus = "bus = \"postgres://localhost/app\"";
  const std::string topic = "topic = \"t\"";
  const std::string both = bus + ", " + topic;
  const std::string expected_bus = "; expected a URL such as \"postgres://localhost/app\"\n";
  const std::string expected_topic = "; expected 1 to 256 bytes of UTF-8 without NUL, such as \"changed/{collection}\"\n";
  CHECK(with(both).empty());
  CHECK(with(both + ", per = \"batch\", channel = \"c\"").empty());
  CHECK(with("")
        == "p.toml:10:12: sink[0].announce.bus: is missing" + expected_bus + "p.toml:10:12: sink[0].announce.topic: is missing"
             + expected_topic);
  CHECK(with(bus) == "p.toml:10:12: sink[0].announce.topic: is missing" + expected_topic);
  CHECK(with(topic) == "p.toml:10:12: sink[0].announce.bus: is missing" + expected_bus);
  CHECK(complaints(all({head, git, sink, "announce = \"postgres://localhost/app\"\n"}))
        == "p.toml:10:12: sink[0].announce: is the text \"postgres://localhost/app\"; expected one table, [sink.announce]\n");
  CHECK(with(both + ", tpoic = \"x\"")
          .find(".announce.tpoic: is not a known key (did you mean \"topic\"?); expected \"bus\", "
                "\"topic\", \"per\" or \"channel\" in [sink.announce]\n")
        != std::string::npos);
  CHECK(with(both + ", per = \"row\"")
      .ends_with(": sink[0].announce.per: \"row\" is not a choice here; expected \"key\" or \"batch\"\n"));
  for (const auto* wrong : {"a{collection", "{}", "a}", "{Collection}", "{{collection}}", "{key}"})
    CHECK(with(bus + ", topic = \"" + wrong + "\"")
          == "p.toml:10:55: sink[0].announce.topic: in a topic that is announced on, braces stand for one thing alone: "
             "{collection}"
               + expected_topic);
  CHECK(
    complaints(all({head, git, sink, "[[sink.announce]]\n", bus, "\n", topic, "\n"}))
    == "p.toml:10:1: sink[0].announce: is given in double brackets, [[sink.announce]]; expected one table, [sink.announce]\n");
  const std::string place_of_topic = "p.toml:10:55: sink[0].announce.topic: ";
  CHECK(with(bus + ", topic = \"" + std::string(257, 'x') + "\"")
        == place_of_topic + "a bus topic has at most 256 bytes" + expected_topic);
  CHECK(with(bus + ", topic = \"\"") == place_of_topic + "is empty" + expected_topic);
  CHECK(with(bus + ", topic = \"a\\u0000\"") == place_of_topic + "\"a\\x00\" holds a control character" + expected_topic);
  const std::string expected_channel = "; expected 1 to 63 bytes of UTF-8 without NUL\n";
  const std::string long_channel(64, 'c');
  CHECK(with(both + ", channel = \"" + long_channel + "\"")
        == "p.toml:10:70: sink[0].announce.channel: \"" + long_channel + "\" is not a channel's name" + expected_channel);
  CHECK(with(both + ", channel = \"\"") == "p.toml:10:70: sink[0].announce.channel: is empty" + expected_channel);
}

TEST_CASE("a bus that nobody outside would hear, or that is none, is refused without its password") {
  const auto with = [](const std::string& url) {
    return complaints(all({head, git, sink, "announce = {topic = \"t\", bus = \"", url, "\"}\n"}));
  };
  const std::string place = "p.toml:10:32: sink[0].announce.bus: ";
  const std::string expected = "; expected a URL such as \"postgres://localhost/app\"\n";
  CHECK(with("memory:") == place + "a bus in memory ends with its process, and nobody outside would hear it" + expected);
  CHECK(with("nats://u:secret@host") == place + "\"nats\" is no kind of bus" + expected);
  CHECK(with("") == place + "is empty" + expected);
  for (const auto* url : {"localhost", "host=localhost password=secret", "u:secret@host://x", "postgres:u:secret@host"})
    CHECK(with(url) == place + "it is no URL" + expected);
  // A URL in another place is shown, and its password is not.
  CHECK(complaints(all({head, git, "[[sink]]\nname = \"a\"\ntype = \"sqlite\"\npath = \"postgres://u:secret@host/app\"\n"}))
        == "p.toml:9:8: sink[0].path: \"postgres://u:…@host/app\" is a URL; expected the path of a SQLite database on this "
           "machine\n");
}

TEST_CASE("values of the wrong kind") {
  CHECK(
    complaints(all({"name = 5\nstate = \"s\"\n", git, sink}))
    == "p.toml:1:8: name: is the integer 5; expected text in quotes: up to 64 letters, digits and \"._-\", beginning with a "
       "letter or a digit, such as \"quickstart\"\n");
  CHECK(complaints(all({head, git, "follow = \"yes\"\n", sink}))
        == "p.toml:6:10: source.follow: is the text \"yes\"; expected true or false, without quotes\n");
  CHECK(complaints(all({head, git, "max_changes = \"512\"\n", sink}))
        == "p.toml:6:15: source.max_changes: is the text \"512\"; expected a whole number from 1 to 65536\n");
  CHECK(complaints(all({head, git, "max_changes = 1.5\n", sink}))
        == "p.toml:6:15: source.max_changes: is the number 1.5; expected a whole number from 1 to 65536\n");
  CHECK(complaints(all({head, git, sink, "backoff_min = 5\n"}))
        == "p.toml:10:15: sink[0].backoff_min: is the integer 5; expected text such as \"500ms\", \"10s\", \"5min\" or \"1h\", "
           "from 1ms to 24h\n");
  CHECK(
    complaints(all({"source = 5\n", head, sink})) == "p.toml:1:10: source: is the integer 5; expected one table, [source]\n");
  CHECK(complaints(all({"sink = [1]\n", head, git}))
        == "p.toml:1:9: sink[0]: is the integer 1; expected one table [[sink]] for each destination\n");
}

TEST_CASE("tables and arrays of tables that were mixed up") {
  CHECK(complaints(all({head, git, "[sink]\nname = \"a\"\ntype = \"stdout\"\n"}))
        == "p.toml:6:1: sink: is given in single brackets, [sink]; expected one table [[sink]] for each destination\n");
  CHECK(complaints(all({head, "[[source]]\ntype = \"git\"\n", sink}))
        == "p.toml:3:1: source: is given in double brackets, [[source]]; expected one table, [source]\n");
  CHECK(complaints(all({"sink = []\n", head, git})) == "p.toml:1:8: sink: holds 0 tables; expected from 1 to 64\n");
}

TEST_CASE("zero and absurd bounds") {
  const auto stream = [](std::string_view line) { return complaints(all({head, git, sink, "[stream]\n", line, "\n"})); };
  CHECK(stream("items = 0") == "p.toml:11:9: stream.items: 0 is out of range; expected a whole number from 1 to 1048576\n");
  CHECK(stream("items = -1") == "p.toml:11:9: stream.items: -1 is out of range; expected a whole number from 1 to 1048576\n");
  CHECK(stream("items = 9223372036854775807")
        == "p.toml:11:9: stream.items: 9223372036854775807 is out of range; expected a whole number from 1 to 1048576\n");
  CHECK(stream("bytes = 0") == "p.toml:11:9: stream.bytes: 0 is out of range; expected a size from 4KiB to 64GiB\n");
  CHECK(stream("bytes = -5") == "p.toml:11:9: stream.bytes: -5 is out of range; expected a size from 4KiB to 64GiB\n");
  CHECK(stream("budget = \"65GiB\"")
        == "p.toml:11:10: stream.budget: \"65GiB\" is out of range; expected a size from 4KiB to 64GiB\n");
  CHECK(
    stream("bytes = \"16MB\"")
    == "p.toml:11:9: stream.bytes: \"16MB\" is not a size (did you mean \"16MiB\"?); expected a whole number of bytes, or text "
       "with KiB, MiB or GiB such as \"16MiB\", from 4KiB to 64GiB\n");
  CHECK(stream("bytes = \"a lot\"")
        == "p.toml:11:9: stream.bytes: \"a lot\" is not a size; expected a whole number of bytes, or text with KiB, MiB or GiB "
           "such as \"16MiB\", from 4KiB to 64GiB\n");
}

TEST_CASE("bounds that contradict each other") {
  CHECK(complaints(all({head, git, "max_bytes = \"2MiB\"\n", sink, "[stream]\nbytes = \"1MiB\"\n"}))
        == "p.toml:6:13: source.max_bytes: \"2MiB\" is more than a lane may hold; expected at most stream.bytes, which is "
           "\"1MiB\"\n");
  CHECK(
    complaints(all({head, git, sink, "[stream]\nbytes = \"2MiB\"\nbudget = \"1MiB\"\n"}))
    == "p.toml:11:9: stream.bytes: \"2MiB\" is more than all lanes together may hold; expected at most stream.budget, which "
       "is \"1MiB\"\n");
  CHECK(complaints(all({head, git, "max_bytes = \"2MiB\"\n", sink, "[stream]\nbudget = \"1MiB\"\n"}))
        == "p.toml:6:13: source.max_bytes: \"2MiB\" is more than all lanes together may hold; expected at most stream.budget, "
           "which is \"1MiB\"\n");
  CHECK(complaints(all({head, git, sink, "backoff_min = \"2s\"\nbackoff_max = \"1s\"\n"}))
        == "p.toml:10:15: sink[0].backoff_min: \"2s\" is longer than backoff_max; expected at most \"1s\"\n");
  // What is wrong by itself is not compared with anything.
  CHECK(complaints(all({head, git, "max_bytes = \"2MiB\"\n", sink, "[stream]\nbytes = \"lots\"\nbudget = \"4MiB\"\n"}))
        == "p.toml:12:9: stream.bytes: \"lots\" is not a size; expected a whole number of bytes, or text with KiB, MiB or GiB "
           "such as \"16MiB\", from 4KiB to 64GiB\n");
}

TEST_CASE("a number of failures that nothing would count") {
  constexpr std::string_view useless =
    "sink[0].dead_letter_after: has no effect without on_failure = \"dead-letter\"; expected on_failure = \"dead-letter\" in "
    "the same table, or no dead_letter_after\n";
  CHECK(complaints(all({head, git, sink, "dead_letter_after = 3\n"})) == all({"p.toml:10:21: ", useless}));
  CHECK(
    complaints(all({head, git, sink, "dead_letter_after = 3\non_failure = \"stop\"\n"})) == all({"p.toml:10:21: ", useless}));
  CHECK(complaints(all({head, git, sink, "dead_letter_after = 3\non_failure = \"dead-letter\"\n"})) == "");
  // What was meant by a policy that is none is not guessed.
  CHECK(complaints(all({head, git, sink, "dead_letter_after = 3\non_failure = \"dead-leter\"\n"}))
        == "p.toml:11:14: sink[0].on_failure: \"dead-leter\" is not a choice here (did you mean \"dead-letter\"?); expected "
           "\"stop\" or \"dead-letter\"\n");
  CHECK(complaints(all({head, git, sink, "dead_letter_after = 0\n"}))
        == "p.toml:10:21: sink[0].dead_letter_after: 0 is out of range; expected a whole number from 1 to 1000000\n");
}

TEST_CASE("sinks that would get in each other's way") {
  CHECK(complaints(all({head, git, sink, "[[sink]]\nname = \"a\"\ntype = \"stdout\"\n"}))
        == "p.toml:11:8: sink[1].name: \"a\" names the sink in line 6 already; expected a name of its own for each sink\n");
  CHECK(
    complaints(all({head, git, sink, "[[sink]]\nname = \"b\"\ntype = \"jsonl\"\npath = \"x/../a.db\"\n"}))
    == "p.toml:13:8: sink[1].path: \"/d/a.db\" is written by the sink in line 6 already; expected a file of its own for each "
       "sink\n");
  CHECK(
    complaints(all({head, git, "[[sink]]\nname = \"a\"\ntype = \"stdout\"\n[[sink]]\nname = \"b\"\ntype = \"stdout\"\n"}))
    == "p.toml:11:8: sink[1].type: the sink in line 6 writes to standard output already; expected one sink of type \"stdout\" "
       "at most\n");
  CHECK(complaints(all({head, "[source]\ntype = \"jsonl\"\npath = \"a.db\"\n", sink}))
        == "p.toml:9:8: sink[0].path: \"/d/a.db\" is the file that the source reads; expected another file\n");
  for (const auto* suffix : {"-wal", "-shm", "-journal"}) { // SQLite's own, beside the database
    const auto beside = "path = \"a.db" + std::string{suffix} + "\"\n";
    const auto file = "\"/d/a.db" + std::string{suffix} + "\"";
    CHECK(complaints(all({head, "[source]\ntype = \"jsonl\"\n", beside, sink}))
          == "p.toml:9:8: sink[0].path: " + file + " is the file that the source reads; expected another file\n");
    CHECK(complaints(all({head, git, sink, "[[sink]]\nname = \"b\"\ntype = \"jsonl\"\n", beside}))
            .find(file + " is written by the sink in line 6 already; expected a file of its own for each sink")
          != std::string::npos);
  }
  for (const auto* state : {"st", "st/", "./x/../st"}) {
    const auto named = "name = \"p\"\nstate = \"" + std::string{state} + "\"\n";
    CHECK(complaints(all({named, git, "[[sink]]\nname = \"a\"\ntype = \"jsonl\"\npath = \"st/dead-letters.jsonl\"\n"}))
            .find("lies in the state directory, which is the program's own; expected a file somewhere else")
          != std::string::npos);
    CHECK(complaints(all({named, git, "[[sink]]\nname = \"a\"\ntype = \"jsonl\"\npath = \"sta.jsonl\"\n"})) == "");
  }
}

TEST_CASE("names and paths that can't be") {
  CHECK(complaints(all({head, git, "[[sink]]\nname = \"a/b\"\ntype = \"stdout\"\n"}))
        == "p.toml:7:8: sink[0].name: \"a/b\" is not a name; expected up to 64 letters, digits and \"._-\", beginning with a "
           "letter "
           "or a digit, such as \"audit\"\n");
  CHECK(
    complaints(all({"name = \"\"\nstate = \"~/s\"\n", git, sink}))
    == "p.toml:1:8: name: is empty; expected up to 64 letters, digits and \"._-\", beginning with a letter or a digit, such as "
       "\"quickstart\"\n"
       "p.toml:2:9: state: \"~/s\" begins with \"~\", which is not expanded; expected the path of a directory that is this "
       "pipeline's alone, absolute or relative to the configuration file\n");
  CHECK(
    complaints(all({head, "[source]\ntype = \"git\"\nrepository = \"https://example.org/x.git\"\nref = \"-x\"\n", sink}))
    == "p.toml:5:14: source.repository: \"https://example.org/x.git\" is a URL; expected the path of a Git repository on this "
       "machine\n"
       "p.toml:6:7: source.ref: \"-x\" begins with \"-\"; expected a branch, a tag or another name of a commit, such as "
       "\"main\" or \"HEAD\"\n");
  CHECK(complaints(all({head, git, "[[sink]]\nname = \"a\"\ntype = \"jsonl\"\npath = \"x\\u0000y\"\n"}))
        == "p.toml:9:8: sink[0].path: \"x\\x00y\" holds a control character; expected the path of a file to append JSON lines "
           "to\n");
}

TEST_CASE("following standard input") {
  CHECK(
    complaints(all({head, "[source]\ntype = \"jsonl\"\npath = \"-\"\nfollow = true\n", sink}))
    == "p.toml:6:10: source.follow: standard input can't be followed; expected false, or the path of a file in source.path\n");
}

TEST_CASE("everything that is wrong comes at once, in the order of the file") {
  const auto text = complaints(all({"nmae = \"n\"\nstate = 1\n", "[source]\ntype = \"git\"\nrefs = \"main\"\n",
    "[[sink]]\nname = \"a\"\ntype = \"sqllite\"\n", "[stream]\nitems = 0\n"}));
  std::vector<std::string> places;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    places.push_back(text.substr(at, text.find(": ", text.find(": ", at) + 1) - at));
  CHECK(places
        == std::vector<std::string>{"p.toml:1:1: name", "p.toml:1:1: nmae", "p.toml:2:9: state",
          "p.toml:3:1: source.repository", "p.toml:5:1: source.refs", "p.toml:8:8: sink[0].type", "p.toml:10:9: stream.items"});
}

TEST_CASE("what would exhaust the parser is refused before it sees it") {
  std::string deep;
  for (int level = 0; level < 20'000; ++level)
    deep += "a.";
  CHECK(complaints("\n[" + deep + "a]\n") == "p.toml:2:1: the line has too many dots; expected at most 64\n");
  CHECK(complaints("# " + deep + "\n" + all({head, git, sink})) == "");
  CHECK(complaints(std::string(65'537, ' ')) == "p.toml:1:1: the file has 65537 bytes; expected at most 64 KiB\n");
  std::string nested{"x = "};
  for (int level = 0; level < 20'000; ++level)
    nested += "[";
  CHECK(complaints(nested).starts_with("p.toml:1:2"));
}

} // namespace
