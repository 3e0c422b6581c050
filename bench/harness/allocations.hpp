#pragma once

#include <cstddef>
#include <cstdint>

/// Counts what the program takes from the heap: this program replaces the global operator new. Each thread counts for itself,
/// so that counting costs a few instructions and no shared cache line.
namespace weir_bench {

struct allocation_count {
  std::uint64_t calls = 0;
  std::uint64_t watched = 0; ///< those of exactly the watched size
};

/// Of all threads since the start. Exact only while no thread allocates.
allocation_count allocations() noexcept;

/// From here on, allocations of exactly this many bytes are also counted as `watched`; 0: none are. A std::string of n > 15
/// bytes allocates n + 1 when it is copied: with n even that is an odd size, which no object has, so that a watched allocation
/// is a copy of a payload.
void watch_allocations_of(std::size_t bytes) noexcept;

} // namespace weir_bench
