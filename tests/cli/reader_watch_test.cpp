#include <weir/cli/reader_watch.hpp>
#include <weir/cli/stop_switch.hpp>

#include "temporary_directory.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <fcntl.h>
#include <future>
#include <unistd.h>

namespace {

using namespace weir::cli;
using weir::posix::file_descriptor;

TEST_CASE("a pipe's reader that goes away is noticed, and only then") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  file_descriptor reader{ends[0]};
  const file_descriptor writer{ends[1]};
  std::promise<void> gone;
  std::atomic<int> count = 0;
  {
    const reader_watch watch{writer.number(), [&] {
                               ++count;
                               gone.set_value();
                             }};
    CHECK(count == 0);
    reader.close();
    gone.get_future().wait();
  }
  CHECK(count == 1);
}

TEST_CASE("a file always has a reader") {
  const weir::cli::test::temporary_directory here;
  const file_descriptor file{::open((here / "file").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)};
  for (int round = 0; round < 20; ++round)
    const reader_watch watch{file.number(), [] { FAIL("nobody has gone"); }};
}

TEST_CASE("a switch stops what is attached to it, now or later") {
  stop_switch early;
  int stopped = 0;
  early.request();
  CHECK(early.is_requested());
  early.attach([&] { ++stopped; });
  CHECK(stopped == 1);
  stop_switch late;
  late.attach([&] { ++stopped; });
  CHECK_FALSE(late.is_requested());
  CHECK(stopped == 1);
  late.request();
  CHECK(stopped == 2);
  late.attach({});
  late.request();
  CHECK(stopped == 2);
}

} // namespace
