#include <weir/cli/nearest_name.hpp>

#include <algorithm>
#include <vector>

namespace weir::cli {

namespace {

char folded(char one) noexcept {
  if (one >= 'A' && one <= 'Z')
    return static_cast<char>(one - 'A' + 'a');
  return one == '-' ? '_' : one;
}

} // namespace

std::size_t edit_distance(std::string_view left, std::string_view right) {
  // Three rows of the usual table: the one being filled, the one above, and the one above that (for swapped neighbours).
  std::vector<std::size_t> before(right.size() + 1);
  std::vector<std::size_t> above(right.size() + 1);
  std::vector<std::size_t> row(right.size() + 1);
  for (std::size_t column = 0; column <= right.size(); ++column)
    row[column] = column;
  for (std::size_t line = 1; line <= left.size(); ++line) {
    before.swap(above);
    above.swap(row);
    row[0] = line;
    for (std::size_t column = 1; column <= right.size(); ++column) {
      const auto here = folded(left[line - 1]);
      const auto there = folded(right[column - 1]);
      row[column] = std::min({above[column] + 1, row[column - 1] + 1, above[column - 1] + (here == there ? 0U : 1U)});
      const bool swapped = line > 1 && column > 1 && here == folded(right[column - 2]) && folded(left[line - 2]) == there;
      if (swapped)
        row[column] = std::min(row[column], before[column - 2] + 1);
    }
  }
  return row[right.size()];
}

std::optional<std::string_view> nearest_name(std::string_view wrong, std::span<const std::string_view> names) {
  std::optional<std::string_view> nearest;
  std::size_t least = 0;
  for (const auto name : names) {
    const auto [shorter, longer] = std::minmax({wrong.size(), name.size()});
    const auto limit = std::max<std::size_t>(1, longer / 3);
    // A difference in length alone is that many edits: no table is filled for a text that can't be near.
    if (longer - shorter > limit)
      continue;
    const auto distance = edit_distance(wrong, name);
    if (distance > limit || distance >= longer)
      continue;
    if (!nearest || distance < least) {
      nearest = name;
      least = distance;
    }
  }
  return nearest;
}

} // namespace weir::cli
