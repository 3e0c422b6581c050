// Compiled when the build is configured, to see whether it does (GCC PR 103871).
#include "pattern.hpp"

patterns::task<int> list_from_braces() {
  auto first = patterns::tracked{1};
  auto sum = co_await patterns::sum_of_list({first, first, first});
  co_return sum;
}
