#include "log_fixture.hpp"

#include <doctest/doctest.h>

#include <regex>
#include <string>

namespace {

using namespace weir::cli::test;

/// Without what differs from log to log, and from time to time.
std::string normalized(std::string text) {
  const std::pair<const char*, const char*> varying[]{
    {"w1:[0-9a-f]{16}:([^:]+:[0-9]+:[-0-9,]+):[0-9a-f]{8}", "CURSOR $1"},
    {"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z", "TIME"},
    {" B, [0-9a-z. ]+\\)", " B, AGE)"},
  };
  for (const auto& [pattern, instead] : varying)
    text = std::regex_replace(text, std::regex{pattern}, instead);
  return text;
}

TEST_CASE("the documentation's session runs as it is shown") {
  const auto page = content_of(WEIR_DOCS "/log-commands.md");
  const std::string fence{"```console\n"};
  const auto begin = page.find(fence);
  REQUIRE(begin != std::string::npos);
  const auto session = page.substr(begin + fence.size(), page.find("```", begin + fence.size()) - begin - fence.size());
  const log_fixture here;
  std::string ran;
  for (const auto& line : lines_of(session))
    if (line.starts_with("$ ")) {
      const auto ended = here.shell(line.substr(2));
      ran += line + "\n" + ended.output + ended.errors;
    }
  CHECK(normalized(ran) == normalized(session));
}

TEST_CASE("every command and option of a log is documented") {
  const auto page = content_of(WEIR_DOCS "/log-commands.md");
  const log_fixture here;
  for (const auto* command :
    {"create", "append", "read", "tail", "head", "trim", "snapshot", "checkpoints", "verify", "repair"}) {
    CHECK_MESSAGE(page.find("`" + std::string{command} + "`") != std::string::npos, command);
    for (const auto& line : lines_of(here.shell(std::string{"weir log "} + command + " --help").output)) {
      const auto name = line.find("--");
      if (!line.starts_with("  -") || name == std::string::npos)
        continue;
      const auto option = line.substr(name, line.find(' ', name) - name);
      CHECK_MESSAGE(page.find("`" + option) != std::string::npos, command, " ", option);
    }
  }
}

} // namespace
