#include <weir/sqlite_log.hpp>

#include "conformance/log/log_caller.hpp"
#include "jsonl/scratch.hpp"

#include <doctest/doctest.h>

#include <condition_variable>
#include <mutex>
#include <thread>

using namespace log_suite;

namespace {

/// A clock at which a store's thread can be held, in the middle of what it writes.
class held_clock {
public:
  std::int64_t now() {
    std::unique_lock lock{mutex_};
    ++asked_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !is_held_; });
    return 1'700'000'000'000'000'000;
  }
  void hold() {
    const std::lock_guard lock{mutex_};
    is_held_ = true;
    asked_ = 0;
  }
  void await_held() {
    std::unique_lock lock{mutex_};
    REQUIRE(changed_.wait_for(lock, patience, [this] { return asked_ > 0; }));
  }
  void let_go() {
    const std::lock_guard lock{mutex_};
    is_held_ = false;
    changed_.notify_all();
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_held_ = false;
  int asked_ = 0;
};

std::shared_ptr<weir::log_store> open(const adapter_tests::scratch_directory& directory, held_clock& clock) {
  return must(weir::sqlite::open_log({.path = directory / "held.db", .now = [&clock] { return clock.now(); }}));
}

weir::task<weir::append_outcome> append(weir::self me, std::shared_ptr<weir::log_topic> to, std::string payload) {
  std::vector<weir::append_call> calls(1);
  calls.front().entries.push_back({.payload = std::move(payload), .shard = 0});
  auto appending = to->append(me, std::move(calls));
  co_return co_await std::move(appending);
}

weir::task<weir::result<weir::checkpoint>> commit(weir::self me, std::shared_ptr<weir::log_topic> to) {
  auto committing = to->commit_checkpoint(me, {.consumer = "reader", .offsets = {-1}});
  co_return co_await std::move(committing);
}

} // namespace

TEST_CASE("log: what an actor was to write when it was destroyed never happens, unless it had begun") {
  log_caller log;
  const adapter_tests::scratch_directory directory;
  held_clock clock;
  topic_caller topic{log, must(log.open_topic(open(directory, clock), "orders"))};
  performer under_way{log.system()};
  performer waits{log.system()};
  clock.hold();
  auto first = under_way.begin(&append, topic.topic(), std::string{"under way"});
  clock.await_held();
  (void)waits.begin(&append, topic.topic(), std::string{"never"});
  (void)waits.begin(&commit, topic.topic());
  waits.settle();
  waits.kill();
  under_way.kill();
  clock.let_go();
  topic.append_payloads({"next"});
  CHECK(topic.payloads() == texts{"under way", "next"});
  CHECK(must(topic.checkpoint("reader")) == std::nullopt);
}

TEST_CASE("log: a store may be let go of while it writes for an actor that was destroyed") {
  log_caller log;
  const adapter_tests::scratch_directory directory;
  held_clock clock;
  performer last{log.system()};
  std::weak_ptr<weir::log_topic> open_topic;
  {
    auto topic = must(log.open_topic(open(directory, clock), "orders"));
    open_topic = topic;
    clock.hold();
    (void)last.begin(&append, std::move(topic), std::string{"a"});
  }
  clock.await_held();
  last.actor().kill();
  while (!open_topic.expired())
    std::this_thread::yield();
  clock.let_go();
  last.kill();
  topic_caller again{log, must(log.open_topic(open(directory, clock), "orders"))};
  CHECK(again.payloads() == texts{"a"});
}
