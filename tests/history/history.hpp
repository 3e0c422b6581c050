#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace weir_test {

/// What a generated history looks like. The same options give the same commits, ids included, on every machine.
struct history_options {
  std::size_t commits = 2000;         ///< commits on the first-parent line, from the root
  std::uint64_t seed = 1;             ///< of every random choice
  std::size_t changes_per_commit = 4; ///< roughly, on average; about one commit in sixteen has none
  std::size_t files = 400;            ///< how many files the tree grows to before deletes balance adds
  std::size_t first_commit_files = 0; ///< files that the root commit brings at once
  bool sha256 = false;                ///< object ids of 32 bytes instead of 20
};

/// What was written, counted by the generator as it chose. Not an oracle: a commit's later choice may undo an earlier one.
struct history_summary {
  std::size_t commits = 0;
  std::size_t side_commits = 0;
  std::size_t merges = 0;
  std::size_t empty_commits = 0;
  std::size_t extra_roots = 0;
  std::size_t adds = 0;
  std::size_t edits = 0;
  std::size_t deletes = 0;
  std::size_t renames = 0;
  std::size_t mode_changes = 0;
  std::size_t type_changes = 0;
  std::size_t submodules = 0;
  std::size_t file_to_directory = 0;
  std::size_t directory_to_file = 0;
};

/// Creates a bare repository in `directory` (made when missing) whose HEAD is the generated branch `main`, by way of
/// `git fast-import`. Throws std::runtime_error when git fails.
history_summary make_history(const std::filesystem::path& directory, const history_options& options);

} // namespace weir_test
