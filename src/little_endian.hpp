#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>

namespace weir::detail {

/// The number whose bytes stand at `from`, lowest first, wherever that is: one load where the machine has the same order.
template <std::unsigned_integral T>
T load_little(const void* from) noexcept {
  if constexpr (std::endian::native == std::endian::little) {
    T number;
    std::memcpy(&number, from, sizeof number);
    return number;
  } else {
    const auto* bytes = static_cast<const unsigned char*>(from);
    T number = 0;
    for (std::size_t index = 0; index < sizeof number; ++index)
      number = static_cast<T>(number | static_cast<T>(bytes[index]) << 8U * index);
    return number;
  }
}

/// Writes the number's bytes to `to`, lowest first.
template <std::unsigned_integral T>
void store_little(void* to, T number) noexcept {
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(to, &number, sizeof number);
  } else {
    auto* bytes = static_cast<unsigned char*>(to);
    for (std::size_t index = 0; index < sizeof number; ++index)
      bytes[index] = static_cast<unsigned char>(number >> 8U * index);
  }
}

} // namespace weir::detail
