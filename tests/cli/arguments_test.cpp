#include <weir/cli/arguments.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

using namespace weir::cli;

parsed_arguments parse(std::vector<std::string> given) {
  return parse_arguments(given);
}

arguments accepted(std::vector<std::string> given) {
  auto parsed = parse(std::move(given));
  REQUIRE(std::holds_alternative<arguments>(parsed));
  return std::get<arguments>(parsed);
}

early_end ended(std::vector<std::string> given) {
  auto parsed = parse(std::move(given));
  REQUIRE(std::holds_alternative<early_end>(parsed));
  return std::get<early_end>(parsed);
}

std::string refused(std::vector<std::string> given) {
  const auto end = ended(std::move(given));
  CHECK(end.code == exit_code::usage);
  CHECK(end.output.empty());
  return end.message;
}

TEST_CASE("run and check take a file and two flags, in any order") {
  const auto run = accepted({"run", "pipeline.toml"});
  CHECK(run.what == command::run);
  CHECK(run.file == "pipeline.toml");
  CHECK_FALSE(run.quiet);
  CHECK_FALSE(run.json);
  const auto check = accepted({"check", "--json", "a b.toml", "-q"});
  CHECK(check.what == command::check);
  CHECK(check.file == "a b.toml");
  CHECK(check.quiet);
  CHECK(check.json);
  CHECK(accepted({"run", "--", "-strange.toml"}).file == "./-strange.toml");
  CHECK(accepted({"run", "-q", "--", "plain.toml"}).file == "plain.toml");
}

TEST_CASE("the version") {
  CHECK(accepted({"version"}).what == command::version);
  for (const auto* option : {"--version", "-V"}) {
    const auto end = ended({option});
    CHECK(end.code == exit_code::done);
    CHECK(end.output == version_text() + "\n");
    CHECK(end.message.empty());
  }
  CHECK(version_text().starts_with("weir "));
}

TEST_CASE("help is given on standard output, with an example for each command") {
  const auto whole = ended({"--help"});
  CHECK(whole.code == exit_code::done);
  for (const auto* part :
    {"run", "check", "version", "Example:", "weir check pipeline.toml && weir run pipeline.toml", "Exit codes:", "130"})
    CHECK_MESSAGE(whole.output.find(part) != std::string::npos, part);
  for (const auto* name : {"run", "check", "version"}) {
    const auto one = ended({name, "--help"});
    CHECK(one.code == exit_code::done);
    CHECK_MESSAGE(one.output.find(std::string{"Example:\n  weir "} + name) != std::string::npos, one.output);
    CHECK(one.message.empty());
  }
}

TEST_CASE("without a command the help goes to standard error") {
  const auto end = ended({});
  CHECK(end.code == exit_code::usage);
  CHECK(end.output.empty());
  CHECK(end.message.find("Example:") != std::string::npos);
}

TEST_CASE("what is wrong is told in a sentence, with what was meant") {
  CHECK(refused({"rnu", "x.toml"}) == "weir: there is no command \"rnu\"; did you mean \"run\"?\nTry \"weir --help\".\n");
  CHECK(refused({"start"})
        == "weir: there is no command \"start\"; expected \"run\", \"check\", \"log\", \"bus\" or \"version\"\nTry \"weir "
           "--help\".\n");
  CHECK(
    refused({"--verison"}) == "weir: there is no option \"--verison\"; did you mean \"--version\"?\nTry \"weir --help\".\n");
  CHECK(refused({"run"})
        == "weir run: the configuration FILE is missing, as in \"weir run pipeline.toml\"\nTry \"weir run --help\".\n");
  CHECK(refused({"check", ""})
        == "weir check: the configuration FILE is missing, as in \"weir check pipeline.toml\"\nTry \"weir check --help\".\n");
  CHECK(refused({"run", "a.toml", "b.toml"}) == "weir run: \"b.toml\" is one argument too many\nTry \"weir run --help\".\n");
  CHECK(refused({"run", "a.toml", "--quite"})
        == "weir run: there is no option \"--quite\"; did you mean \"--quiet\"?\nTry \"weir run --help\".\n");
  CHECK(refused({"check", "a.toml", "--follow=yes"})
        == "weir check: there is no option \"--follow=yes\"; expected \"--help\", \"--quiet\" or \"--json\"\n"
           "Try \"weir check --help\".\n");
  CHECK(refused({"version", "x"}) == "weir version: \"x\" is one argument too many\nTry \"weir version --help\".\n");
  CHECK(refused({"run", "a.toml", "check"}) == "weir run: \"check\" is one argument too many\nTry \"weir run --help\".\n");
}

TEST_CASE("control characters in arguments do not reach the terminal") {
  CHECK(refused({"\x1b[2J"}).find('\x1b') == std::string::npos);
}

} // namespace
