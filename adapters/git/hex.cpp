#include "hex.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace weir::git {

namespace {

constexpr std::uint8_t no_digit = 0xff;

constexpr auto values = [] {
  std::array<std::uint8_t, 256> made{};
  made.fill(no_digit);
  for (std::uint8_t value = 0; value < 10; ++value)
    made[static_cast<std::size_t>('0' + value)] = value;
  for (std::uint8_t value = 10; value < 16; ++value)
    made[static_cast<std::size_t>('a' + value - 10)] = value;
  return made;
}();

std::uint8_t value_of(char digit) noexcept {
  return values[static_cast<unsigned char>(digit)];
}

} // namespace

bool is_hex(std::string_view text) noexcept {
  // No early way out: the loop is short, and this way it has no branch.
  unsigned seen = 0;
  for (const char digit : text)
    seen |= value_of(digit);
  return seen < 16;
}

std::string to_hex(std::string_view bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char one : bytes) {
    const auto byte = static_cast<unsigned char>(one);
    text += digits[byte >> 4];
    text += digits[byte & 0xf];
  }
  return text;
}

std::string from_hex(std::string_view digits) {
  std::string bytes;
  bytes.reserve(digits.size() / 2);
  for (std::size_t at = 0; at + 1 < digits.size(); at += 2)
    bytes += static_cast<char>(value_of(digits[at]) << 4 | value_of(digits[at + 1]));
  return bytes;
}

} // namespace weir::git
