#pragma once

#include <string>
#include <string_view>

namespace weir::git {

/// Whether all characters are 0-9 or a-f.
bool is_hex(std::string_view text) noexcept;

/// Two digits a byte.
std::string to_hex(std::string_view bytes);

/// The bytes that an even number of digits spells; is_hex() must hold.
std::string from_hex(std::string_view digits);

} // namespace weir::git
