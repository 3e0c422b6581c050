#include <weir/cli/bus_report.hpp>

#include "log_fixture.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

namespace {

using namespace weir::cli::test;

/// The page's part from that heading to the next one.
std::string section(const std::string& page, const std::string& heading) {
  const auto begin = page.find("\n" + heading);
  REQUIRE_MESSAGE(begin != std::string::npos, heading);
  return page.substr(begin, page.find("\n## ", begin + 1) - begin);
}

/// The options that the tables of a text begin their lines with.
std::set<std::string> options_in_tables(const std::string& text) {
  std::set<std::string> all;
  for (const auto& line : lines_of(text))
    if (line.starts_with("| `--"))
      all.insert(line.substr(3, line.find_first_of(" `", 3) - 3));
  return all;
}

std::set<std::string> options_in_help(const std::string& help) {
  std::set<std::string> all;
  for (const auto& line : lines_of(help))
    if (const auto name = line.find("--"); line.starts_with("  -") && name != line.npos)
      all.insert(line.substr(name, line.find_first_of(" ,", name) - name));
  all.erase("--help");
  return all;
}

TEST_CASE("every command and option of a bus is documented, and no others") {
  const auto page = content_of(WEIR_DOCS "/bus-commands.md");
  const auto common = options_in_tables(page.substr(0, page.find("\n## ")));
  CHECK(common.size() == 3);
  const log_fixture here;
  for (const auto* heading : {"publish TOPIC", "subscribe TOPIC", "stat"}) {
    const auto command = std::string{heading}.substr(0, std::string_view{heading}.find(' '));
    CHECK_MESSAGE(page.find("\n| `" + command + "` |") != std::string::npos, command);
    auto documented = options_in_tables(section(page, std::string{"## `weir bus "} + heading + "`"));
    documented.insert(common.begin(), common.end());
    CHECK_MESSAGE(documented == options_in_help(here.shell("weir bus " + command + " --help").output), command);
  }
}

TEST_CASE("records are documented as they are printed") {
  const auto page = content_of(WEIR_DOCS "/bus-commands.md");
  const weir::bus_id who{0x9c0b3f1a77d2e845};
  const weir::hint one{"changed/orders", "42", "1:977", {who, 9, 4, 1'796'045'347'438'032'308}};
  using weir::loss_cause;
  using weir::lost;
  CHECK(page.find("```json\n" + weir::cli::record_json(one) + weir::cli::record_json(lost{3, true, who, loss_cause::publisher})
                  + weir::cli::record_json(weir::gone{who}) + "```\n")
        != std::string::npos);
  for (const weir::bus_record& said : {weir::bus_record{lost{3, true, {}, loss_cause::buffer_full}},
         weir::bus_record{lost{3, true, who, loss_cause::publisher}}, weir::bus_record{lost{3, false, {}, loss_cause::several}},
         weir::bus_record{lost{0, false, {}, loss_cause::link_gap}}, weir::bus_record{weir::gone{who}}}) {
    auto line = weir::cli::loss_text(said);
    line.pop_back();
    CHECK_MESSAGE(page.find("\n| `" + line + "` |") != std::string::npos, line);
  }
  for (const auto cause : {loss_cause::buffer_full, loss_cause::conflated, loss_cause::link_gap, loss_cause::publisher,
         loss_cause::undecodable, loss_cause::several})
    CHECK(page.find("`" + std::string{name_of(cause)} + "`") != std::string::npos);
  auto published = weir::cli::published_json({3, 0, {}});
  published.pop_back();
  CHECK(page.find("`" + published + "`") != std::string::npos);
}

} // namespace
