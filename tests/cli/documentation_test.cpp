#include <weir/cli/config.hpp>
#include <weir/cli/config_keys.hpp>

#include "temporary_directory.hpp"

#include <doctest/doctest.h>

#include <set>
#include <sstream>
#include <string>
#include <tuple>

namespace {

using namespace weir::cli;

using key = std::tuple<std::string, std::string, std::string>; // table, type, name

std::string between(const std::string& line, std::string_view before, std::string_view after) {
  const auto begin = line.find(before);
  if (begin == std::string::npos)
    return {};
  const auto from = begin + before.size();
  const auto end = line.find(after, from);
  return end == std::string::npos ? std::string{} : line.substr(from, end - from);
}

/// The keys in the tables of docs/configuration.md: "## `[source]`" and "### `type = "git"`" say what they belong to.
std::set<key> documented_keys(const std::string& text) {
  std::set<key> keys;
  std::string table;
  std::string type;
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("## ")) {
      table = between(line, "[", "]");
      table.erase(0, table.find_first_not_of('['));
      type.clear();
    } else if (line.starts_with("### ")) {
      type = between(line, "type = \"", "\"");
    } else if (line.starts_with("| `")) {
      keys.emplace(table, type, between(line, "| `", "`"));
    }
  }
  return keys;
}

TEST_CASE("every key is documented, and every documented key exists") {
  const auto text = weir::cli::test::content_of(WEIR_DOCS "/configuration.md");
  REQUIRE_FALSE(text.empty());
  std::set<key> known;
  for (const auto& one : config_keys)
    known.emplace(one.table, one.type, one.name);
  CHECK(known.size() == config_keys.size());
  const auto documented = documented_keys(text);
  for (const auto& [table, type, name] : known)
    CHECK_MESSAGE(documented.contains({table, type, name}), "not documented: [", table, "] ", type, " ", name);
  for (const auto& [table, type, name] : documented)
    CHECK_MESSAGE(known.contains({table, type, name}), "documented only: [", table, "] ", type, " ", name);
}

TEST_CASE("the documentation's example is a sound configuration") {
  const auto text = weir::cli::test::content_of(WEIR_DOCS "/configuration.md");
  const auto example = between(text, "```toml\n", "```");
  REQUIRE_FALSE(example.empty());
  const auto parsed = parse_config(example, "/d");
  CHECK_MESSAGE(parsed.has_value(), (parsed ? std::string{} : to_string(parsed.error(), "example")));
}

} // namespace
