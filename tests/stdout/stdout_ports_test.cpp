#include <weir/spawn.hpp>
#include <weir/stdout.hpp>

#include "../jsonl/batches.hpp"
#include "../jsonl/threaded.hpp"

#include <doctest/doctest.h>

#include <array>
#include <fcntl.h>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace adapter_tests;
using weir::errc;
using weir::lane_item;
using weir::result;
using weir::self;
using weir::task;

namespace {

task<result<void>> put(self me, std::shared_ptr<weir::stdout_sink> to, std::vector<lane_item> items) {
  auto opening = to->open(me);
  auto opened = co_await std::move(opening);
  if (!opened)
    co_return std::move(opened).error();
  auto writing = to->write(me, std::move(items));
  auto written = co_await std::move(writing);
  if (!written)
    co_return std::move(written).error();
  auto flushing = to->flush(me);
  auto flushed = co_await std::move(flushing);
  co_return flushed;
}

task<> put_for_ever(self me, std::shared_ptr<weir::stdout_sink> to, std::vector<lane_item> items) {
  for (;;) {
    auto writing = to->write(me, items);
    auto written = co_await std::move(writing);
    if (!written)
      co_return;
  }
}

} // namespace

TEST_CASE("lines come out of a coroutine, and a reader that has gone is a failure") {
  threaded actors;
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const auto sink = std::make_shared<weir::stdout_sink>(weir::stdout_sink_options{ends[1]});
  CHECK_FALSE(sink->wants_backfill());
  const std::vector<lane_item> items{live(at(1, 1), {upsert("c", "a", "1")})};
  const auto done = weir::sync_wait(actors.system, &put, sink, items);
  REQUIRE(done.has_value());
  std::array<char, 200> bytes{};
  const auto got = ::read(ends[0], bytes.data(), bytes.size());
  REQUIRE(got > 0);
  CHECK(std::string(bytes.data(), static_cast<std::size_t>(got))
        == "{\"epoch\":1,\"seq\":1,\"index\":0,\"stamp\":\"\",\"collection\":\"c\",\"key\":\"a\",\"op\":\"upsert\",\"payload\":"
           "1,\"ends_transaction\":true}\n");
  ::close(ends[0]);
  const auto failed = weir::sync_wait(actors.system, &put, sink, items);
  REQUIRE_FALSE(failed.has_value());
  CHECK(failed.error() == errc::sink_failed);
  ::close(ends[1]);
}

TEST_CASE("a sink that waits for its reader ends with its actor") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  {
    threaded actors;
    auto sink = std::make_shared<weir::stdout_sink>(weir::stdout_sink_options{ends[1]});
    const std::vector<lane_item> items{live(at(1, 1), {upsert("c", "a", std::string(300'000, '1'))})};
    const auto running = weir::spawn(actors.system, &put_for_ever, std::move(sink), items);
    std::array<char, 1> one{};
    REQUIRE(::read(ends[0], one.data(), 1) == 1); // it has begun to write, and can't end
    running.kill();
    (void)running.wait();
  }
  ::close(ends[0]);
  ::close(ends[1]);
}
