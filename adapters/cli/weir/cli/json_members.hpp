#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// Members of a JSON object that is being written into a text: each begins with a comma unless it is the first.
namespace weir::cli {

/// Valid UTF-8; other bytes become U+FFFD.
void append_member(std::string& out, std::string_view name, std::string_view text);

void append_member(std::string& out, std::string_view name, std::int64_t number);

/// Text as it is; other bytes as base64, under the name with "_base64" behind it.
void append_bytes_member(std::string& out, std::string_view name, std::string_view bytes);

} // namespace weir::cli
