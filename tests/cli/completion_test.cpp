#include "log_fixture.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

namespace {

using namespace weir::cli::test;
using words = std::set<std::string>;

words in_lines(const std::string& text) {
  const auto lines = lines_of(text);
  return {lines.begin(), lines.end()};
}

/// What bash offers where the last of the words is being typed.
words offered(const log_fixture& here, const std::vector<std::string>& typed) {
  std::string line{"source " WEIR_COMPLETION "; complete -p weir | grep -q -- '-F _weir weir' || exit 9; COMP_WORDS=("};
  for (const auto& word : typed)
    line += "'" + word + "' ";
  line += "); COMP_CWORD=" + std::to_string(typed.size() - 1) + "; _weir; printf '%s\\n' \"${COMPREPLY[@]}\" | sed '/^$/d'";
  const auto ended = here.shell(line);
  REQUIRE_MESSAGE(ended.end == exited(0), ended.errors);
  CHECK_MESSAGE(ended.errors.empty(), ended.errors);
  return in_lines(ended.output);
}

/// The commands that a help lists.
words commands_in(const std::string& help) {
  words all;
  bool is_list = false;
  for (const auto& line : lines_of(help)) {
    if (line == "Subcommands:")
      is_list = true;
    else if (line.empty())
      is_list = false;
    else if (is_list && line.starts_with("  ") && line[2] != ' ')
      all.insert(line.substr(2, line.find(' ', 2) - 2));
  }
  return all;
}

/// The long options that a help lists.
words options_in(const std::string& help) {
  words all;
  for (const auto& line : lines_of(help)) {
    const auto name = line.find("--");
    if (line.starts_with("  -") && name != line.npos)
      all.insert(line.substr(name, line.find_first_of(" ,", name) - name));
  }
  return all;
}

words without(words from, const std::string& one) {
  from.erase(one);
  return from;
}

TEST_CASE("bash completes every command and every option that the help shows, and no others") {
  const log_fixture here;
  const auto help = [&](const std::string& of) { return here.shell("weir " + of + " --help").output; };
  const auto commands = commands_in(help(""));
  CHECK(commands.size() == 5);
  CHECK(offered(here, {"weir", ""}) == commands);
  CHECK(offered(here, {"weir", "-"}) == options_in(help("")));
  for (const auto& command : without(without(commands, "log"), "bus")) {
    const auto options = options_in(help(command));
    CHECK(options.contains("--help"));
    CHECK_MESSAGE(offered(here, {"weir", command, "-"}) == options, command);
  }
  for (const auto& [family, count] : {std::pair{"log", 10U}, std::pair{"bus", 3U}}) {
    const auto members = commands_in(help(family));
    CHECK(members.size() == count);
    CHECK(offered(here, {"weir", family, ""}) == members);
    CHECK(offered(here, {"weir", family, "-"}) == options_in(help(family)));
    for (const auto& command : members) {
      const auto options = options_in(help(family + (" " + command)));
      CHECK(options.contains("--json"));
      CHECK_MESSAGE(offered(here, {"weir", family, command, "events.db", "--"}) == options, command);
    }
  }
}

TEST_CASE("bash completes a bus's policies, and no files where none is meant") {
  const log_fixture here;
  put(here / "events.db", "");
  words policies;
  for (const auto& line : lines_of(here.shell("weir bus subscribe --bus postgres://x t --policy x").errors))
    for (std::size_t at = line.find("takes "); at < line.size();) {
      const auto begin = line.find('"', at);
      const auto end = line.find('"', begin + 1);
      if (begin == line.npos || line.substr(begin + 1, end - begin - 1) == "x")
        break;
      policies.insert(line.substr(begin + 1, end - begin - 1));
      at = end + 1;
    }
  CHECK(policies.size() == 5);
  CHECK(offered(here, {"weir", "bus", "subscribe", "--policy", ""}) == policies);
  CHECK(offered(here, {"weir", "bus", "subscribe", "--policy", "="}) == policies);
  CHECK(offered(here, {"weir", "bus", "subscribe", "--policy", "=", "drop-"}) == words{"drop-newest", "drop-oldest"});
  CHECK(offered(here, {"weir", "bus", "subscribe", "--policy", "c"}) == words{"conflate"});
  CHECK(offered(here, {"weir", "bus", "s"}) == words{"subscribe", "stat"});
  CHECK(offered(here, {"weir", "bus", "stat", "--f"}) == words{"--for"});
  CHECK(offered(here, {"weir", "bus", "subscribe", "ev"}).empty());
  for (const auto* option : {"--bus", "--channel", "--key", "--count", "--buffer", "--for"})
    CHECK_MESSAGE(offered(here, {"weir", "bus", "publish", option, ""}).empty(), option);
}

TEST_CASE("bash completes files where a file is meant, and nothing where a value is") {
  const log_fixture here;
  put(here / "events.db", "");
  put(here / "even more.db", "");
  put(here / "other", "");
  CHECK(offered(here, {"weir", "log", "read", "ev"}) == words{"events.db", "even more.db"});
  CHECK(offered(here, {"weir", "log", "read", "--json", ""}) == words{"events.db", "even more.db", "other"});
  CHECK(offered(here, {"weir", "run", "o"}) == words{"other"});
  CHECK(offered(here, {"weir", "check", "-q", "o"}) == words{"other"});
  CHECK(offered(here, {"weir", "version", ""}).empty());
  CHECK(offered(here, {"weir", "log", "tail", "--l"}) == words{"--limit"});
  CHECK(offered(here, {"weir", "log", "a"}) == words{"append"});
  CHECK(offered(here, {"weir", "x", "-"}).empty());
  // Every option that takes a value says so in its help.
  for (const auto* command :
    {"create", "append", "read", "tail", "head", "trim", "snapshot", "checkpoints", "verify", "repair"})
    for (const auto& line : lines_of(here.shell(std::string{"weir log "} + command + " --help").output)) {
      const auto name = line.find("--");
      if (!line.starts_with("  -") || name == line.npos)
        continue;
      const auto option = line.substr(name, line.find(' ', name) - name);
      const auto next = name + option.size() + 1;
      const bool takes_value = next < line.size() && line[next] != ' ';
      CHECK_MESSAGE(offered(here, {"weir", "log", command, option, ""}).empty() == takes_value, option);
    }
}

} // namespace
