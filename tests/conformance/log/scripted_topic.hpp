#pragma once

#include <weir/head_signal.hpp>
#include <weir/log.hpp>

#include <array>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace log_suite {

/// A real topic whose calls a test holds up, and lets fail, one by one; what is not scripted happens as ever. Thread-safe.
class scripted_topic final : public weir::log_topic {
public:
  enum class call : std::uint8_t { append, bounds, read, wait, snapshots, lag, pin, commit };

  struct read_asked {
    std::uint32_t shard;
    std::int64_t after;
    weir::entry_limits limits;
    std::size_t brought; // entries
  };

  explicit scripted_topic(std::shared_ptr<weir::log_topic> real);

  /// The next `times` calls fail, and nothing happens.
  void fail(call which, weir::errc with, std::size_t times = 1);

  /// From now on they don't.
  void mend(call which);

  /// One of the next calls to append() stores its first `count` appends, and then fails with all that follow them.
  void fail_after(std::size_t count, weir::errc with);

  /// One of the next calls to append() stores everything, and says that it failed.
  void lose_answer(weir::errc with);

  /// Calls wait until they are let through.
  void hold(call which);
  void let_through(call which, std::size_t count = 1);
  void let_go(call which);

  /// How many were made, also those that are held.
  std::size_t calls(call which) const;
  /// Blocks until so many were made.
  void await_calls(call which, std::size_t count) const;

  /// What reads asked for and brought.
  std::vector<read_asked> reads() const;
  /// The payloads that each call to append() was to store, separated by blanks.
  std::vector<std::string> appended() const;

  /// What a read brings is changed by this; null: by nothing.
  void change_readings(std::function<void(weir::log_reading&)> how);

  weir::task<weir::append_outcome> append(weir::self me, std::vector<weir::append_call> calls) override;
  weir::task<weir::result<std::vector<weir::shard_bounds>>> bounds(weir::self me) override;
  weir::task<weir::result<weir::log_reading>> read(
    weir::self me, std::uint32_t shard, std::int64_t after, weir::entry_limits limits) override;
  weir::task<weir::result<void>> wait(weir::self me, std::vector<std::int64_t> after, weir::deadline until) override;
  weir::task<weir::result<std::vector<weir::shard_lag>>> lag(weir::self me, std::vector<std::int64_t> after) override;
  weir::task<weir::result<std::int64_t>> offset_at(
    weir::self me, std::uint32_t shard, std::chrono::nanoseconds since_epoch) override;
  weir::task<weir::result<std::uint64_t>> begin_snapshot(weir::self me, std::vector<std::int64_t> offsets) override;
  weir::task<weir::result<void>> add_chunk(weir::self me, std::uint64_t id, std::string chunk) override;
  weir::task<weir::result<weir::snapshot_info>> finish_snapshot(weir::self me, std::uint64_t id) override;
  weir::task<weir::result<std::vector<weir::snapshot_info>>> snapshots(weir::self me) override;
  weir::task<weir::result<std::string>> read_chunk(weir::self me, std::uint64_t id, std::uint64_t index) override;
  weir::task<weir::result<weir::trim_outcome>> trim(weir::self me, weir::trim_request wanted) override;
  weir::task<weir::result<std::uint64_t>> pin(
    weir::self me, std::vector<std::int64_t> offsets, std::chrono::seconds at_most) override;
  weir::task<weir::result<void>> unpin(weir::self me, std::uint64_t pin) override;
  weir::task<weir::result<std::optional<weir::checkpoint>>> read_checkpoint(weir::self me, std::string consumer) override;
  weir::task<weir::result<std::vector<weir::checkpoint>>> checkpoints(weir::self me) override;
  weir::task<weir::result<weir::checkpoint>> commit_checkpoint(weir::self me, weir::checkpoint_commit wanted) override;
  weir::task<weir::result<void>> drop_checkpoint(weir::self me, std::string consumer, std::uint64_t expected) override;
  weir::task<weir::result<weir::checkpoint>> commit_together(
    weir::self me, weir::checkpoint_commit wanted, weir::log_effect effect) override;

private:
  struct append_script {
    std::size_t stored; // of the calls given; the others are reported as undecided
    bool is_lost;       // all are stored, and none is reported
    weir::errc with;
  };

  struct script {
    std::deque<weir::errc> failures;
    bool is_holding = false;
    std::int64_t held = 0; // calls that had to wait, by number
    std::int64_t let_through = 0;
    std::size_t made = 0;
    weir::head_signal gate{1};
  };

  script& of(call which) noexcept { return scripts_[static_cast<std::size_t>(which)]; }
  const script& of(call which) const noexcept { return scripts_[static_cast<std::size_t>(which)]; }

  /// Counts the call and waits until it may go on; what it fails with.
  weir::task<std::optional<weir::error>> enter(weir::self me, call which);
  std::optional<std::int64_t> count(call which);
  std::optional<weir::error> take_failure(call which);
  std::optional<append_script> take_append_script();

  std::shared_ptr<weir::log_topic> real_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::array<script, 8> scripts_;
  std::deque<append_script> append_scripts_;
  std::vector<read_asked> reads_;
  std::vector<std::string> appended_;
  std::function<void(weir::log_reading&)> change_;
};

} // namespace log_suite
