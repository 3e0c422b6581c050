#pragma once

#include <cstdint>
#include <string>

namespace weir::detail {

/// Which digits are written for ten to fifteen.
enum class hex_case { lower, upper };

/// The lowest `width` hexadecimal digits of `number`, with leading zeros.
inline void append_hex(std::string& out, std::uint64_t number, unsigned width, hex_case letters = hex_case::lower) {
  const auto* digits = letters == hex_case::lower ? "0123456789abcdef" : "0123456789ABCDEF";
  while (width > 0) {
    --width;
    out += digits[number >> 4U * width & 0xFU];
  }
}

/// What a hexadecimal digit of either case stands for; -1 for any other character.
constexpr int hex_value(char digit) noexcept {
  if (digit >= '0' && digit <= '9')
    return digit - '0';
  if (digit >= 'a' && digit <= 'f')
    return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F')
    return digit - 'A' + 10;
  return -1;
}

} // namespace weir::detail
