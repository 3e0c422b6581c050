#include "log_reader.hpp"

#include <charconv>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

namespace weir_bench {

namespace {

/// Cuts what a pipe gives into the strings that end with a NUL.
class words {
public:
  explicit words(std::FILE* from) : from_{from}, buffer_(std::size_t{1} << 17) {}

  /// The next one, valid until the next call; false at the end.
  bool next(std::string_view& word) {
    for (;;) {
      const char* const begin = buffer_.data() + begin_;
      if (const auto* end = static_cast<const char*>(std::memchr(begin, '\0', end_ - begin_))) {
        word = {begin, static_cast<std::size_t>(end - begin)};
        begin_ += word.size() + 1;
        return true;
      }
      if (!refill())
        return false;
    }
  }

private:
  bool refill() {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    if (end_ == buffer_.size())
      buffer_.resize(buffer_.size() * 2);
    const auto count = std::fread(buffer_.data() + end_, 1, buffer_.size() - end_, from_);
    end_ += count;
    return count > 0;
  }

  std::FILE* from_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

/// "<id> <seconds> <parents…>"
void read_header(std::string_view text, log_commit& into) {
  const auto space = text.find(' ');
  ++into.number;
  into.id = text.substr(0, space);
  const auto seconds = text.substr(space + 1);
  std::from_chars(seconds.data(), seconds.data() + seconds.size(), into.time);
}

/// ":<old mode> <new mode> <old blob> <new blob> <status>"
log_entry read_entry(std::string_view text) {
  const auto word = [&] {
    const auto end = text.find(' ');
    const auto found = text.substr(0, end);
    text.remove_prefix(end + 1);
    return found;
  };
  log_entry entry;
  word();
  entry.mode = word();
  word();
  entry.blob = word();
  return entry;
}

} // namespace

std::string quoted(const std::string& word) {
  std::string safe = "'";
  for (const char letter : word)
    safe += letter == '\'' ? std::string{"'\\''"} : std::string{letter};
  return safe + "'";
}

void read_log(const std::string& repository, const std::function<void(const log_commit&, const log_entry&)>& on_change) {
  const auto command = "git -C " + quoted(repository)
                       + " log --first-parent --reverse --raw -z -r --root --no-renames --no-abbrev "
                         "--diff-merges=first-parent --format='%H %ct' HEAD";
  std::FILE* const log = ::popen(command.c_str(), "r");
  if (log == nullptr)
    throw std::runtime_error{"git log could not be started"};
  words all{log};
  log_commit commit;
  std::string entry_text;
  for (std::string_view word; all.next(word);) {
    while (word.starts_with('\n'))
      word.remove_prefix(1);
    if (word.empty())
      continue;
    if (!word.starts_with(':')) {
      read_header(word, commit);
      continue;
    }
    entry_text = word; // the next word may move the buffer
    auto entry = read_entry(entry_text);
    if (!all.next(entry.path))
      break;
    on_change(commit, entry);
  }
  if (::pclose(log) != 0)
    throw std::runtime_error{"git log failed"};
}

} // namespace weir_bench
