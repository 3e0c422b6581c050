#pragma once

#include <weir/error.hpp>

#include "input_buffer.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::git {

/// One file of a tree. Views live until the parser's input is filled again.
struct tree_line {
  std::string_view mode; ///< six octal digits
  std::string_view blob; ///< hexadecimal
  std::string_view path;
};

/// Reads what `git ls-tree -r -z` prints: { mode SP type SP id TAB path NUL }. As careful as change_parser.
class tree_parser {
public:
  enum class step { need_input, file, end, malformed };

  /// @param id_size hexadecimal digits of an object id, 40 or 64
  explicit tree_parser(std::size_t id_size) noexcept : id_size_{id_size} {}

  input_buffer& input() noexcept { return input_; }
  void finish_input() noexcept { is_finished_ = true; }
  bool has_finished_input() const noexcept { return is_finished_; }

  step next();

  const tree_line& file() const noexcept { return file_; }
  error failure() const;

private:
  std::size_t id_size_;
  input_buffer input_;
  tree_line file_;
  bool is_finished_ = false;
  bool is_malformed_ = false;
  std::size_t scanned_ = 0; ///< of the unread bytes, how many hold no NUL
  std::uint64_t offset_ = 0;
};

} // namespace weir::git
