#include "../harness/options.hpp"
#include "cases.hpp"

int main(int count, char** words) {
  std::vector<weir_bench::bench_case> cases;
  weir_bench::add_memory_cases(cases);
  weir_bench::add_postgres_cases(cases);
  return weir_bench::bench_main(count, words, "bus", cases);
}
