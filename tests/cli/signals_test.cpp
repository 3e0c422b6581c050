#include <weir/cli/signals.hpp>

#include <doctest/doctest.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

using namespace weir::cli;

/// What came, and on which thread.
class receiver {
public:
  void on(int number, int count) {
    const std::lock_guard lock{mutex_};
    came_.emplace_back(number, count);
    thread_ = std::this_thread::get_id();
    changed_.notify_all();
  }

  std::vector<std::pair<int, int>> wait_for(std::size_t many) {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return came_.size() >= many; });
    return came_;
  }

  std::thread::id thread() {
    const std::lock_guard lock{mutex_};
    return thread_;
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<int, int>> came_;
  std::thread::id thread_;
};

bool is_blocked(int number) {
  sigset_t now{};
  ::pthread_sigmask(SIG_SETMASK, nullptr, &now);
  return ::sigismember(&now, number) == 1;
}

TEST_CASE("signals are counted on the watch's own thread") {
  receiver came;
  {
    const signal_watch watch{[&](int number, int count) { came.on(number, count); }};
    CHECK(is_blocked(SIGINT));
    CHECK(is_blocked(SIGTERM));
    CHECK(is_blocked(SIGHUP));
    ::kill(::getpid(), SIGTERM);
    CHECK(came.wait_for(1) == std::vector<std::pair<int, int>>{{SIGTERM, 1}});
    ::kill(::getpid(), SIGINT);
    CHECK(came.wait_for(2) == std::vector<std::pair<int, int>>{{SIGTERM, 1}, {SIGINT, 2}});
    CHECK(came.thread() != std::this_thread::get_id());
  }
  CHECK_FALSE(is_blocked(SIGINT));
  CHECK_FALSE(is_blocked(SIGTERM));
  CHECK_FALSE(is_blocked(SIGHUP));
}

TEST_CASE("a watch that nothing comes to ends") {
  for (int round = 0; round < 20; ++round)
    const signal_watch watch{[](int, int) { FAIL("no signal was sent"); }};
}

TEST_CASE("a signal that was ignored from the start stays ignored") {
  struct sigaction ignored{};
  struct sigaction before{};
  ignored.sa_handler = SIG_IGN;
  REQUIRE(::sigaction(SIGHUP, &ignored, &before) == 0);
  {
    receiver came;
    const signal_watch watch{[&](int number, int count) { came.on(number, count); }};
    CHECK_FALSE(is_blocked(SIGHUP));
    ::kill(::getpid(), SIGHUP);
    ::kill(::getpid(), SIGTERM);
    CHECK(came.wait_for(1) == std::vector<std::pair<int, int>>{{SIGTERM, 1}});
  }
  ::sigaction(SIGHUP, &before, nullptr);
}

TEST_CASE("a closed pipe is an error, not the end") {
  let_writes_fail();
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  ::close(ends[0]);
  CHECK(write_all(ends[1], "x") == EPIPE);
  ::close(ends[1]);
}

} // namespace
