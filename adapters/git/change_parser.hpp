#pragma once

#include <weir/error.hpp>

#include "input_buffer.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::git {

/// How long a path (or a commit's line of parents) may be before it is taken for garbage.
inline constexpr std::size_t longest_token = 16u << 20;

/// The head of one commit. Views live until the parser's input is filled again.
struct commit_line {
  std::string_view id;           ///< hexadecimal
  std::string_view first_parent; ///< hexadecimal; empty for a root
  std::int64_t time = 0;         ///< committer time, seconds since the Unix epoch
};

/// One path that a commit changes. Views live until the parser's input is filled again.
struct change_line {
  std::string_view path;
  std::string_view mode; ///< six octal digits, the new mode
  std::string_view blob; ///< hexadecimal, the new object
  bool is_delete = false;
};

/// Reads the first-parent history as `git diff-tree --stdin -z --raw --format='%H %ct %P'` prints it:
///
///     history = { commit }
///     commit  = id SP time SP [ parent { SP parent } ] NUL [ LF change { change } ]
///     change  = ":" mode SP mode SP id SP id SP status NUL path NUL
///
/// Paths may hold anything but NUL: where a path stands follows from the tokens before it, never from what it looks like.
/// Fed with any bytes, cut anywhere, it neither reads outside of them nor needs more memory than the longest token.
class change_parser {
public:
  enum class step {
    need_input, ///< fill input() and ask again, or say that there is no more
    commit,     ///< commit() is the next commit; its changes follow
    change,     ///< change() belongs to the last commit
    end,        ///< the input ended behind a whole commit
    malformed,  ///< failure() says what and where; nothing follows
  };

  /// @param id_size hexadecimal digits of an object id, 40 or 64
  explicit change_parser(std::size_t id_size) noexcept : id_size_{id_size} {}

  input_buffer& input() noexcept { return input_; }
  void finish_input() noexcept { is_finished_ = true; }
  bool has_finished_input() const noexcept { return is_finished_; }

  step next();

  const commit_line& commit() const noexcept { return commit_; }
  const change_line& change() const noexcept { return change_; }
  error failure() const;

private:
  step read_commit(std::string_view unread);
  step read_change(std::string_view unread);
  step wait_for(std::string_view unread, const char* what);
  step fail(const char* expected);
  void take(std::size_t size) noexcept;

  std::size_t id_size_;
  input_buffer input_;
  commit_line commit_;
  change_line change_;
  bool has_commit_ = false;       ///< a commit's head came
  bool may_have_changes_ = false; ///< nothing came since that
  bool is_finished_ = false;
  std::size_t scanned_ = 0; ///< of the unread bytes, how many hold no end of the token that is awaited
  std::uint64_t offset_ = 0;
  const char* expected_ = nullptr;
};

} // namespace weir::git
