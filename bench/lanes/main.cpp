#include "../harness/options.hpp"
#include "cases.hpp"

int main(int count, char** words) {
  std::vector<weir_bench::bench_case> cases;
  weir_bench::add_lane_cases(cases);
  weir_bench::add_control_cases(cases);
  weir_bench::add_caf_cases(cases);
  weir_bench::add_asio_cases(cases);
  weir_bench::add_queue_cases(cases);
  return weir_bench::bench_main(count, words, "lanes", cases);
}
