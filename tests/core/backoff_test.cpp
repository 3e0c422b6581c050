#include <weir/backoff.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace std::chrono_literals;

TEST_SUITE("backoff") {
  TEST_CASE("it doubles from a second to a minute and stays there") {
    weir::backoff waits;
    std::vector<std::chrono::milliseconds> seen;
    for (int tries = 0; tries < 9; ++tries)
      seen.push_back(waits.next());
    CHECK(seen == std::vector<std::chrono::milliseconds>{1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s, 60s});
  }

  TEST_CASE("progress starts it again") {
    weir::backoff waits{10ms, 35ms};
    CHECK(waits.next() == 10ms);
    CHECK(waits.next() == 20ms);
    CHECK(waits.next() == 35ms);
    waits.on_progress();
    CHECK(waits.next() == 10ms);
  }

  TEST_CASE("the first wait is no longer than the longest") {
    weir::backoff waits{10s, 1s};
    CHECK(waits.next() == 1s);
    waits.on_progress();
    CHECK(waits.next() == 1s);
  }

  TEST_CASE("it never overflows") {
    weir::backoff waits{1ms, std::chrono::milliseconds::max()};
    auto last = waits.next();
    for (int tries = 0; tries < 200; ++tries) {
      const auto next = waits.next();
      CHECK(next >= last);
      last = next;
    }
    CHECK(last == std::chrono::milliseconds::max());
  }
}
