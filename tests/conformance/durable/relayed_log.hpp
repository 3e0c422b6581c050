#pragma once

#include <weir/head_signal.hpp>
#include <weir/log.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace caf {
class actor_system;
} // namespace caf

namespace durable_suite {

/// The calls of a topic that a test can hold up and fail.
enum class log_call : std::uint8_t { append, read, commit, drop };

/// What stands between a simulated world and a real log: it is cut when the world's process is killed, and from then on nothing
/// of that world reaches the log. Until then a test can hold up its calls, and let them fail: topic by topic, kind by kind.
class relay {
public:
  /// Where the log's own threads answer; the simulation's thread waits for them. Null: the log answers on the caller's turn.
  explicit relay(caf::actor_system* where) : elsewhere_{where} {}

  void cut();
  bool is_cut() const noexcept { return is_cut_; }
  caf::actor_system* elsewhere() const noexcept { return elsewhere_; }

  /// Calls wait in the actor that makes them, until they are let through.
  void hold(log_call which, const std::string& topic = "stream") { of(which, topic).is_holding = true; }
  void let_through(log_call which, std::size_t count = 1, const std::string& topic = "stream");
  void let_go(log_call which, const std::string& topic = "stream");

  /// Nothing waits any more, and nothing fails.
  void let_everything_go();

  /// The next ones fail, and nothing happens; for good: all of them.
  void fail(log_call which, weir::errc with, std::size_t times = 1, const std::string& topic = "stream");
  void fail_for_good(log_call which, weir::errc with, const std::string& topic = "stream");
  void mend(log_call which, const std::string& topic = "stream") { of(which, topic).failing = 0; }

  /// How many were made, also those that wait or have failed.
  std::size_t calls(log_call which, const std::string& topic = "stream") { return of(which, topic).made; }

  /// What a call passes on its way to the log: why it fails.
  weir::task<std::optional<weir::error>> enter(weir::self me, log_call which, std::string topic);

private:
  struct plan {
    std::size_t made = 0;
    bool is_holding = false;
    std::int64_t held = 0;
    std::int64_t let_through = 0;
    weir::head_signal gate{1};
    std::size_t failing = 0;
    weir::errc with = {};
  };
  plan& of(log_call which, const std::string& topic);
  static void open(plan& planned, std::int64_t through);

  caf::actor_system* elsewhere_;
  bool is_cut_ = false;
  std::map<std::pair<log_call, std::string>, std::unique_ptr<plan>> plans_;
};

std::shared_ptr<weir::log_store> relayed(std::shared_ptr<weir::log_store> real, std::shared_ptr<relay> through);

} // namespace durable_suite
