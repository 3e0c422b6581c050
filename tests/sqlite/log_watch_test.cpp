#include "../../adapters/sqlite/log_watch.hpp"
#include "jsonl/scratch.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>

using namespace std::chrono_literals;

namespace {

/// A log's file, and a watch that counts its looks.
struct watched {
  adapter_tests::scratch_directory in;
  std::atomic<int> looks{0};
  weir::sqlite_log::log_watch watch{in / "log.db", [this] {
                                      ++looks;
                                      return false;
                                    }};

  bool has_looked(int times) const {
    for (const auto end = std::chrono::steady_clock::now() + 60s; looks < times;) {
      if (std::chrono::steady_clock::now() > end)
        return false;
      std::this_thread::sleep_for(1ms);
    }
    return true;
  }
};

} // namespace

TEST_CASE("log watch: what was written just before it began is looked for without anybody telling") {
  watched file;
  CHECK(file.has_looked(5));
}

TEST_CASE("log watch: whoever begins to wait has it looked at") {
  watched file;
  const int before = file.looks;
  file.watch.look_soon();
  CHECK(file.has_looked(before + 1));
}
