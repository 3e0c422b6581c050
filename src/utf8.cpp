#include <weir/utf8.hpp>

#include <cstdint>
#include <cstring>

namespace weir {

namespace {

constexpr auto byte(char one) noexcept {
  return static_cast<unsigned char>(one);
}

} // namespace

std::size_t utf8_length(std::string_view bytes) noexcept {
  const auto first = byte(bytes[0]);
  if (first < 0x80)
    return 1;
  std::size_t length = 0;
  unsigned lowest = 0x80; // of the second byte
  unsigned highest = 0xBF;
  if (first >= 0xC2 && first <= 0xDF)
    length = 2;
  else if (first >= 0xE0 && first <= 0xEF)
    length = 3;
  else if (first >= 0xF0 && first <= 0xF4)
    length = 4;
  if (length == 0 || bytes.size() < length)
    return 0;
  if (first == 0xE0)
    lowest = 0xA0;
  else if (first == 0xED)
    highest = 0x9F;
  else if (first == 0xF0)
    lowest = 0x90;
  else if (first == 0xF4)
    highest = 0x8F;
  if (byte(bytes[1]) < lowest || byte(bytes[1]) > highest)
    return 0;
  for (std::size_t index = 2; index < length; ++index)
    if ((byte(bytes[index]) & 0xC0U) != 0x80)
      return 0;
  return length;
}

bool is_utf8(std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    std::uint64_t word = 0;
    while (bytes.size() >= sizeof word) {
      std::memcpy(&word, bytes.data(), sizeof word);
      if ((word & 0x8080808080808080U) != 0)
        break;
      bytes.remove_prefix(sizeof word);
    }
    if (bytes.empty())
      break;
    const auto length = utf8_length(bytes);
    if (length == 0)
      return false;
    bytes.remove_prefix(length);
  }
  return true;
}

std::string valid_utf8(std::string_view bytes) {
  std::string made;
  while (!bytes.empty()) {
    const auto length = utf8_length(bytes);
    made += length == 0 ? "\xEF\xBF\xBD" : bytes.substr(0, length);
    bytes.remove_prefix(length == 0 ? 1 : length);
  }
  return made;
}

} // namespace weir
