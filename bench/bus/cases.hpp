#pragma once

#include "../harness/figures.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace weir_bench {

inline constexpr std::size_t hint_bytes = 100;

/// A hub, beside a map of callbacks.
void add_memory_cases(std::vector<bench_case>& cases);

/// A server, beside its own statements.
void add_postgres_cases(std::vector<bench_case>& cases);

} // namespace weir_bench
