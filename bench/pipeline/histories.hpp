#pragma once

#include <cstdint>
#include <filesystem>

namespace weir_bench {

/// A bare repository with a generated history, and how many changes `git log` finds in it.
struct history {
  std::filesystem::path repository;
  std::uint64_t changes = 0;
};

/// A history of about so many changes, always the same; made when it is first asked for, and kept in the system's temporary
/// directory (WEIR_BENCH_DIRECTORY, if that is set).
history find_history(std::uint64_t changes);

/// Where databases and histories go.
std::filesystem::path bench_directory();

} // namespace weir_bench
