#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

/// Cuts a stream of bytes into lines, in bounded memory: a line longer than the limit is passed over, and only its start kept.
/// Knows the offset of every line, and remembers the bytes before it, by which a place in the stream is recognised.
class line_buffer {
public:
  /// How many bytes before a place are remembered.
  static constexpr std::size_t seam_size = 256;

  /// How many bytes are kept of a line that is too long.
  static constexpr std::size_t start_size = 4U << 10U;

  struct line {
    std::string_view text;   ///< without the line feed; valid until the next call. The start of a line that is too long
    std::uint64_t begin = 0; ///< offset in the stream
    std::uint64_t end = 0;   ///< offset behind the line feed
    bool is_too_long = false;
  };

  explicit line_buffer(std::size_t max_line, std::size_t chunk = 256U << 10U);

  /// Begins anew at an offset of a stream; `before` are the bytes that precede it, at least the last seam_size of them.
  void restart(std::uint64_t offset, std::string_view before);

  /// Where the stream's next bytes go: room for one chunk.
  std::span<char> room();

  /// So many bytes have been put there.
  void filled(std::size_t bytes) noexcept { end_ += bytes; }

  /// The next line that is complete.
  std::optional<line> next();

  /// At the end of the stream: what follows the last line feed, if there is anything.
  std::optional<line> rest();

  /// Steps over a line feed that belongs to a line which has been taken without it. Only when nothing else is buffered.
  void pass_line_feed(char line_feed);

  /// The offset behind the last line that was taken.
  std::uint64_t offset() const noexcept { return offset_; }

  /// The offset behind the last byte that was filled in.
  std::uint64_t received() const noexcept { return offset_ + passed_over_ + (end_ - begin_); }

  /// The last bytes before offset(), seam_size of them where there are as many.
  std::string_view before_offset() const noexcept;

  /// The last bytes before received(), likewise.
  std::string_view before_received() const noexcept;

private:
  line take(std::size_t line_feed_at, std::size_t line_feed_size);
  void pass_over();
  void keep_start(std::string_view more);

  std::size_t max_line_;
  std::size_t chunk_;
  std::vector<char> bytes_;
  std::size_t begin_ = 0;         ///< of what is not taken, in bytes_; what lies before it is there to be remembered
  std::size_t scanned_ = 0;       ///< no line feed between begin_ and here
  std::size_t end_ = 0;           ///< of what is filled
  std::uint64_t offset_ = 0;      ///< of begin_ in the stream, less what was passed over
  std::uint64_t passed_over_ = 0; ///< bytes of the line at hand that are dropped already; not 0 only when it is too long
  std::string start_;             ///< of the line that is passed over
};

} // namespace weir
