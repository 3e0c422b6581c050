#pragma once

#include <weir/git.hpp>

#include "batch_builder.hpp"
#include "change_parser.hpp"
#include "child_pipeline.hpp"
#include "entry_payload.hpp"
#include "repository.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace weir::git {

/// Reads a history from a position on, and goes on when it grows or is rewritten. Blocks; one thread at a time.
class history_reader {
public:
  /// Reads `from`'s history behind what is confirmed, or all of it. Where that, or what is held, does not lie on it, a new
  /// epoch begins at the last commit of both. Fails with not_found (fact `ref`), invalid_argument where the confirmed position
  /// lies inside a transaction, and as repository does.
  static result<history_reader> open(repository from, const git_options& options, const resume_point& where);

  enum class state {
    ready,   ///< there is a batch
    waiting, ///< git has not come so far yet
    at_head, ///< the ref's newest commit was read
  };
  struct outcome {
    state is = state::at_head;
    batch live; ///< only when ready
  };

  /// Returns what is ready up to the limit, after waiting for it at most so long. At the ref's newest commit, looks whether the
  /// ref has moved if it is to be followed.
  result<outcome> read(const read_limit& limit, std::chrono::milliseconds patience);

private:
  history_reader(repository from, const git_options& options);

  result<void> resume(const position& confirmed);
  result<bool> has_on_line(const position& held) const;
  result<std::optional<batch>> advance(const read_limit& limit, std::chrono::milliseconds patience);
  result<void> begin_stream();
  result<bool> begin_commit();
  result<void> end_stream();
  result<batch> open_epoch();
  result<position> find_fork() const;
  bool takes_change(const read_limit& limit);

  repository repository_;
  std::string collection_;
  bool follow_;

  std::string head_;          ///< the commit to read up to
  position read_{.epoch = 1}; ///< the last commit that was read or begun; seq 0 before the root
  std::string read_id_;       ///< its id, "" before the root
  bool is_rewritten_ = false;

  std::optional<child_pipeline> stream_; ///< from read_ to head_; absent when that is reached
  std::optional<change_parser> parser_;
  bool is_behind_first_ = false; ///< the stream has shown that it goes on where read_ is
  bool is_held_ = false;         ///< the parser's last change did not fit into the last batch
  batch_builder batch_;
  entry_payload payload_;
};

} // namespace weir::git
