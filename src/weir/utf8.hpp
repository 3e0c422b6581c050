#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weir {

/// How many bytes the well-formed UTF-8 sequence at the front has (RFC 3629: nothing overlong, no surrogates, nothing above
/// U+10FFFF); 0 if there is none. `bytes` is not empty.
std::size_t utf8_length(std::string_view bytes) noexcept;

/// Whether the bytes are well-formed UTF-8 from end to end.
bool is_utf8(std::string_view bytes) noexcept;

/// The text with U+FFFD in place of every byte that is not UTF-8, as JSON demands.
std::string valid_utf8(std::string_view bytes);

} // namespace weir
