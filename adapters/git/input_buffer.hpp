#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

namespace weir::git {

/// Bytes on their way from a file to a parser: filled at the back, taken from the front, never copied but when a token that is
/// cut by the buffer's end is moved to its front.
class input_buffer {
public:
  static constexpr std::size_t read_size = 128 * 1024;

  /// Room for at least read_size bytes behind what is unread. Moves the unread bytes: views of them end here.
  char* prepare();
  std::size_t room() const noexcept { return capacity_ - end_; }
  void filled(std::size_t size) noexcept { end_ += size; }

  std::string_view unread() const noexcept { return {bytes_.get() + begin_, end_ - begin_}; }
  void take(std::size_t size) noexcept { begin_ += size; }

private:
  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

} // namespace weir::git
