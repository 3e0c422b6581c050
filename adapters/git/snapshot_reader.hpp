#pragma once

#include <weir/git.hpp>
#include <weir/source.hpp>

#include "child_pipeline.hpp"
#include "entry_payload.hpp"
#include "repository.hpp"
#include "tree_parser.hpp"

#include <optional>
#include <string>

namespace weir::git {

/// Reads the files of commits in key order, chunk by chunk. While the commit stays the same from chunk to chunk, one git goes
/// on from where it is; otherwise one is started for the new commit, and what lies before the chunk is skipped. Blocks; one
/// thread at a time.
class snapshot_reader {
public:
  snapshot_reader(repository from, const git_options& options);

  /// Fails with unknown_collection, not_found (fact `commit`), corrupt, and as repository does. As of seq 0, before the root,
  /// there are no files.
  result<snapshot_chunk> read(const snapshot_query& query);

private:
  result<void> begin(const position& as_of);
  result<bool> next_file();

  repository repository_;
  std::string collection_;
  std::string commit_;    ///< of the open stream
  std::string walked_;    ///< the last path that a chunk of it returned
  std::string last_path_; ///< the last path that it brought
  std::optional<child_pipeline> stream_;
  std::optional<tree_parser> parser_;
  bool is_held_ = false; ///< the parser's last file did not fit into the last chunk
  entry_payload payload_;
};

} // namespace weir::git
