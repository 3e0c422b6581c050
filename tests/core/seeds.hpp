#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace core_tests {

/// Numbers that look random and are the same on every machine for the same seed (SplitMix64: Steele, Lea, Flood, 2014).
class random_source {
public:
  explicit random_source(std::uint64_t seed) noexcept : state_{seed} {}

  std::uint64_t next() noexcept {
    auto mixed = state_ += 0x9E3779B97F4A7C15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
    return mixed ^ (mixed >> 31);
  }

  /// From 0 to limit - 1.
  std::uint64_t below(std::uint64_t limit) noexcept { return next() % limit; }

  /// From least to most, both included.
  std::uint64_t between(std::uint64_t least, std::uint64_t most) noexcept { return least + below(most - least + 1); }

  bool chance(unsigned percent) noexcept { return below(100) < percent; }

  template <class Container>
  auto& pick(Container& from) noexcept {
    return from[static_cast<std::size_t>(below(from.size()))];
  }

private:
  std::uint64_t state_;
};

/// The seeds that a random check runs with: `count` of them, counted up from WEIR_SEED or from 1. The one that fails is
/// printed; started from it, the check fails at once.
std::vector<std::uint64_t> seeds(std::uint64_t count);

/// What a failing check says, so that it can be run again.
std::string replay(std::uint64_t seed);

/// False when WEIR_SEED is set and is no number.
bool is_seed_readable();

} // namespace core_tests
