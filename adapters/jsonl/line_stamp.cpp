#include "line_stamp.hpp"

#include <array>

namespace weir {

namespace {

/// Eight bytes at a time, little-endian whatever the machine, so that state can move between machines. The mixing step is that
/// of splitmix64 (Steele, Lea, Flood 2014).
std::uint64_t hash(std::string_view bytes) noexcept {
  std::uint64_t state = bytes.size();
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    std::uint64_t word = 0;
    for (std::size_t index = 0; index < 8 && at + index < bytes.size(); ++index)
      word |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[at + index])) << 8 * index;
    state = (state ^ word) + 0x9E3779B97F4A7C15U;
    state = (state ^ state >> 30U) * 0xBF58476D1CE4E5B9U;
    state = (state ^ state >> 27U) * 0x94D049BB133111EBU;
    state ^= state >> 31U;
  }
  return state;
}

} // namespace

line_stamp line_stamp::of(std::uint64_t offset, std::string_view before) noexcept {
  return {offset, hash(before)};
}

std::optional<line_stamp> line_stamp::from(const stamp& made) noexcept {
  const auto bytes = made.bytes();
  if (bytes.size() != 16)
    return std::nullopt;
  const auto number_at = [&](std::size_t at) {
    std::uint64_t number = 0;
    for (const auto one : bytes.substr(at, 8))
      number = number << 8U | static_cast<unsigned char>(one);
    return number;
  };
  return line_stamp{number_at(0), number_at(8)};
}

stamp line_stamp::to_stamp() const {
  std::array<char, 16> bytes{};
  for (std::size_t index = 0; index < 8; ++index) {
    bytes[index] = static_cast<char>(offset >> (56 - 8 * index) & 0xFFU);
    bytes[8 + index] = static_cast<char>(seam >> (56 - 8 * index) & 0xFFU);
  }
  return stamp::from({bytes.data(), bytes.size()}).value();
}

} // namespace weir
