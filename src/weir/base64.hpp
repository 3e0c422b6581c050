#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir {

/// Appends standard base64 with padding (RFC 4648, section 4).
void append_base64(std::string& out, std::string_view bytes);

/// Reads standard base64 with padding, strictly: no spaces, no missing padding, no stray bits. Absent if it is anything else.
std::optional<std::string> decode_base64(std::string_view text);

} // namespace weir
