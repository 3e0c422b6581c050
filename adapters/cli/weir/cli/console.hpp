#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace weir::cli {

/// Whole lines on a stream that may be a terminal, and below them, on a terminal, one status line that is redrawn in place.
/// Any thread. Failures to write are ignored: there is nowhere left to report them.
class console {
public:
  /// `descriptor` is written to and never closed. Whether it is a terminal is asked once, here.
  explicit console(int descriptor);

  bool is_terminal() const noexcept { return is_terminal_; }

  /// The terminal's width in characters, as of now; 80 where it does not say. Absent where it is no terminal.
  std::optional<std::size_t> width() const noexcept;

  /// Writes the line above the status line. Its end is added.
  void line(std::string_view text);

  /// Replaces the status line; empty: takes it away. Does nothing where this is no terminal. The text must fit in the width.
  void status(std::string_view text);

  /// Takes the status line away without waiting for any other thread: for an exit in the middle of things.
  void abandon() noexcept;

private:
  void write(std::string_view bytes) const noexcept;

  int descriptor_;
  bool is_terminal_;
  std::mutex mutex_;
  std::string status_;
};

} // namespace weir::cli
