#pragma once

#include <weir/source.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace weir {

/// Which history to read.
struct git_options {
  std::string repository = {};      ///< a working tree's top directory, a bare repository, or a .git directory
  std::string ref = "HEAD";         ///< a branch, a tag, HEAD, or any other name of a commit
  bool follow = false;              ///< stay at the end of the history and go on with new commits
  std::string collection = "files"; ///< the collection that all changes belong to
  std::string program = "git";      ///< looked up in PATH unless it has a slash
};

/// Makes sure that git_source could read from there: the program, the repository and the ref exist. Blocks for some
/// milliseconds; changes nothing. Fails with invalid_argument (fact `option`), not_found (fact `repository`, `ref` or
/// `program`), not_a_repository, permission_denied (also where Git itself distrusts the directory's owner), or source_failed
/// (fact `stderr`).
result<void> check(const git_options& options);

/// The commit id that a position's stamp holds, in hexadecimal.
std::string commit_of(const position& at);

/// The stamp of a commit, given as 40 or 64 hexadecimal digits; otherwise invalid_argument.
result<stamp> stamp_of_commit(std::string_view commit);

/// A source that reads the first-parent history of a Git repository, oldest commit first.
///
/// A commit is one transaction, of epoch 1 in a history that nothing was confirmed of: `seq` counts the first-parent line from
/// its root (1), `stamp` is the commit id (20 or 32 bytes), `time` the committer's. Its changes are the difference to its first
/// parent, in path order: the key is the path, byte for byte as Git stores it; the payload of an upsert is
///
///     {"mode":"100644","blob":"<id>","commit":"<id>","time":"2024-05-01T12:00:00Z"}
///
/// A rename is a delete and an upsert; a new mode, type or submodule commit (mode 160000) is an upsert. A commit without
/// changes is a transaction of 0 envelopes. A commit that exceeds the read limit is cut; nothing else cuts one.
///
/// A snapshot row has the same payload, with the id and time of the commit *as of which* it was read: Git does not store by
/// which commit a file came. A chunk as of another commit than the one before costs git a walk over the tree up to there.
///
/// When the history was rewritten (the commit behind which it would go on is not on the ref's first-parent line, or at another
/// place of it), the source opens the next epoch: an empty batch at the last commit of both lines (seq 0 with an empty stamp
/// where there is none, where that commit is gone, or where a destination holds an epoch that was never confirmed), from where
/// live changes go on. So a log of changes takes back what it
/// holds of a higher seq, and a table asks for a snapshot.
///
/// Errors of open(): as check(), and invalid_argument for a position inside a transaction. read() and snapshot() fail with
/// source_failed (fact `stderr`) when git does, corrupt when its output can't be what it should be. read() also fails with
/// not_found when the ref it follows is deleted, and with cancelled when its coroutine is asked to stop. snapshot() fails with
/// unknown_collection, and not_found when the commit is gone from the repository.
class git_source final : public source {
public:
  /// Refuses options that no repository could satisfy; touches nothing until open().
  static result<std::unique_ptr<git_source>> make(git_options options);

  /// Ends the child processes and waits until no call runs any more.
  ~git_source() override;

  task<result<void>> open(self me, resume_point from) override;
  task<result<std::optional<reading>>> read(self me, read_limit limit) override;
  task<result<void>> confirm(self me, position at) override;
  task<result<snapshot_chunk>> snapshot(self me, snapshot_query query) override;

private:
  struct parts;
  explicit git_source(std::unique_ptr<parts> made) noexcept;

  std::unique_ptr<parts> parts_;
};

} // namespace weir
