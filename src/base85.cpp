#include <weir/base85.hpp>

#include <array>
#include <cstdint>

namespace weir {

namespace {

constexpr std::string_view digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
constexpr std::uint32_t base = 85;
static_assert(digits.size() == base);

constexpr auto values = [] {
  std::array<std::int8_t, 256> all{};
  all.fill(-1);
  for (std::size_t index = 0; index < digits.size(); ++index)
    all[static_cast<unsigned char>(digits[index])] = static_cast<std::int8_t>(index);
  return all;
}();

std::uint32_t group_of(std::string_view bytes) noexcept {
  std::uint32_t group = 0;
  for (std::size_t index = 0; index < 4; ++index)
    group = group << 8U | (index < bytes.size() ? static_cast<unsigned char>(bytes[index]) : 0U);
  return group;
}

/// The digits of a group, of which the first `count` are wanted.
void append_group(std::string& out, std::uint32_t group, std::size_t count) {
  std::array<char, 5> text{};
  for (auto place = text.size(); place-- > 0; group /= base)
    text[place] = digits[group % base];
  out.append(text.data(), count);
}

} // namespace

void append_base85(std::string& out, std::string_view bytes) {
  for (; bytes.size() >= 4; bytes.remove_prefix(4))
    append_group(out, group_of(bytes), 5);
  if (!bytes.empty())
    append_group(out, group_of(bytes), bytes.size() + 1);
}

std::optional<std::string> decode_base85(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() / 5 * 4 + 4);
  while (!text.empty()) {
    const auto given = text.substr(0, 5);
    const auto count = given.size() - 1; // of bytes
    if (count == 0)
      return std::nullopt;
    std::uint64_t group = 0;
    for (std::size_t index = 0; index < 5; ++index) {
      const auto value =
        index < given.size() ? values[static_cast<unsigned char>(given[index])] : static_cast<std::int8_t>(base - 1);
      if (value < 0)
        return std::nullopt;
      group = group * base + static_cast<std::uint64_t>(value);
    }
    if (given.size() == 5 && group > UINT32_MAX)
      return std::nullopt;
    if (group > UINT32_MAX)
      group = UINT32_MAX; // only digits that were left out can lead there
    const auto begin = bytes.size();
    for (std::size_t index = 0; index < count; ++index)
      bytes += static_cast<char>(group >> (24U - 8U * index) & 0xFFU);
    if (count < 4) { // of several texts for the same bytes one is right
      std::string right;
      append_group(right, group_of(std::string_view{bytes}.substr(begin)), given.size());
      if (right != given)
        return std::nullopt;
    }
    text.remove_prefix(given.size());
  }
  return bytes;
}

} // namespace weir
