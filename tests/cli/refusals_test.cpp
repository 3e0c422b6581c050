#include <weir/cli/files.hpp>

#include "pipeline_fixture.hpp"

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include <algorithm>
#include <fcntl.h>
#include <string>
#include <sys/mount.h>
#include <vector>

namespace {

using namespace weir::cli::test;

/// Everything that is in the directory, and what it holds, for seeing that a refusal has changed nothing.
std::vector<std::string> listing(const std::filesystem::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator{directory})
    names.push_back(entry.path().native() + (entry.is_regular_file() ? "\n" + content_of(entry.path()) : ""));
  std::ranges::sort(names);
  return names;
}

/// Whether every mistake of those lines says once what was expected.
bool say_what_was_expected(const std::string& lines) {
  constexpr std::string_view expected = "expected ";
  for (std::size_t at = 0, end = 0; (end = lines.find('\n', at)) != std::string::npos; at = end + 1) {
    const auto line = std::string_view{lines}.substr(at, end - at);
    const auto first = line.find(expected);
    if (line.starts_with("pipeline.toml:") && (first == line.npos || line.find(expected, first + 1) != line.npos))
      return false;
  }
  return true;
}

/// What the command says on standard error, when it ends with the code and leaves everything as it was.
std::string refusal(const pipeline_fixture& here, const std::string& command, int code) {
  const auto before = listing(here.path());
  const auto refused = here.start({command, "pipeline.toml"});
  CHECK(refused->wait() == exited(code));
  CHECK(refused->output().empty());
  CHECK(listing(here.path()) == before);
  CHECK_MESSAGE(say_what_was_expected(refused->errors()), refused->errors());
  return refused->errors();
}

/// The same from `weir check` and `weir run`, which must say the same.
std::string refusal(const pipeline_fixture& here) {
  const auto checked = refusal(here, "check", 2);
  CHECK(refusal(here, "run", 2) == checked);
  return checked;
}

constexpr std::string_view git_pipeline =
  "name = \"p\"\nstate = \"state\"\n[source]\ntype = \"git\"\nrepository = \"repository\"\n"
  "[[sink]]\nname = \"audit\"\ntype = \"jsonl\"\npath = \"audit.jsonl\"\n";

TEST_CASE("the version, the help and a wrong command line") {
  const pipeline_fixture here;
  const auto version = here.start({"version"});
  CHECK(version->wait() == exited(0));
  CHECK(version->output().starts_with("weir "));
  const auto help = here.start({"--help"});
  CHECK(help->wait() == exited(0));
  CHECK(help->output().find("weir check pipeline.toml && weir run pipeline.toml") != std::string::npos);
  const auto wrong = here.start({"rnu"});
  CHECK(wrong->wait() == exited(2));
  CHECK(wrong->errors() == "weir: there is no command \"rnu\"; did you mean \"run\"?\nTry \"weir --help\".\n");
}

TEST_CASE("a configuration that is not there, or no file") {
  const pipeline_fixture here;
  const auto checked = here.start({"check", "none.toml"});
  CHECK(checked->wait() == exited(2));
  CHECK(
    checked->errors()
    == "weir: can't open \"none.toml\": No such file or directory; expected a TOML file of at most 64 KiB that can be read\n");
  put(here / "long.toml", std::string(65'537, '#'));
  const auto large = here.start({"check", "--json", "long.toml"});
  CHECK(large->wait() == exited(2));
  CHECK(large->output().find(
          "\"wrong\":\"\\\"long.toml\\\" has more than 65536 bytes\",\"expected\":\"a TOML file of at most 64 KiB")
        != std::string::npos);
  const auto run = here.start({"run", "."});
  CHECK(run->wait() == exited(2));
  CHECK(run->errors().find("\".\" is a directory, not a regular file") != std::string::npos);
}

TEST_CASE("mistakes in the configuration, all at once") {
  const pipeline_fixture here;
  here.configure(
    "name = \"p\"\nstat = \"state\"\n[source]\ntype = \"jsonl\"\npath = \"changes.jsonl\"\n[[sink]]\nname = \"a\"\n"
    "type = \"stdout\"\n[stream]\nitems = 0\n");
  const auto said = refusal(here);
  CHECK(said.starts_with("pipeline.toml:1:1: state: is missing; expected "));
  CHECK(said.find("\npipeline.toml:2:1: stat: is not a known key (did you mean \"state\"?); expected ") != std::string::npos);
  CHECK(said.find("\npipeline.toml:10:9: stream.items: 0 is out of range; expected ") != std::string::npos);
  CHECK(std::ranges::count(said, '\n') == 3);
}

TEST_CASE("a repository that is not there") {
  const pipeline_fixture here;
  here.configure(git_pipeline);
  CHECK(refusal(here)
        == "pipeline.toml:5:14: source.repository: the repository " + (here / "repository").native()
             + " does not exist; expected the path of a Git repository that can be read\n");
}

TEST_CASE("a directory that is no repository") {
  const pipeline_fixture here;
  here.configure(git_pipeline);
  std::filesystem::create_directory(here / "repository");
  const auto said = refusal(here);
  CHECK(
    said.starts_with("pipeline.toml:5:14: source.repository: " + (here / "repository").native() + " is not a Git repository"));
  CHECK(said.ends_with("; expected the path of a Git repository that can be read\n"));
  CHECK(std::ranges::count(said, '\n') == 1);
}

TEST_CASE("a repository whose own files are elsewhere and not there") {
  const pipeline_fixture here;
  here.configure(git_pipeline);
  std::filesystem::create_directory(here / "repository");
  put(here / "repository/.git", "gitdir: ../moved\n");
  CHECK(refusal(here)
        == "pipeline.toml:5:14: source.repository: the file " + (here / "repository/.git").native() + " names the directory "
             + (here / "repository/../moved").native()
             + ", which does not exist; expected the path of a Git repository that can be read\n");
}

TEST_CASE("a ref that is not there") {
  const pipeline_fixture here;
  here.git({"commit", "--quiet", "--allow-empty", "--message=first"});
  here.configure(std::string{git_pipeline}.insert(git_pipeline.find("[[sink"), "ref = \"release\"\n"));
  CHECK(refusal(here)
        == "pipeline.toml:6:7: source.ref: the repository " + (here / "repository").native()
             + " has no commit release; expected a branch, a tag or another name of a commit that is there\n");
}

TEST_CASE("a file of changes that is not there, and sinks that can't be written, at once") {
  const pipeline_fixture here;
  here.configure(
    "name = \"p\"\nstate = \"state\"\n[source]\ntype = \"jsonl\"\npath = \"changes.jsonl\"\n[[sink]]\nname = \"a\"\n"
    "type = \"jsonl\"\npath = \"none/audit.jsonl\"\n[[sink]]\nname = \"b\"\ntype = \"sqlite\"\n"
    "path = \"none/files.db\"\n");
  const auto said = refusal(here);
  INFO(said);
  CHECK(said.starts_with("pipeline.toml:5:8: source.path: "));
  CHECK(said.find("\npipeline.toml:9:8: sink[0].path: ") != std::string::npos);
  CHECK(said.find("\npipeline.toml:13:8: sink[1].path: ") != std::string::npos);
  CHECK(std::ranges::count(said, '\n') == 3);
}

TEST_CASE("one file by several names") {
  const pipeline_fixture here;
  here.put_changes(1);
  const auto with_sinks = [&](std::string_view first, std::string_view second) {
    std::string text{"name = \"p\"\nstate = \"state\"\n[source]\ntype = \"jsonl\"\npath = \"changes.jsonl\"\n"};
    text.append("[[sink]]\nname = \"a\"\ntype = \"jsonl\"\npath = \"").append(first).append("\"\n");
    text.append("[[sink]]\nname = \"b\"\ntype = \"sqlite\"\npath = \"").append(second).append("\"\n");
    here.configure(text);
  };
  const auto path_in_quotes = [&](std::string_view name) { return "\"" + (here / name).native() + "\""; };
  const auto written_already = "pipeline.toml:13:8: sink[1].path: " + path_in_quotes("b")
                               + " is written by the sink in line 6 already; expected a file of its own for each sink\n";

  SUBCASE("the source's file") {
    std::filesystem::create_hard_link(here / "changes.jsonl", here / "a");
    std::filesystem::create_symlink("a", here / "b");
    with_sinks("a", "b");
    CHECK(refusal(here)
          == "pipeline.toml:9:8: sink[0].path: " + path_in_quotes("a")
               + " is the file that the source reads; expected another file\n"
                 "pipeline.toml:13:8: sink[1].path: "
               + path_in_quotes("b") + " is the file that the source reads; expected another file\n" + written_already);
  }
  SUBCASE("a hard link") {
    put(here / "a", "");
    std::filesystem::create_hard_link(here / "a", here / "b");
    with_sinks("a", "b");
    CHECK(refusal(here) == written_already);
  }
  SUBCASE("a symbolic link") {
    put(here / "a", "");
    std::filesystem::create_symlink("a", here / "b");
    with_sinks("a", "b");
    CHECK(refusal(here) == written_already);
  }
  SUBCASE("a symbolic link to what is not there yet") {
    std::filesystem::create_directory(here / "d");
    std::filesystem::create_directory_symlink("d", here / "e");
    std::filesystem::create_symlink("e/a", here / "b");
    with_sinks("d/a", "b");
    CHECK(refusal(here) == written_already);
  }
  SUBCASE("the state directory") {
    std::filesystem::create_directory(here / "state");
    std::filesystem::create_directory_symlink("state", here / "a");
    with_sinks("c", "a/b");
    CHECK(refusal(here)
          == "pipeline.toml:13:8: sink[1].path: " + path_in_quotes("a/b")
               + " lies in the state directory, which is the program's own; expected a file somewhere else\n");
  }
  SUBCASE("standard input") {
    with_sinks("a", "b");
    put(here / "a", "");
    auto text = content_of(here / "pipeline.toml");
    text.replace(text.find("changes.jsonl"), 13, "-");
    here.configure(text);
    const weir::posix::file_descriptor input{::open((here / "a").c_str(), O_RDONLY | O_CLOEXEC)};
    const auto refused = here.start({"check", "pipeline.toml"}, {.input = input.number()});
    CHECK(refused->wait() == exited(2));
    CHECK(refused->errors().find("sink[0].path: " + path_in_quotes("a") + " is the file that the source reads")
          != std::string::npos);
  }
  SUBCASE("files of the same content") {
    put(here / "a", "");
    put(here / "b", "");
    with_sinks("a", "b");
    CHECK(here.start({"check", "pipeline.toml"})->wait() == exited(0));
  }
}

TEST_CASE("a collection that can't be a table is told at its own key") {
  const pipeline_fixture here;
  here.git({"commit", "--quiet", "--allow-empty", "--message=first"});
  here.configure("name = \"p\"\nstate = \"state\"\n[source]\ntype = \"git\"\nrepository = \"repository\"\n"
                 "collection = \"sqlite_files\"\n[[sink]]\nname = \"b\"\ntype = \"sqlite\"\npath = \"files.db\"\n");
  const auto said = refusal(here);
  INFO(said);
  CHECK(
    said
    == "pipeline.toml:6:14: source.collection: a collection of this name can't be a table: it begins with sqlite_, which is "
       "SQLite's own; expected another beginning\n");
}

TEST_CASE("a database that is none") {
  const pipeline_fixture here;
  here.put_changes(1);
  put(here / "files.db", std::string(8192, 'x'));
  here.configure(
    "name = \"p\"\nstate = \"state\"\n[source]\ntype = \"jsonl\"\npath = \"changes.jsonl\"\n[[sink]]\nname = \"b\"\n"
    "type = \"sqlite\"\npath = \"files.db\"\n");
  const auto said = refusal(here);
  INFO(said);
  CHECK(said.starts_with("pipeline.toml:9:8: sink[0].path: "));
}

TEST_CASE("a state that is damaged, newer or another pipeline's") {
  const pipeline_fixture here;
  here.put_changes(3);
  here.configure_lines();
  REQUIRE(here.run()->wait() == exited(0));
  const auto position = here / "state/position.json";
  const auto sound = content_of(position);
  REQUIRE(sound.find("\"seq\":3") != std::string::npos);

  SUBCASE("damaged") {
    put(position, sound.substr(0, sound.size() / 2));
    const auto said = refusal(here, "run", 3);
    CHECK(said.find("can't use the state in \\\"") == std::string::npos);
    CHECK(said.find("it is not JSON; restore it from a backup, or remove it") != std::string::npos);
    CHECK(refusal(here, "check", 3).starts_with("pipeline.toml:2:9: state: can't use the state in \"" + position.native()));
  }
  SUBCASE("newer") {
    put(position, "{\"format\":2}");
    CHECK(refusal(here, "run", 3).find("run the newer version of weir that wrote it") != std::string::npos);
  }
  SUBCASE("of another source") {
    std::filesystem::copy_file(here / "changes.jsonl", here / "others.jsonl");
    auto text = content_of(here / "pipeline.toml");
    text.replace(text.find("changes"), 7, "others");
    here.configure(text);
    const auto said = refusal(here, "run", 3);
    CHECK(said.find("it was kept for a source whose path is") != std::string::npos);
    CHECK(said.find("give this pipeline a state directory of its own") != std::string::npos);
  }
  SUBCASE("of another pipeline") {
    auto text = content_of(here / "pipeline.toml");
    text.replace(text.find("\"p\""), 3, "\"q\"");
    here.configure(text);
    CHECK(refusal(here, "run", 3).find("it was kept for the pipeline \"p\", not for \"q\"") != std::string::npos);
  }
  CHECK(here.lines_in("audit.jsonl") == 3);
}

TEST_CASE("a log of changes that lacks what was confirmed") {
  const pipeline_fixture here;
  here.put_changes(3);
  here.configure_lines();
  REQUIRE(here.run()->wait() == exited(0));
  const auto log = here / "audit.jsonl";
  const auto sound = content_of(log);
  const auto shorter = sound.substr(0, sound.rfind('\n', sound.size() - 2) + 1);
  put(log, shorter);
  for (const auto* command : {"run", "check"}) {
    const auto said = refusal(here, command, 2);
    INFO(said);
    CHECK(said.starts_with("pipeline.toml:9:8: sink[0].path: jsonl " + log.native()
                           + " holds everything up to 1:2, less than was confirmed to the source"));
    CHECK(said.find("what it held at 1:3; or no \"" + (here / "state/position.json").native() + "\"") != std::string::npos);
  }
  CHECK(content_of(log) == shorter);

  SUBCASE("everything is read again from a new state") {
    std::filesystem::remove(here / "state/position.json");
    REQUIRE(here.run()->wait() == exited(0));
    CHECK(content_of(log) == sound);
  }
  SUBCASE("a new log begins with what comes next") {
    std::filesystem::rename(log, here / "audit.1.jsonl");
    here.put_changes(4);
    REQUIRE(here.run()->wait() == exited(0));
    CHECK(here.lines_in("audit.jsonl") == 1);
  }
}

TEST_CASE("a log of changes that is another pipeline's") {
  const pipeline_fixture here;
  here.put_changes(3);
  here.configure_lines();
  REQUIRE(here.run()->wait() == exited(0));
  const auto theirs = content_of(here / "audit.jsonl");
  auto text = content_of(here / "pipeline.toml");
  text.replace(text.find("\"p\""), 3, "\"q\"");
  text.replace(text.find("\"state\""), 7, "\"other\"");
  here.configure(text);
  const auto said = refusal(here);
  INFO(said);
  CHECK(
    said.starts_with("pipeline.toml:9:8: sink[0].path: " + (here / "audit.jsonl").native() + " is the log of the pipeline p"));
  CHECK(content_of(here / "audit.jsonl") == theirs);
}

TEST_CASE("a state directory that can't be") {
  const pipeline_fixture here;
  here.put_changes(1);
  put(here / "state", "a file");
  here.configure_lines();
  CHECK(refusal(here, "run", 3).find("Not a directory") != std::string::npos);
  CHECK(refusal(here, "check", 3).starts_with("pipeline.toml:2:9: state: "));
}

TEST_CASE("refusals as JSON") {
  namespace json = boost::json;
  const pipeline_fixture here;
  here.configure("name = \"p\"\n");
  for (const auto* command : {"check", "run"}) {
    const auto refused = here.start({command, "--json", "pipeline.toml"});
    CHECK(refused->wait() == exited(2));
    const auto told = json::parse(refused->output()).as_object();
    CHECK(told.at("file") == "pipeline.toml");
    const auto& mistakes = told.at("mistakes").as_array();
    REQUIRE(mistakes.size() == 3);
    CHECK(mistakes[0].at("line") == 1);
    CHECK(mistakes[0].at("key") == "state");
    CHECK(mistakes[0].at("wrong") == "is missing");
  }
}

TEST_CASE("a sound configuration is described, and nothing is written") {
  const pipeline_fixture here;
  here.put_changes(1);
  here.configure_lines();
  const auto before = listing(here.path());
  const auto checked = here.start({"check", "pipeline.toml"});
  CHECK(checked->wait() == exited(0));
  CHECK(checked->errors().empty());
  CHECK(checked->output()
        == "pipeline.toml: the pipeline p can be run\n"
           "  source  jsonl "
             + (here / "changes.jsonl").native()
             + "\n"
               "  sink    audit: jsonl "
             + (here / "audit.jsonl").native()
             + "\n"
               "  state   "
             + (here / "state").native() + ", nothing there yet\n");
  CHECK(listing(here.path()) == before);
  const auto quiet = here.start({"check", "-q", "pipeline.toml"});
  CHECK(quiet->wait() == exited(0));
  CHECK(quiet->output().empty());
}

} // namespace
