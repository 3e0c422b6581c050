#include <weir/configure.hpp>
#include <weir/spawn.hpp>
#include <weir/sqlite_log.hpp>

#include "jsonl/scratch.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>

using topic_ptr = std::shared_ptr<weir::log_topic>;

namespace {

/// Reads the last entries, over and over: at any time somebody is at it.
weir::task<> read_on(weir::self me, topic_ptr from, std::shared_ptr<std::atomic<bool>> is_over) {
  std::int64_t head = 0;
  while (!*is_over) {
    auto asking = from->bounds(me);
    auto bounds = co_await std::move(asking);
    REQUIRE(bounds);
    head = bounds.value().front().head;
    auto reading = from->read(me, 0, std::max<std::int64_t>(head - 300, 0) - 1, {});
    auto brought = co_await std::move(reading);
    REQUIRE(brought);
  }
}

weir::task<std::uintmax_t> append_all(
  weir::self me, std::shared_ptr<weir::log_store> in, std::filesystem::path path, std::shared_ptr<std::atomic<bool>> is_over) {
  constexpr int appends = 2'000;
  auto opening = in->open_topic(me, "topic", {});
  auto opened = co_await std::move(opening);
  REQUIRE(opened);
  std::vector<weir::child> readers;
  for (int one = 0; one < 3; ++one)
    readers.push_back(me.spawn(read_on, opened.value(), is_over));
  std::uintmax_t most = 0;
  for (int one = 0; one < appends; ++one) {
    std::vector<weir::append_call> calls(1);
    calls.front().entries.assign(8, {.payload = std::string(8'000, 'x'), .shard = 0});
    auto appending = opened.value()->append(me, std::move(calls));
    auto outcome = co_await std::move(appending);
    REQUIRE(!outcome.failure);
    most = std::max(most, std::filesystem::file_size(path));
  }
  *is_over = true;
  for (auto& one : readers) {
    auto ending = one.join();
    auto ended = co_await ending;
    (void)ended;
  }
  co_return most;
}

} // namespace

TEST_CASE("a write-ahead log stays small, also where somebody always reads") {
  adapter_tests::scratch_directory in;
  caf::actor_system_config config;
  weir::configure(config);
  caf::actor_system system{config};
  auto log = weir::sqlite::open_log({.path = in / "log.db", .readers = 3});
  REQUIRE(log);
  const auto is_over = std::make_shared<std::atomic<bool>>(false);
  const std::uintmax_t most = weir::sync_wait(system, append_all, log.value(), in / "log.db-wal", is_over).value();
  CHECK(most > 1U << 20U);
  CHECK(most < 64U << 20U); // of 128 MB that went through it
}
