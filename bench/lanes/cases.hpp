#pragma once

#include "../harness/figures.hpp"

#include <vector>

namespace weir_bench {

void add_lane_cases(std::vector<bench_case>& cases);    ///< lane.…, lanes.…
void add_control_cases(std::vector<bench_case>& cases); ///< lane.control…
void add_caf_cases(std::vector<bench_case>& cases);     ///< caf.…: the bare library
void add_asio_cases(std::vector<bench_case>& cases);    ///< asio.channel.…: what a user would pick instead
void add_queue_cases(std::vector<bench_case>& cases);   ///< mutex.queue.…

} // namespace weir_bench
