#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace weir::cli {

/// How many single-character insertions, deletions, replacements and swaps of neighbours turn one into the other (optimal
/// string alignment). Letters of either case are the same, and so are '-' and '_'. O(|left| × |right|).
std::size_t edit_distance(std::string_view left, std::string_view right);

/// The name that `wrong` was most likely meant to be: the nearest, if it is near enough to be a slip (at most a third of the
/// longer one's characters, and at least one). The first of several that are equally near.
std::optional<std::string_view> nearest_name(std::string_view wrong, std::span<const std::string_view> names);

} // namespace weir::cli
