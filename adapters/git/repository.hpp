#pragma once

#include <weir/git.hpp>

#include "child_pipeline.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir::git {

/// Asks one repository by way of the git program. Commits are named by their ids in hexadecimal. All calls block; errors are
/// those of the pipeline, and source_failed with what git said.
///
/// Only plumbing commands with every relevant option spelled out are used, so that no configuration changes what they print,
/// and nothing of the caller's environment does: all GIT_ variables are taken out, save those that say where the user's
/// configuration and git's own programs are (the configuration also holds which directories the user trusts).
class repository {
public:
  /// Makes sure that the directory is the top of a working tree, or a repository itself. Fails with not_found (fact
  /// `repository` or `program`), not_a_repository, permission_denied. `interrupted` outlives the repository.
  static result<repository> open(const git_options& options, const interruption& interrupted);

  /// The commit that the ref names now; not_found (fact `ref`) where there is none, permission_denied where a part of git's
  /// directory can't be read.
  result<std::string> head() const;

  /// Fails with permission_denied where it has none of that name and a part of git's directory can't be read.
  result<bool> has_commit(const std::string& commit) const;

  /// How many commits the first-parent line from the root to this one has.
  result<std::uint64_t> depth_of(const std::string& commit) const;

  /// How many commits of the first-parent line up to `last` are not on the one up to `other`.
  result<std::uint64_t> commits_beside(const std::string& last, const std::string& other) const;

  /// The commit so many first parents before this one.
  result<std::string> ancestor_of(const std::string& commit, std::uint64_t generations) const;

  /// Committer time, seconds since the Unix epoch.
  result<std::int64_t> time_of(const std::string& commit) const;

  /// The first-parent line up to `last`, oldest first, each commit with its changes, as change_parser reads it. It begins at
  /// the root, or behind `after` and everything that `after` has as an ancestor.
  result<child_pipeline> changes(const std::optional<std::string>& after, const std::string& last) const;

  /// All files of the commit in path order, as tree_parser reads them.
  result<child_pipeline> files(const std::string& commit) const;

  /// Waits for a pipeline that has come to its end, and fails with source_failed when one of its programs did.
  result<void> finish(child_pipeline ended) const;

private:
  struct answer {
    std::string output;
    pipeline_end end;
  };

  repository(const git_options& options, const interruption& interrupted);

  result<void> check_directory() const;
  command git(std::string verb, std::vector<std::string> arguments) const;
  result<child_pipeline> start(const std::vector<command>& commands) const;
  result<answer> ask(command question) const;
  result<std::string> line_of(command question) const;
  error failure_of(const pipeline_end& end) const;

  std::string path_;
  std::string ref_;
  std::string program_;
  std::vector<std::string> environment_;
  const interruption* interrupted_;
};

} // namespace weir::git
