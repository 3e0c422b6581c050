#include <weir/base64.hpp>

#include <array>
#include <cstdint>

namespace weir {

namespace {

constexpr auto byte(char one) noexcept {
  return static_cast<unsigned char>(one);
}

constexpr std::string_view base64_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr auto base64_values = [] {
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (std::size_t index = 0; index < base64_digits.size(); ++index)
    values[byte(base64_digits[index])] = static_cast<std::int8_t>(index);
  return values;
}();

} // namespace

void append_base64(std::string& out, std::string_view bytes) {
  const auto digit = [](std::uint32_t group, unsigned shift) { return base64_digits[group >> shift & 0x3FU]; };
  std::size_t at = 0;
  for (; at + 3 <= bytes.size(); at += 3) {
    const auto group = static_cast<std::uint32_t>(byte(bytes[at]) << 16U | byte(bytes[at + 1]) << 8U | byte(bytes[at + 2]));
    for (const auto shift : {18U, 12U, 6U, 0U})
      out += digit(group, shift);
  }
  const auto left = bytes.size() - at;
  if (left == 0)
    return;
  auto group = static_cast<std::uint32_t>(byte(bytes[at]) << 16U);
  if (left == 2)
    group |= static_cast<std::uint32_t>(byte(bytes[at + 1]) << 8U);
  out += digit(group, 18);
  out += digit(group, 12);
  out += left == 2 ? digit(group, 6) : '=';
  out += '=';
}

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0)
    return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t at = 0; at < text.size(); at += 4) {
    const auto is_last = at + 4 == text.size();
    const auto padding = !is_last || text[at + 3] != '=' ? 0U : text[at + 2] != '=' ? 1U : 2U;
    std::uint32_t group = 0;
    for (std::size_t index = 0; index < 4; ++index) {
      const auto value = index + padding >= 4 ? std::int8_t{0} : base64_values[byte(text[at + index])];
      if (value < 0)
        return std::nullopt;
      group = group << 6U | static_cast<std::uint32_t>(value);
    }
    if ((padding == 1 && (group & 0xFFU) != 0) || (padding == 2 && (group & 0xFFFFU) != 0))
      return std::nullopt;
    bytes += static_cast<char>(group >> 16U);
    if (padding < 2)
      bytes += static_cast<char>(group >> 8U & 0xFFU);
    if (padding < 1)
      bytes += static_cast<char>(group & 0xFFU);
  }
  return bytes;
}

} // namespace weir
