#include "repository.hpp"

#include "git_directory.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace weir::git {

namespace {

constexpr std::chrono::hours no_hurry{1};

std::vector<std::string> clean_environment() {
  std::vector<std::string> kept;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view variable{*at};
    const bool is_gits =
      variable.starts_with("GIT_") && !variable.starts_with("GIT_CONFIG_") && !variable.starts_with("GIT_EXEC_PATH=");
    const bool is_language = variable.starts_with("LC_") || variable.starts_with("LANG");
    if (!is_gits && !is_language)
      kept.emplace_back(variable);
  }
  for (const char* ours : {
         "LC_ALL=C",                 // its messages are for our errors
         "GIT_FLUSH=0",              // else it writes to a pipe once per commit
         "GIT_TERMINAL_PROMPT=0",    // nobody is there to answer
         "GIT_OPTIONAL_LOCKS=0",     // reading changes nothing
         "GIT_NO_REPLACE_OBJECTS=1", // a local view of the history, which other clones don't share
         "GIT_GRAFT_FILE=/dev/null",
       })
    kept.emplace_back(ours);
  return kept;
}

std::string_view trimmed(std::string_view text) {
  const auto end = text.find_last_not_of(" \n");
  return text.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

/// What git says to people is several lines at times, and goes into one sentence.
std::string in_one_line(std::string_view text) {
  std::string line{trimmed(text)};
  std::ranges::replace_if(line, [](char one) { return one == '\n' || one == '\t'; }, ' ');
  return line;
}

template <class T>
result<T> parse_number(std::string_view text) {
  T number{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{} || end != text.data() + text.size())
    return error{errc::corrupt, "git was asked for a number and gave none", {{"output", std::string{text.substr(0, 200)}}}};
  return number;
}

error unreadable(int number, const std::string& path) {
  const auto reason = std::generic_category().message(number);
  if (number == ENOENT)
    return error{errc::not_found, "the repository " + path + " does not exist", {{"repository", path}}};
  if (number == ENOTDIR)
    return error{errc::not_a_repository, path + " is no directory", {{"repository", path}}};
  const auto code = number == EACCES ? errc::permission_denied : errc::io_failed;
  return error{code, "the repository " + path + " can't be read", {{"repository", path}, {"reason", reason}}};
}

} // namespace

repository::repository(const git_options& options, const interruption& interrupted)
  : path_{options.repository},
    ref_{options.ref},
    program_{options.program},
    environment_{clean_environment()},
    interrupted_{&interrupted} {}

result<repository> repository::open(const git_options& options, const interruption& interrupted) {
  repository opened{options, interrupted};
  auto checked = opened.check_directory();
  if (!checked)
    return std::move(checked).error();
  return opened;
}

result<void> repository::check_directory() const {
  struct stat found{};
  if (::stat(path_.c_str(), &found) != 0)
    return unreadable(errno, path_);
  if (!S_ISDIR(found.st_mode))
    return unreadable(ENOTDIR, path_);
  if (::access(path_.c_str(), R_OK | X_OK) != 0)
    return unreadable(errno, path_);
  auto asked = ask(git("rev-parse", {"--is-inside-work-tree", "--show-prefix", "--absolute-git-dir"}));
  if (!asked)
    return std::move(asked).error();
  const auto& [output, end] = asked.value();
  if (end.exit_status != 0) {
    if (end.standard_error.find("dubious ownership") != std::string::npos)
      return error{errc::permission_denied, "git does not trust the owner of " + path_ + "; add it to safe.directory",
        {{"repository", path_}, {"stderr", in_one_line(end.standard_error)}}};
    if (auto readable = check_git_directory(path_); !readable)
      return readable;
    return error{errc::not_a_repository, path_ + " is not a Git repository",
      {{"repository", path_}, {"stderr", in_one_line(end.standard_error)}}};
  }
  // Git also finds the repository around a directory; that would read another history than the one that was named.
  if (output.starts_with("true\n\n"))
    return success();
  constexpr std::string_view outside = "false\n\n";
  std::error_code failure;
  const auto real_path = std::filesystem::canonical(path_, failure).string();
  if (output.starts_with(outside) && output.substr(outside.size()) == real_path + "\n")
    return success();
  if (auto readable = check_git_directory(path_); !readable)
    return readable;
  return error{errc::not_a_repository, path_ + " lies inside of a Git repository and is not its top", {{"repository", path_}}};
}

command repository::git(std::string verb, std::vector<std::string> arguments) const {
  command made{"git " + verb,
    {program_, "--no-pager", "--no-replace-objects", "-C", path_, "-c", "advice.graftFileDeprecated=false", verb}};
  made.arguments.insert(
    made.arguments.end(), std::make_move_iterator(arguments.begin()), std::make_move_iterator(arguments.end()));
  return made;
}

result<child_pipeline> repository::start(const std::vector<command>& commands) const {
  return child_pipeline::start(commands, environment_, *interrupted_);
}

result<repository::answer> repository::ask(command question) const {
  auto started = start({std::move(question)});
  if (!started)
    return std::move(started).error();
  answer made;
  std::array<char, 4096> buffer;
  for (;;) {
    auto got = started.value().read(buffer.data(), buffer.size(), no_hurry);
    if (!got)
      return std::move(got).error();
    if (got.value().is == child_pipeline::readiness::end)
      break;
    if (made.output.size() < (1u << 16))
      made.output.append(buffer.data(), got.value().size);
  }
  auto end = started.value().finish();
  if (!end)
    return std::move(end).error();
  made.end = std::move(end).value();
  return made;
}

result<std::string> repository::line_of(command question) const {
  auto asked = ask(std::move(question));
  if (!asked)
    return std::move(asked).error();
  if (asked.value().end.exit_status != 0)
    return failure_of(asked.value().end);
  return std::string{trimmed(asked.value().output)};
}

error repository::failure_of(const pipeline_end& end) const {
  return error{errc::source_failed, end.failed + " failed",
    {{"stderr", in_one_line(end.standard_error)}, {"status", std::to_string(end.exit_status)}, {"repository", path_}}};
}

result<void> repository::finish(child_pipeline ended) const {
  auto end = ended.finish();
  if (!end)
    return std::move(end).error();
  if (end.value().exit_status != 0)
    return failure_of(end.value());
  return success();
}

result<std::string> repository::head() const {
  auto asked = ask(git("rev-parse", {"--verify", "--quiet", "--end-of-options", ref_ + "^{commit}"}));
  if (!asked)
    return std::move(asked).error();
  const auto& [output, end] = asked.value();
  if (end.exit_status != 0)
    if (auto readable = check_git_directory(path_); !readable)
      return std::move(readable).error();
  if (end.exit_status == 1)
    return error{errc::not_found, "the repository " + path_ + " has no commit " + ref_, {{"ref", ref_}, {"repository", path_}}};
  if (end.exit_status != 0)
    return failure_of(end);
  return std::string{trimmed(output)};
}

result<bool> repository::has_commit(const std::string& commit) const {
  auto asked = ask(git("rev-parse", {"--verify", "--quiet", "--end-of-options", commit + "^{commit}"}));
  if (!asked)
    return std::move(asked).error();
  const auto& end = asked.value().end;
  if (end.exit_status != 0)
    if (auto readable = check_git_directory(path_); !readable)
      return std::move(readable).error();
  if (end.exit_status > 1)
    return failure_of(end);
  return end.exit_status == 0;
}

result<std::uint64_t> repository::depth_of(const std::string& commit) const {
  auto line = line_of(git("rev-list", {"--first-parent", "--count", commit, "--"}));
  if (!line)
    return std::move(line).error();
  return parse_number<std::uint64_t>(line.value());
}

result<std::uint64_t> repository::commits_beside(const std::string& last, const std::string& other) const {
  auto line = line_of(git("rev-list", {"--first-parent", "--exclude-first-parent-only", "--count", last, "^" + other, "--"}));
  if (!line)
    return std::move(line).error();
  return parse_number<std::uint64_t>(line.value());
}

result<std::string> repository::ancestor_of(const std::string& commit, std::uint64_t generations) const {
  return line_of(git("rev-parse", {"--verify", commit + "~" + std::to_string(generations)}));
}

result<std::int64_t> repository::time_of(const std::string& commit) const {
  auto line = line_of(git("rev-list", {"--max-count=1", "--timestamp", commit, "--"}));
  if (!line)
    return std::move(line).error();
  return parse_number<std::int64_t>(std::string_view{line.value()}.substr(0, line.value().find(' ')));
}

result<child_pipeline> repository::changes(const std::optional<std::string>& after, const std::string& last) const {
  // Two programs instead of one `git log`: that would read the user's log.* and diff.* settings, and holds every commit's
  // message in memory before it prints the first.
  std::vector<std::string> line{"--first-parent", "--reverse", last};
  if (after)
    line.push_back("^" + *after);
  line.emplace_back("--");
  return start({
    git("rev-list", std::move(line)),
    git("diff-tree",
      {"--stdin", "-z", "-r", "--root", "--always", "--diff-merges=first-parent", "--raw", "--no-abbrev", "--no-renames",
        "--no-color", "--encoding=UTF-8", "--no-relative", "--ignore-submodules=none", "--format=%H %ct %P"}),
  });
}

result<child_pipeline> repository::files(const std::string& commit) const {
  return start({git("ls-tree", {"-r", "-z", "--full-tree", commit})});
}

} // namespace weir::git
