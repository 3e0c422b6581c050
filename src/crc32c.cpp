#include <weir/crc32c.hpp>

#include "crc32c_ways.hpp"
#include "little_endian.hpp"

#include <array>
#include <cstddef>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace weir {

namespace detail {

namespace {

constexpr std::uint32_t polynomial = 0x82F63B78; // Castagnoli's, bits reversed

using byte_table = std::array<std::uint32_t, 256>;

/// tables[n][b]: what byte b does to the checksum when n more bytes follow it.
constexpr auto tables = [] {
  std::array<byte_table, 8> made{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    auto sum = byte;
    for (int bit = 0; bit < 8; ++bit)
      sum = sum >> 1U ^ ((sum & 1U) != 0 ? polynomial : 0U);
    made[0][byte] = sum;
  }
  for (std::size_t behind = 1; behind < made.size(); ++behind)
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const auto sum = made[behind - 1][byte];
      made[behind][byte] = sum >> 8U ^ made[0][sum & 0xFFU];
    }
  return made;
}();

} // namespace

std::uint32_t crc32c_by_table(std::string_view bytes, std::uint32_t before) noexcept {
  auto sum = ~before;
  const auto* at = bytes.data();
  auto left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    const auto word = load_little<std::uint64_t>(at) ^ sum;
    sum = 0;
    for (std::size_t index = 0; index < 8; ++index)
      sum ^= tables[7 - index][word >> 8U * index & 0xFFU];
  }
  for (; left > 0; --left, ++at)
    sum = sum >> 8U ^ tables[0][(sum ^ static_cast<unsigned char>(*at)) & 0xFFU];
  return ~sum;
}

#if defined(__x86_64__)

// The attribute lets this one function use the instruction, whatever machine the rest is compiled for.
__attribute__((target("sse4.2"))) std::uint32_t crc32c_by_instruction(std::string_view bytes, std::uint32_t before) noexcept {
  std::uint64_t sum = ~before;
  const auto* at = bytes.data();
  auto left = bytes.size();
  for (; left >= 8; left -= 8, at += 8)
    sum = _mm_crc32_u64(sum, load_little<std::uint64_t>(at));
  auto low = static_cast<std::uint32_t>(sum);
  if ((left & 4U) != 0) {
    low = _mm_crc32_u32(low, load_little<std::uint32_t>(at));
    at += 4;
  }
  for (left &= 3U; left > 0; --left, ++at)
    low = _mm_crc32_u8(low, static_cast<unsigned char>(*at));
  return ~low;
}

bool has_crc32c_instruction() noexcept {
  __builtin_cpu_init(); // may be asked before the constructors of globals ran
  return __builtin_cpu_supports("sse4.2") != 0;
}

#else

std::uint32_t crc32c_by_instruction(std::string_view bytes, std::uint32_t before) noexcept {
  return crc32c_by_table(bytes, before);
}

bool has_crc32c_instruction() noexcept {
  return false;
}

#endif

} // namespace detail

std::uint32_t crc32c(std::string_view bytes, std::uint32_t before) noexcept {
  static const auto has_instruction = detail::has_crc32c_instruction();
  return has_instruction ? detail::crc32c_by_instruction(bytes, before) : detail::crc32c_by_table(bytes, before);
}

} // namespace weir
