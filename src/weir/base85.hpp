#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

/// Appends bytes as text of five characters for each four bytes, and n + 1 for a rest of n: 25 % more, where base64 takes a
/// third. The alphabet is that of RFC 1924 (digits, letters, and !#$%&()*+-;<=>?@^_`{|}~): without quotes, backslashes, commas
/// and spaces.
void append_base85(std::string& out, std::string_view bytes);

/// How many characters that takes.
constexpr std::size_t base85_size(std::size_t bytes) noexcept {
  return bytes / 4 * 5 + (bytes % 4 == 0 ? 0 : bytes % 4 + 1);
}

/// Back again; nothing where the text is not what append_base85() makes of any bytes.
std::optional<std::string> decode_base85(std::string_view text);

} // namespace weir
