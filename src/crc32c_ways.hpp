#pragma once

#include <cstdint>
#include <string_view>

namespace weir::detail {

// The two ways to compute crc32c(), which takes the faster one that the machine has. Apart so that each can be tested against
// the other.

/// Eight bytes at a time through eight tables (slicing: Kounavis and Berry, 2005). Anywhere.
std::uint32_t crc32c_by_table(std::string_view bytes, std::uint32_t before) noexcept;

/// Eight bytes at a time with the instruction of SSE4.2. Only where has_crc32c_instruction().
std::uint32_t crc32c_by_instruction(std::string_view bytes, std::uint32_t before) noexcept;

bool has_crc32c_instruction() noexcept;

} // namespace weir::detail
