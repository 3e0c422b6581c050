#pragma once

#include "../harness/figures.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace weir_bench {

inline constexpr std::size_t entry_bytes = 256;

/// The floors: a plain file, and SQLite by hand.
void add_file_cases(std::vector<bench_case>& cases);
void add_sqlite_cases(std::vector<bench_case>& cases);

/// The logs.
void add_append_cases(std::vector<bench_case>& cases);
void add_read_cases(std::vector<bench_case>& cases);

/// A lane that is kept in each log, beside one in memory.
void add_lane_cases(std::vector<bench_case>& cases);

/// What it costs as a log grows, and what a feed holds that has all of it behind.
void add_growth_cases(std::vector<bench_case>& cases);

} // namespace weir_bench
