#pragma once

#include <weir/position.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace weir {

/// How the JSONL source finds a line's end again: its offset, and a hash of the bytes before it, by which it knows the file.
struct line_stamp {
  std::uint64_t offset = 0;
  std::uint64_t seam = 0;

  /// @param before up to line_buffer::seam_size bytes that precede the offset, all of them that there are
  static line_stamp of(std::uint64_t offset, std::string_view before) noexcept;

  /// Absent when the stamp was made by something else.
  static std::optional<line_stamp> from(const stamp& made) noexcept;

  /// 16 bytes: both numbers, big-endian.
  stamp to_stamp() const;

  friend bool operator==(const line_stamp&, const line_stamp&) = default;
};

} // namespace weir
