#pragma once

#include <weir/error.hpp>

#include "../posix/file_descriptor.hpp"
#include "line_buffer.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>

namespace weir {

/// Where lines come from: a file, which may be followed while it grows, or a pipe.
class line_input {
public:
  enum class outcome {
    filled,      ///< the buffer has more bytes
    nothing_yet, ///< nothing came in time, or stop() was called
    ended,       ///< and nothing will come
    next_file,   ///< the file was read to its end, and another has taken its path: go_to_next_file()
    rewritten,   ///< the file is not what was read before: it is shorter, or other bytes stand there
  };

  /// @param standard_input what "-" stands for; not closed
  line_input(std::filesystem::path path, bool follow, int standard_input);

  /// Opens the path, again when it was open.
  result<void> open();

  /// Whether it is a file, which can be read from any offset. A pipe can't.
  bool is_file() const noexcept { return is_file_; }

  /// Whether the file holds what a stamp says: the bytes before its offset, if it does; absent if it is another file.
  result<std::optional<std::string>> find(std::uint64_t offset, std::uint64_t seam) const;

  /// Reads what is there behind the last byte received, or waits for it.
  result<outcome> fill(line_buffer& buffer, std::chrono::milliseconds patience);

  void go_to_next_file() noexcept;

  /// Ends a wait at once, and every later one. Thread-safe.
  void stop() noexcept;

private:
  result<outcome> fill_from_file(line_buffer& buffer, std::chrono::milliseconds patience);
  result<outcome> fill_from_pipe(line_buffer& buffer, std::chrono::milliseconds patience);
  result<std::size_t> read_on(line_buffer& buffer);
  result<bool> goes_on(line_buffer& buffer);
  bool has_next_file();
  bool wait(std::chrono::milliseconds time) noexcept;

  std::filesystem::path path_;
  bool follow_;
  int standard_input_;
  posix::file_descriptor opened_;
  posix::file_descriptor next_file_;
  posix::file_descriptor wake_; ///< readable once stop() was called
  int file_ = -1;
  bool is_file_ = false;
  bool was_at_end_ = true; ///< the file may have been changed behind our back since
};

} // namespace weir
