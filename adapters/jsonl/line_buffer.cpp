#include "line_buffer.hpp"

#include <algorithm>
#include <cstring>

namespace weir {

line_buffer::line_buffer(std::size_t max_line, std::size_t chunk) : max_line_{max_line}, chunk_{chunk} {}

void line_buffer::restart(std::uint64_t offset, std::string_view before) {
  before.remove_prefix(before.size() - std::min(before.size(), seam_size));
  bytes_.assign(before.begin(), before.end());
  begin_ = scanned_ = end_ = before.size();
  offset_ = offset;
  passed_over_ = 0;
  start_.clear();
}

std::span<char> line_buffer::room() {
  const auto kept_from = begin_ - std::min(begin_, seam_size);
  if (kept_from > 0 && (begin_ == end_ || bytes_.size() - end_ < chunk_)) {
    std::memmove(bytes_.data(), bytes_.data() + kept_from, end_ - kept_from);
    begin_ -= kept_from;
    scanned_ -= kept_from;
    end_ -= kept_from;
  }
  if (bytes_.size() - end_ < chunk_)
    bytes_.resize(std::max(end_ + chunk_, std::min(2 * bytes_.size(), seam_size + max_line_ + 2 * chunk_)));
  return std::span{bytes_}.subspan(end_, chunk_);
}

std::optional<line_buffer::line> line_buffer::next() {
  if (scanned_ < end_)
    if (const auto* found = std::memchr(bytes_.data() + scanned_, '\n', end_ - scanned_); found != nullptr)
      return take(static_cast<std::size_t>(static_cast<const char*>(found) - bytes_.data()), 1);
  scanned_ = end_;
  if (passed_over_ > 0 || end_ - begin_ > max_line_)
    pass_over();
  return std::nullopt;
}

std::optional<line_buffer::line> line_buffer::rest() {
  if (received() == offset_)
    return std::nullopt;
  return take(end_, 0);
}

line_buffer::line line_buffer::take(std::size_t line_feed_at, std::size_t line_feed_size) {
  line taken;
  taken.text = {bytes_.data() + begin_, line_feed_at - begin_};
  taken.begin = offset_;
  if (passed_over_ > 0 || taken.text.size() > max_line_) {
    taken.is_too_long = true;
    keep_start(taken.text);
    taken.text = start_;
  }
  offset_ += passed_over_ + (line_feed_at + line_feed_size - begin_);
  taken.end = offset_;
  passed_over_ = 0;
  begin_ = scanned_ = line_feed_at + line_feed_size;
  return taken;
}

/// Drops what is there of a line that is too long, but for what has to be remembered.
void line_buffer::pass_over() {
  keep_start({bytes_.data() + begin_, end_ - begin_});
  passed_over_ += end_ - begin_;
  begin_ = end_;
}

/// Adds more of a line that is too long to what is kept of it.
void line_buffer::keep_start(std::string_view more) {
  if (passed_over_ == 0)
    start_.clear();
  start_.append(more.substr(0, start_size - std::min(start_.size(), start_size)));
}

void line_buffer::pass_line_feed(char line_feed) {
  room()[0] = line_feed;
  filled(1);
  begin_ = scanned_ = end_;
  ++offset_;
}

std::string_view line_buffer::before_offset() const noexcept {
  const auto size = std::min(begin_, seam_size);
  return {bytes_.data() + begin_ - size, size};
}

std::string_view line_buffer::before_received() const noexcept {
  const auto size = std::min(end_, seam_size);
  return {bytes_.data() + end_ - size, size};
}

} // namespace weir
