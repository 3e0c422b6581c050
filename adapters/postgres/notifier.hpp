#pragma once

#include "connection.hpp"
#include "jitter.hpp"
#include "outbox.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace weir::postgres {

struct bus_settings {
  server_settings server;
  std::string channel;
  std::chrono::milliseconds beacon{};
  std::chrono::milliseconds patience{};
};

/// Why one of the two connections is not there, for whoever asks.
class link_trouble {
public:
  void set(std::optional<error> why) {
    const std::lock_guard lock{mutex_};
    why_ = std::move(why);
  }
  std::optional<error> get() const {
    const std::lock_guard lock{mutex_};
    return why_;
  }

private:
  mutable std::mutex mutex_;
  std::optional<error> why_;
};

/// Says what is in the outbox, on a connection of its own: whatever waits, in one statement, and the next one when that is
/// answered. A statement begins on its own thread, or on the publisher's where nothing is under way; its answer is heard, and
/// everything that takes time is done, on its own. What a connection dies over is not said again. Sends the beacons.
class notifier {
public:
  /// `trouble` is where it says why it is not connected, or what the server refuses.
  notifier(const bus_settings& how, outbox& from, link_trouble& trouble);
  ~notifier();
  notifier(const notifier&) = delete;
  notifier& operator=(const notifier&) = delete;

  /// Something is in the outbox. Any thread; never waits.
  void on_news();

  /// Blocks until it is connected, or could not be the first time.
  void wait_for_first_try() const { tried_.wait(); }

  std::uint64_t reconnects() const noexcept { return reconnects_.load(std::memory_order_relaxed); }
  std::uint64_t unconfirmed() const noexcept { return unconfirmed_.load(std::memory_order_relaxed); }

  /// The share of the server's queue of notifications that is in use, as of the last beacon; negative: not known.
  double queue_usage() const noexcept { return queue_usage_.load(std::memory_order_relaxed); }

private:
  void run();
  bool work();
  void wait();
  void connect(clock::time_point until);
  bool begin_statement();
  void end_statement();
  void ask_for_usage();
  void lose(error why);
  void finish();
  void give_up(const std::vector<outbox::word>& words, const error& why);

  const bus_settings& how_;
  outbox& from_;
  std::mutex line_; // of everything up to stop_: whoever has it uses the connection
  std::optional<connection> to_;
  std::vector<outbox::word> under_way_;          // in the statement that was begun
  std::optional<error> not_begun_;               // why it could not be
  clock::time_point until_{};                    // it is waited for
  clock::time_point next_beacon_ = clock::now(); // its own thread's
  jittered_backoff pauses_;
  clock::time_point next_try_ = clock::now();
  link_trouble& trouble_;
  bool is_refused_ = false; // what was said last
  std::atomic<std::uint64_t> reconnects_{0};
  std::atomic<std::uint64_t> unconfirmed_{0};
  std::atomic<double> queue_usage_{-1};
  bool was_connected_ = false;
  bool has_spoken_ = false; // the server has taken something
  bool has_tried_ = false;
  bool has_input_ = false; // its own thread's
  wake_event stop_;
  std::promise<void> finished_;
  std::latch tried_{1};
  std::thread thread_; // last: it uses the others
};

} // namespace weir::postgres
