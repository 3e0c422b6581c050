#pragma once

#include "figures.hpp"
#include "machine.hpp"
#include "ratios.hpp"

#include <string>
#include <vector>

namespace weir_bench {

/// {"machine": …, "cases": […], "ratios": […]}: medians over the repetitions; a percentile of a case that times nothing one by
/// one is null. `spread` is that of items_per_s: (largest − smallest) / median.
std::string to_json(const machine& where, const std::vector<measured_case>& measured, const std::vector<found_ratio>& ratios);

/// For people: a line for each case, one for each ratio.
std::string to_table(const std::vector<measured_case>& measured);
std::string to_table(const std::vector<found_ratio>& ratios);

} // namespace weir_bench
