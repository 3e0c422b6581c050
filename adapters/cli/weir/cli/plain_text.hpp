#pragma once

#include <weir/utf8.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace weir::cli {

/// The text in double quotes, safe on a terminal and in a log: control characters, quotes, backslashes and bytes that are not
/// UTF-8 become escapes, passwords are left out, and what is longer than `longest` bytes is cut with an ellipsis.
std::string in_quotes(std::string_view text, std::size_t longest = 200);

/// The text on one line, safe on a terminal: control characters and bytes that are not UTF-8 become escapes.
std::string printable(std::string_view text);

/// The text with an ellipsis for each password in it, as in scheme://USER:PASSWORD@HOST and password=WORD.
std::string without_passwords(std::string_view text);

/// `"a", "b" or "c"`.
std::string one_of(std::span<const std::string_view> names);

/// The text with every byte that is not UTF-8 written as \xNN and every backslash doubled: valid UTF-8, and no two texts
/// become the same.
std::string escaped_utf8(std::string_view bytes);

} // namespace weir::cli
