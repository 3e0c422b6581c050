#include "tree_parser.hpp"

#include "change_parser.hpp"
#include "hex.hpp"

#include <string>

namespace weir::git {

tree_parser::step tree_parser::next() {
  if (is_malformed_)
    return step::malformed;
  const auto unread = input_.unread();
  if (unread.empty())
    return is_finished_ ? step::end : step::need_input;
  const auto end = unread.find('\0', scanned_);
  if (end == std::string_view::npos) {
    scanned_ = unread.size();
    is_malformed_ = is_finished_ || unread.size() > longest_token;
    return is_malformed_ ? step::malformed : step::need_input;
  }
  constexpr std::size_t mode_size = 6;
  const auto line = unread.substr(0, end);
  const auto type_end = line.find(' ', mode_size + 1);
  const auto tab = type_end == std::string_view::npos ? type_end : type_end + 1 + id_size_;
  const bool has_shape = tab != std::string_view::npos && tab + 1 < line.size() && line[mode_size] == ' ' && line[tab] == '\t';
  if (has_shape) {
    file_.mode = line.substr(0, mode_size);
    file_.blob = line.substr(type_end + 1, id_size_);
    file_.path = line.substr(tab + 1);
  }
  is_malformed_ = !has_shape || file_.mode.find_first_not_of("01234567") != std::string_view::npos || !is_hex(file_.blob);
  if (is_malformed_)
    return step::malformed;
  input_.take(end + 1);
  offset_ += end + 1;
  scanned_ = 0;
  return step::file;
}

error tree_parser::failure() const {
  return error{errc::corrupt, "git printed something else than a file of a tree", {{"offset", std::to_string(offset_)}}};
}

} // namespace weir::git
