#include "seeds.hpp"

#include <charconv>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string_view>

namespace core_tests {

namespace {

std::optional<std::uint64_t> parse(std::string_view text) {
  std::uint64_t seed = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (failure != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return seed;
}

} // namespace

std::vector<std::uint64_t> seeds(std::uint64_t count) {
  std::uint64_t first = 1;
  if (const char* wanted = std::getenv("WEIR_SEED"); wanted != nullptr && *wanted != '\0')
    first = parse(wanted).value();
  std::vector<std::uint64_t> all(count);
  std::iota(all.begin(), all.end(), first);
  return all;
}

std::string replay(std::uint64_t seed) {
  return "replay this with --seed " + std::to_string(seed);
}

bool is_seed_readable() {
  const char* wanted = std::getenv("WEIR_SEED");
  return wanted == nullptr || *wanted == '\0' || parse(wanted).has_value();
}

} // namespace core_tests
