#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace git_tests {

/// A directory of its own, removed at the end.
class scratch_directory {
public:
  scratch_directory();
  ~scratch_directory();
  scratch_directory(const scratch_directory&) = delete;
  scratch_directory& operator=(const scratch_directory&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

private:
  std::filesystem::path path_;
};

/// Runs git in a directory and returns what it prints; throws std::runtime_error when it fails. `input` is what it reads.
std::string git(const std::filesystem::path& directory, const std::vector<std::string>& arguments, std::string_view input = {});

/// One trimmed line of that.
std::string git_line(const std::filesystem::path& directory, const std::vector<std::string>& arguments);

/// What a commit does to one path: an empty mode deletes it.
struct file_change {
  std::string path;
  std::string mode;
  std::string content; ///< for mode 160000, a commit id
};

/// A bare repository to which a test adds commits one by one.
class small_repository {
public:
  explicit small_repository(const std::filesystem::path& directory);

  const std::filesystem::path& path() const noexcept { return path_; }

  /// Adds a commit to `main` and returns its id. With `parents`, it goes on from the first of those instead of from main's
  /// newest commit, and the others are merged.
  std::string commit(const std::vector<file_change>& changes, const std::vector<std::string>& parents = {});

  /// Sets `main` to a commit.
  void reset(const std::string& commit);

private:
  std::filesystem::path path_;
  std::size_t clock_ = 1'700'000'000;
};

/// One change as an independent, slow reading sees it.
struct expected_change {
  std::string path;
  std::string mode; ///< "" when deleted
  std::string blob;

  friend bool operator==(const expected_change&, const expected_change&) = default;
};

/// One commit of the first-parent line.
struct expected_commit {
  std::string id;
  std::string time; ///< committer time, RFC 3339 in UTC, as git formats it
  std::vector<expected_change> changes;
};

/// The first-parent line from the root on, read with one git process per commit.
std::vector<expected_commit> read_slowly(const std::filesystem::path& repository, const std::string& ref);

/// path → "mode blob" of a commit's whole tree.
using file_table = std::map<std::string, std::string>;
file_table read_tree(const std::filesystem::path& repository, const std::string& commit);

} // namespace git_tests
