#include "repository_fixture.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace git_tests {

namespace {

std::string for_shell(std::string_view text) {
  std::string made = "'";
  for (const char c : text)
    if (c == '\'')
      made += "'\\''";
    else
      made += c;
  return made + "'";
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return parts;
}

std::string quoted_path(std::string_view path) {
  std::string text = "\"";
  for (const char c : path) {
    std::array<char, 8> octal{};
    std::snprintf(octal.data(), octal.size(), "\\%03o", static_cast<unsigned>(static_cast<unsigned char>(c)));
    text += octal.data();
  }
  return text + "\"";
}

} // namespace

scratch_directory::scratch_directory() {
  auto pattern = (std::filesystem::temp_directory_path() / "weir-git-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr)
    throw std::runtime_error{"no temporary directory"};
  path_ = pattern;
}

scratch_directory::~scratch_directory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string git(const std::filesystem::path& directory, const std::vector<std::string>& arguments, std::string_view input) {
  std::string line =
    "env -u GIT_DIR TZ=UTC GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b "
    "GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b git -C "
    + for_shell(directory.string());
  for (const auto& one : arguments)
    line += " " + for_shell(one);
  scratch_directory files;
  if (!input.empty()) {
    std::ofstream{files / "in", std::ios::binary} << input;
    line += " < " + for_shell((files / "in").string());
  }
  auto* const pipe = ::popen(line.c_str(), "r");
  if (pipe == nullptr)
    throw std::runtime_error{"can't run " + line};
  std::string output;
  std::array<char, 65536> piece{};
  while (const auto got = std::fread(piece.data(), 1, piece.size(), pipe))
    output.append(piece.data(), got);
  if (::pclose(pipe) != 0)
    throw std::runtime_error{"failed: " + line};
  return output;
}

std::string git_line(const std::filesystem::path& directory, const std::vector<std::string>& arguments) {
  auto line = git(directory, arguments);
  line.erase(std::find(line.begin(), line.end(), '\n'), line.end());
  return line;
}

small_repository::small_repository(const std::filesystem::path& directory) : path_{directory} {
  std::filesystem::create_directories(path_);
  git(path_, {"init", "--quiet", "--bare", "--initial-branch=main"});
}

std::string small_repository::commit(const std::vector<file_change>& changes, const std::vector<std::string>& parents) {
  std::string stream = "commit refs/heads/main\ncommitter a <a@b> " + std::to_string(clock_++) + " +0100\ndata 1\nm\n";
  auto from = parents;
  if (from.empty() && !git(path_, {"for-each-ref", "refs/heads/main"}).empty())
    from.push_back(git_line(path_, {"rev-parse", "refs/heads/main"}));
  for (std::size_t index = 0; index < from.size(); ++index)
    stream += (index == 0 ? "from " : "merge ") + from[index] + "\n";
  for (const auto& change : changes) {
    const auto path = quoted_path(change.path);
    if (change.mode.empty())
      stream += "D " + path + "\n";
    else if (change.mode == "160000")
      stream += "M 160000 " + change.content + " " + path + "\n";
    else
      stream += "M " + change.mode + " inline " + path + "\ndata " + std::to_string(change.content.size()) + "\n"
                + change.content + "\n";
  }
  git(path_, {"fast-import", "--quiet", "--force"}, stream + "\n");
  return git_line(path_, {"rev-parse", "refs/heads/main"});
}

void small_repository::reset(const std::string& commit) {
  git(path_, {"update-ref", "refs/heads/main", commit});
}

std::vector<expected_commit> read_slowly(const std::filesystem::path& repository, const std::string& ref) {
  auto ids = split(git(repository, {"log", "--first-parent", "--format=%H", ref, "--"}), '\n');
  std::ranges::reverse(ids);
  std::vector<expected_commit> commits;
  for (std::size_t index = 0; index < ids.size(); ++index) {
    expected_commit made;
    made.id = ids[index];
    std::vector<std::string> compare{"diff-tree", "-r", "-z", "--no-commit-id", "--no-renames"};
    if (index == 0) {
      compare.insert(compare.end(), {"--root", made.id});
    } else {
      compare.insert(compare.end(), {ids[index - 1], made.id});
    }
    const auto tokens = split(git(repository, compare), '\0');
    for (std::size_t at = 0; at + 1 < tokens.size(); at += 2) {
      const auto words = split(tokens[at], ' ');
      if (words.at(4) == "D")
        made.changes.push_back({tokens[at + 1], "", ""});
      else
        made.changes.push_back({tokens[at + 1], words.at(1), words.at(3)});
    }
    commits.push_back(std::move(made));
  }
  // One call more for the times: as git itself formats them.
  const auto times = split(
    git(repository, {"log", "--first-parent", "--reverse", "--date=format-local:%Y-%m-%dT%H:%M:%SZ", "--format=%cd", ref}),
    '\n');
  for (std::size_t index = 0; index < commits.size(); ++index)
    commits[index].time = times.at(index);
  return commits;
}

file_table read_tree(const std::filesystem::path& repository, const std::string& commit) {
  file_table files;
  for (const auto& line : split(git(repository, {"ls-tree", "-r", "-z", commit}), '\0')) {
    const auto tab = line.find('\t');
    const auto words = split(std::string_view{line}.substr(0, tab), ' ');
    files[line.substr(tab + 1)] = words.at(0) + " " + words.at(2);
  }
  return files;
}

} // namespace git_tests
