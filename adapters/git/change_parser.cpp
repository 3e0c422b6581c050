#include "change_parser.hpp"

#include "hex.hpp"

#include <charconv>
#include <string>

namespace weir::git {

namespace {

constexpr std::size_t mode_size = 6;

bool is_mode(std::string_view text) noexcept {
  return text.find_first_not_of("01234567") == std::string_view::npos;
}

} // namespace

change_parser::step change_parser::next() {
  if (expected_ != nullptr)
    return step::malformed;
  const auto unread = input_.unread();
  if (unread.empty())
    return is_finished_ ? step::end : step::need_input;
  if (unread.front() == ':')
    return has_commit_ && !may_have_changes_ ? read_change(unread) : fail("a commit");
  if (unread.front() != '\n')
    return read_commit(unread);
  // The blank line between a commit's head and its changes.
  if (!may_have_changes_)
    return fail("a change or a commit");
  if (unread.size() == 1)
    return wait_for(unread, "a change");
  if (unread[1] != ':')
    return fail("a change");
  may_have_changes_ = false;
  take(1);
  return read_change(unread.substr(1));
}

/// Only once the whole token is there: until then it is looked at again with every piece of input, from where the last look
/// ended.
change_parser::step change_parser::read_commit(std::string_view unread) {
  const auto end = unread.find('\0', scanned_);
  if (end == std::string_view::npos)
    return wait_for(unread, "the end of a commit's line");
  const auto line = unread.substr(0, end);
  if (line.size() < id_size_ + 2 || !is_hex(line.substr(0, id_size_)) || line[id_size_] != ' ')
    return fail("a commit's id");
  const auto* const time = line.data() + id_size_ + 1;
  const auto time_end = line.find(' ', id_size_ + 1);
  if (time_end == std::string_view::npos)
    return fail("a commit's parents");
  commit_.time = 0; // git prints none for a date that makes no sense
  if (time != line.data() + time_end) {
    const auto [behind, failure] = std::from_chars(time, line.data() + time_end, commit_.time);
    if (behind != line.data() + time_end || failure == std::errc::invalid_argument)
      return fail("a commit's time");
  }
  const auto parents = line.substr(time_end + 1);
  commit_.id = line.substr(0, id_size_);
  commit_.first_parent = parents.substr(0, id_size_);
  const bool is_root = parents.empty();
  const bool is_whole = commit_.first_parent.size() == id_size_ && is_hex(commit_.first_parent)
                        && (parents.size() == id_size_ || parents[id_size_] == ' ');
  if (!is_root && !is_whole)
    return fail("a parent's id");
  has_commit_ = true;
  may_have_changes_ = true;
  take(end + 1);
  return step::commit;
}

change_parser::step change_parser::read_change(std::string_view unread) {
  // ":" mode SP mode SP id SP id SP status NUL
  const auto old_blob_at = 1 + 2 * (mode_size + 1);
  const auto new_blob_at = old_blob_at + id_size_ + 1;
  const auto status_at = new_blob_at + id_size_ + 1;
  const auto path_at = status_at + 2;
  if (unread.size() <= path_at)
    return wait_for(unread, "a whole change");
  const bool has_shape = unread[mode_size + 1] == ' ' && unread[old_blob_at - 1] == ' ' && unread[new_blob_at - 1] == ' '
                         && unread[status_at - 1] == ' ' && unread[path_at - 1] == '\0';
  if (!has_shape)
    return fail("a change with modes, ids and status");
  const auto end = unread.find('\0', scanned_ < path_at ? path_at : scanned_);
  if (end == std::string_view::npos)
    return wait_for(unread, "the end of a path");
  change_.mode = unread.substr(mode_size + 2, mode_size);
  change_.blob = unread.substr(new_blob_at, id_size_);
  change_.path = unread.substr(path_at, end - path_at);
  const char status = unread[status_at];
  change_.is_delete = status == 'D';
  if (status != 'A' && status != 'M' && status != 'T' && status != 'D')
    return fail("one of the statuses A, M, T and D");
  if (!is_mode(change_.mode) || !is_hex(change_.blob))
    return fail("a mode and an id");
  if (change_.path.empty())
    return fail("a path");
  take(end + 1);
  return step::change;
}

change_parser::step change_parser::wait_for(std::string_view unread, const char* what) {
  if (is_finished_ || unread.size() > longest_token)
    return fail(what);
  scanned_ = unread.size();
  return step::need_input;
}

change_parser::step change_parser::fail(const char* expected) {
  expected_ = expected;
  return step::malformed;
}

void change_parser::take(std::size_t size) noexcept {
  input_.take(size);
  offset_ += size;
  scanned_ = 0;
}

error change_parser::failure() const {
  return error{errc::corrupt,
    std::string{"git printed something else than "} + (expected_ != nullptr ? expected_ : "a history"),
    {{"offset", std::to_string(offset_)}}};
}

} // namespace weir::git
