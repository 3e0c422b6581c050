#pragma once

#include <cstdint>
#include <string_view>

namespace weir {

/// CRC-32C (Castagnoli polynomial, RFC 3720 appendix B.4): of `bytes` behind what `before` is the checksum of.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0) noexcept;

} // namespace weir
