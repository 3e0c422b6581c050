#include "../harness/options.hpp"
#include "cases.hpp"

int main(int count, char** words) {
  std::vector<weir_bench::bench_case> cases;
  weir_bench::add_file_cases(cases);
  weir_bench::add_sqlite_cases(cases);
  weir_bench::add_append_cases(cases);
  weir_bench::add_read_cases(cases);
  weir_bench::add_lane_cases(cases);
  weir_bench::add_growth_cases(cases);
  return weir_bench::bench_main(count, words, "log", cases);
}
