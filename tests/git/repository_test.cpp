#include "changed_environment.hpp"
#include "reading.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <grp.h>
#include <memory>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>

using namespace git_tests;
using weir::errc;

namespace {

weir::error refusal_of(const weir::git_options& options) {
  auto checked = weir::check(options);
  REQUIRE_FALSE(checked);
  opened_history history{options};
  REQUIRE_FALSE(history.reader);
  CHECK(history.reader.error() == checked.error());
  return checked.error();
}

constexpr uid_t nobody = 65534;

/// What a check says of the repository in a process without root's rights: "" when nothing is wrong, "?" where there can't be
/// such a process.
std::string said_without_rights(const weir::git_options& options) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const auto child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const bool dropped =
      ::geteuid() != 0
      || (::setgroups(0, nullptr) == 0 && ::setresgid(nobody, nobody, nobody) == 0 && ::setresuid(nobody, nobody, nobody) == 0);
    std::string said{"?"};
    if (dropped) {
      const auto checked = weir::check(options);
      said = checked ? "" : std::string{name_of(checked.error().code())} + ": " + checked.error().sentence();
    }
    ::_exit(::write(ends[1], said.data(), said.size()) < 0 ? 1 : 0);
  }
  ::close(ends[1]);
  std::string said;
  std::array<char, 4096> piece{};
  for (ssize_t count = 0; (count = ::read(ends[0], piece.data(), piece.size())) > 0;)
    said.append(piece.data(), static_cast<std::size_t>(count));
  ::close(ends[0]);
  int status = -1;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  return said;
}

/// Gives everything in the directory to nobody, where root runs the test: git reads what belongs to who asks.
void give_away(const std::filesystem::path& directory) {
  if (::geteuid() != 0)
    return;
  REQUIRE(::lchown(directory.c_str(), nobody, nobody) == 0);
  for (const auto& entry : std::filesystem::recursive_directory_iterator{directory})
    REQUIRE(::lchown(entry.path().c_str(), nobody, nobody) == 0);
}

} // namespace

TEST_CASE("what can't be read is refused, each in its own way") {
  scratch_directory directory;
  small_repository repository{directory / "it"};

  auto options = options_for(directory / "it");
  CHECK(refusal_of(options) == errc::not_found); // no commit yet
  repository.commit({{"d/a", "100644", "1"}});
  CHECK(weir::check(options));

  options.ref = "no-such-branch";
  CHECK(refusal_of(options) == errc::not_found);
  CHECK(refusal_of(options).fact_of("ref") == "no-such-branch");
  options.ref = "--help";
  CHECK(refusal_of(options).fact_of("ref") == "--help");
  options.ref = "HEAD^{tree}";
  CHECK(refusal_of(options) == errc::not_found);

  options = options_for(directory / "missing");
  CHECK(refusal_of(options) == errc::not_found);
  CHECK(refusal_of(options).fact_of("repository") == (directory / "missing").string());

  options = options_for(directory / "it");
  options.program = (directory / "no-git").string();
  CHECK(refusal_of(options) == errc::not_found);
  CHECK(refusal_of(options).fact_of("program") == options.program);

  std::filesystem::create_directory(directory / "empty");
  CHECK(refusal_of(options_for(directory / "empty")) == errc::not_a_repository);
  std::ofstream{directory / "file"} << "x";
  CHECK(refusal_of(options_for(directory / "file")) == errc::not_a_repository);
}

TEST_CASE("values that no repository could satisfy are refused at once") {
  const auto option_of = [](const weir::git_options& options) {
    auto made = weir::git_source::make(options);
    REQUIRE_FALSE(made);
    CHECK(made.error() == errc::invalid_argument);
    CHECK(weir::check(options).error() == errc::invalid_argument);
    return std::string{made.error().fact_of("option")};
  };
  weir::git_options options;
  CHECK(option_of(options) == "repository");
  options.repository = "somewhere";
  CHECK(weir::git_source::make(options));
  options.ref = "";
  CHECK(option_of(options) == "ref");
  options.ref = std::string{"HEAD\0x", 6};
  CHECK(option_of(options) == "ref");
  options.ref = "HEAD";
  options.collection = "";
  CHECK(option_of(options) == "collection");
  options.collection = "files";
  options.program = "";
  CHECK(option_of(options) == "program");
}

TEST_CASE("a repository is a working tree's top, a bare one or a .git, and not what lies inside of it") {
  scratch_directory directory;
  small_repository repository{directory / "bare"};
  repository.commit({{"d/a", "100644", "1"}});
  git(directory.path(), {"clone", "--quiet", "bare", "tree with\nline"});
  git(directory / "tree with\nline", {"worktree", "add", "--quiet", "../linked"});
  std::filesystem::create_directory_symlink(directory / "bare", directory / "link");
  CHECK(weir::check(options_for(directory / "bare")));
  CHECK(weir::check(options_for(directory / "link")));
  CHECK(weir::check(options_for(directory / "tree with\nline")));
  CHECK(weir::check(options_for((directory / "tree with\nline").string() + "/")));
  CHECK(weir::check(options_for(directory / "tree with\nline" / ".git")));
  CHECK(weir::check(options_for(directory / "linked")));
  CHECK(refusal_of(options_for(directory / "tree with\nline" / "d")) == errc::not_a_repository);
  CHECK(refusal_of(options_for(directory / "tree with\nline" / ".git" / "refs")) == errc::not_a_repository);
  CHECK(refusal_of(options_for(directory / "bare" / "refs")) == errc::not_a_repository);
}

TEST_CASE("a part of git's directory that can't be read is named, and is not called missing") {
  scratch_directory directory;
  const changed_environment home{"HOME", directory.path().string()};
  small_repository repository{directory / "bare"};
  repository.commit({{"d/a", "100644", "1"}});
  git(directory.path(), {"clone", "--quiet", "bare", "tree"});
  git(directory / "tree", {"worktree", "add", "--quiet", "../linked"});
  git(directory / "tree", {"pack-refs", "--all"});
  const auto main = git_line(directory / "bare", {"rev-parse", "main"});
  give_away(directory.path());
  const auto said_of = [&](std::string_view path) { return said_without_rights(options_for(directory / path)); };
  if (said_of("tree") == "?") {
    std::puts("SKIP a part of git's directory that can't be read: root can't drop its rights here");
    return;
  }
  for (const auto* sound : {"bare", "tree", "linked"})
    CHECK(said_of(sound) == "");

  const auto without = [&](std::string_view unreadable, std::string_view asked) {
    const auto path = directory / unreadable;
    const auto before = std::filesystem::status(path).permissions();
    std::filesystem::permissions(path, std::filesystem::perms::none);
    const auto said = said_of(asked);
    std::filesystem::permissions(path, before);
    const auto* kind = std::filesystem::is_directory(path) ? "directory " : "file ";
    CHECK(said == std::string{"permission_denied: git's "} + kind + path.string() + " can't be read");
  };
  for (const auto* part : {"", "/HEAD", "/config", "/objects", "/refs", "/packed-refs"})
    without(std::string{"tree/.git"} + part, "tree");
  without("tree/.git/worktrees/linked", "linked");
  without("linked/.git", "linked");
  for (const auto* part : {"/HEAD", "/config", "/objects", "/refs", "/refs/heads", "/refs/heads/main"})
    without(std::string{"bare"} + part, "bare");
  without("bare/objects/" + main.substr(0, 2), "bare");
  without("bare/objects/" + main.substr(0, 2) + "/" + main.substr(2), "bare");

  // Also where git finds another repository, around this one.
  git(directory.path(), {"init", "--quiet", "."});
  give_away(directory / ".git");
  without("tree/.git", "tree");
}

TEST_CASE("a file .git that names a directory which is not there") {
  scratch_directory directory;
  std::ofstream{directory / ".git"} << "gitdir: /no/such/directory\n";
  const auto refused = refusal_of(options_for(directory.path()));
  CHECK(refused == errc::not_a_repository);
  CHECK(refused.sentence()
        == "the file " + (directory / ".git").string() + " names the directory /no/such/directory, which does not exist");
  std::ofstream{directory / ".git"} << "something else\n";
  CHECK(refusal_of(options_for(directory.path())).sentence() == directory.path().string() + " is not a Git repository");
}

TEST_CASE("git's distrust of a directory's owner is told, and the user's trust in it counts") {
  scratch_directory directory;
  small_repository repository{directory / "it"};
  repository.commit({{"a", "100644", "1"}});
  if (::chown((directory / "it").c_str(), 12345, 12345) != 0) {
    std::puts("SKIP git's distrust of a directory's owner: only root can give a directory away");
    return;
  }
  const changed_environment home{"HOME", directory.path().string()};
  CHECK(refusal_of(options_for(directory / "it")) == errc::permission_denied);
  CHECK(refusal_of(options_for(directory / "it")).fact_of("stderr").find("dubious ownership") != std::string_view::npos);
  std::ofstream{directory / ".gitconfig"} << "[safe]\n\tdirectory = *\n";
  CHECK(weir::check(options_for(directory / "it")));
}

TEST_CASE("neither configuration nor environment nor local views of the history change what is read") {
  scratch_directory directory;
  small_repository repository{directory / "it"};
  const std::string module = "[submodule \"s\"]\n\tpath = s\n\turl = ./s\n\tignore = all\n";
  const auto root = repository.commit({{"long name", "100644", std::string(500, 'x')}, {"s", "160000", std::string(40, '1')},
    {".gitmodules", "100644", module}, {"caf\xe9", "100644", "1"}});
  const auto second = repository.commit(
    {{"long name", "", ""}, {"moved", "100644", std::string(500, 'x')}, {"s", "160000", std::string(40, '2')}});
  const auto beside = repository.commit({{"beside", "100644", "1"}}, {root});
  repository.commit({{"s", "160000", std::string(40, '3')}, {"z", "100644", "z"}, {"b", "100644", "b"}}, {second, beside});
  git(directory.path(), {"clone", "--quiet", "--no-local", "it", "tree"});
  const auto path = directory / "tree";
  const auto expected = read_slowly(directory / "it", "HEAD"); // where nobody told git to ignore submodules
  REQUIRE(expected.size() == 3);
  REQUIRE(expected[1].changes.size() == 3);

  const std::string hostile = R"(
[core]
	quotePath = true
	abbrev = 4
	pager = false
	fsmonitor = false
	logAllRefUpdates = always
	warnAmbiguousRefs = true
[color]
	ui = always
	diff = always
[diff]
	renames = copies
	ignoreSubmodules = all
	external = false
	noprefix = true
	relative = true
	submodule = log
	wordRegex = .
	algorithm = patience
	orderFile = )" + (directory / "order").string()
                              + R"(
[log]
	showSignature = true
	showRoot = false
	diffMerges = off
	date = relative
	abbrevCommit = true
	decorate = full
	follow = true
	mailmap = true
[format]
	pretty = oneline
[pager]
	rev-list = false
	diff-tree = false
[alias]
	rev-list = !false
	diff-tree = !false
	rev-parse = !false
[i18n]
	logOutputEncoding = UTF-16
[submodule "s"]
	path = s
	url = ./s
	ignore = all
	active = true
)";
  std::ofstream{directory / "order"} << "z\n";
  std::ofstream{directory / ".gitconfig"} << hostile;
  std::ofstream{path / ".git" / "config", std::ios::app} << hostile;
  const auto head = git_line(path, {"rev-parse", "HEAD"});
  git(path, {"replace", second, beside});
  git(path, {"tag", "HEAD"}); // an ambiguous name
  std::ofstream{path / ".git" / "info" / "grafts"} << head << "\n";

  std::vector<std::unique_ptr<changed_environment>> set;
  const auto change = [&](const char* name, const std::string& value) {
    set.push_back(std::make_unique<changed_environment>(name, value));
  };
  change("HOME", directory.path().string());
  change("GIT_DIR", "/nonexistent");
  change("GIT_WORK_TREE", "/nonexistent");
  change("GIT_INDEX_FILE", "/nonexistent");
  change("GIT_OBJECT_DIRECTORY", "/nonexistent");
  change("GIT_NAMESPACE", "elsewhere");
  change("GIT_CEILING_DIRECTORIES", directory.path().string());
  change("GIT_EXTERNAL_DIFF", "false");
  change("GIT_DIFF_OPTS", "-u0");
  change("GIT_LITERAL_PATHSPECS", "1");
  change("GIT_PAGER", "false");
  change("GIT_TRACE", "1");
  change("GIT_TRACE_SETUP", "1");
  change("GIT_FLUSH", "1");
  change("GIT_REPLACE_REF_BASE", "refs/replace/");
  change("GIT_DEFAULT_HASH", "sha256");
  change("LC_ALL", "de_DE.UTF-8");
  change("LANGUAGE", "de");

  opened_history history{options_for(path)};
  auto batches = history.read_to_head();
  check_equal(transactions_of(batches), expected, 1, first_epoch);
  auto missing = options_for(path);
  missing.ref = "nowhere";
  CHECK(weir::check(missing).error() == errc::not_found);
}
