#pragma once

#include "figures.hpp"

#include <string>
#include <vector>

namespace weir_bench {

/// Draws the figures that go with the JSON file of that name, beside it: FILE-throughput.svg and so on. Returns what it wrote.
std::vector<std::string> write_plots(const std::vector<measured_case>& measured, const std::string& json_file);

} // namespace weir_bench
