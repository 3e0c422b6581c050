#include "excerpt.hpp"

#include <weir/utf8.hpp>

#include "hex_text.hpp"

#include <cstddef>

namespace weir::detail {

namespace {

constexpr std::size_t shown_bytes = 64;

bool is_control(char one) noexcept {
  return static_cast<unsigned char>(one) < 0x20 || one == 0x7F;
}

} // namespace

std::string excerpt(std::string_view bytes) {
  std::string shown;
  std::size_t at = 0;
  while (at < bytes.size() && at < shown_bytes) {
    const auto length = utf8_length(bytes.substr(at));
    if (at + length > shown_bytes)
      break;
    if (length == 0 || is_control(bytes[at])) {
      shown += "\\x";
      append_hex(shown, static_cast<unsigned char>(bytes[at]), 2);
      ++at;
    } else {
      shown += bytes.substr(at, length);
      at += length;
    }
  }
  if (at < bytes.size())
    shown += "… (" + std::to_string(bytes.size()) + " bytes)";
  return shown;
}

} // namespace weir::detail
