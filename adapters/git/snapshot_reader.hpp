#pragma once

#include <weir/git.hpp>
#include <weir/source.hpp>

#include "child_pipeline.hpp"
#include "entry_payload.hpp"
#include "repository.hpp"
#include "tree_parser.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace weir::git {

/// Reads the files of commits in key order, chunk by chunk. A chunk that goes on where an earlier one of the same commit ended
/// is read from the same git, which is kept for it; for any other one, a new git is started and what lies before the chunk is
/// skipped. Blocks; one thread at a time.
class snapshot_reader {
public:
  /// So many gits are kept: as many snapshots can be walked at a time, in turns, without starting over.
  static constexpr std::size_t kept_walks = 4;

  snapshot_reader(repository from, const git_options& options);

  /// Fails with unknown_collection, not_found (fact `commit`), corrupt, and as repository does. As of seq 0, before the root,
  /// there are no files.
  result<snapshot_chunk> read(const snapshot_query& query);

private:
  /// One git on its way through one commit's files.
  struct walk {
    std::string commit;
    std::string walked;    ///< the last path that a chunk returned
    std::string last_path; ///< the last path that git brought
    child_pipeline stream;
    tree_parser parser;
    entry_payload payload;
    bool is_held = false; ///< the parser's last file did not fit into the last chunk
  };

  result<walk> take_walk(const snapshot_query& query, const std::string& walked);
  result<walk> begin_walk(const position& as_of) const;
  result<bool> next_file(walk& on) const;

  repository repository_;
  std::string collection_;
  std::vector<walk> kept_; ///< the longest unused first
};

} // namespace weir::git
