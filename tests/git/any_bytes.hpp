#pragma once

#include <cstddef>
#include <string_view>

namespace git_tests {

/// Feeds any bytes to both parsers, whole and in pieces, and aborts when they answer something that they must not: the fuzz
/// target's body, which the tests run too.
void parse_any_bytes(std::string_view bytes, std::size_t piece);

} // namespace git_tests
