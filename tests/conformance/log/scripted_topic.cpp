#include "conformance/log/scripted_topic.hpp"

#include "conformance/log/performer.hpp"

#include <algorithm>

namespace log_suite {

using weir::error;
using weir::result;
using weir::self;
using weir::task;

scripted_topic::scripted_topic(std::shared_ptr<weir::log_topic> real)
  : weir::log_topic{real->description()},
    real_{std::move(real)} {}

// What a test says -----------------------------------------------------------------------------------------------------------

void scripted_topic::fail(call which, weir::errc with, std::size_t times) {
  const std::lock_guard lock{mutex_};
  of(which).failures.insert(of(which).failures.end(), times, with);
}

void scripted_topic::mend(call which) {
  const std::lock_guard lock{mutex_};
  of(which).failures.clear();
}

void scripted_topic::fail_after(std::size_t count, weir::errc with) {
  const std::lock_guard lock{mutex_};
  append_scripts_.push_back({count, false, with});
}

void scripted_topic::lose_answer(weir::errc with) {
  const std::lock_guard lock{mutex_};
  append_scripts_.push_back({0, true, with});
}

void scripted_topic::hold(call which) {
  const std::lock_guard lock{mutex_};
  of(which).is_holding = true;
}

void scripted_topic::let_through(call which, std::size_t count) {
  const std::lock_guard lock{mutex_};
  of(which).let_through += static_cast<std::int64_t>(count);
  of(which).gate.publish(0, of(which).let_through);
}

void scripted_topic::let_go(call which) {
  const std::lock_guard lock{mutex_};
  of(which).is_holding = false;
  of(which).let_through = std::max(of(which).let_through, of(which).held);
  of(which).gate.publish(0, of(which).let_through);
}

std::size_t scripted_topic::calls(call which) const {
  const std::lock_guard lock{mutex_};
  return of(which).made;
}

void scripted_topic::await_calls(call which, std::size_t count) const {
  std::unique_lock lock{mutex_};
  const bool came = changed_.wait_for(lock, patience, [&] { return of(which).made >= count; });
  REQUIRE_MESSAGE(came, "calls that should be made are not");
}

std::vector<scripted_topic::read_asked> scripted_topic::reads() const {
  const std::lock_guard lock{mutex_};
  return reads_;
}

std::vector<std::string> scripted_topic::appended() const {
  const std::lock_guard lock{mutex_};
  return appended_;
}

void scripted_topic::change_readings(std::function<void(weir::log_reading&)> how) {
  const std::lock_guard lock{mutex_};
  change_ = std::move(how);
}

// What happens ---------------------------------------------------------------------------------------------------------------

std::optional<std::int64_t> scripted_topic::count(call which) {
  const std::lock_guard lock{mutex_};
  auto& planned = of(which);
  ++planned.made;
  changed_.notify_all();
  return planned.is_holding ? std::optional{planned.held++} : std::nullopt;
}

std::optional<error> scripted_topic::take_failure(call which) {
  const std::lock_guard lock{mutex_};
  auto& failures = of(which).failures;
  if (failures.empty())
    return std::nullopt;
  error failed{failures.front(), "the test wants it to fail"};
  failures.pop_front();
  return failed;
}

task<std::optional<error>> scripted_topic::enter(self, call which) {
  const auto held = count(which);
  if (held) {
    auto passing = of(which).gate.wait({*held - 1}, weir::deadline::never());
    auto passed = co_await passing;
    (void)passed; // whoever is asked to stop goes on, as in a store that can't be interrupted
  }
  auto failed = take_failure(which);
  co_return failed;
}

std::optional<scripted_topic::append_script> scripted_topic::take_append_script() {
  const std::lock_guard lock{mutex_};
  if (append_scripts_.empty())
    return std::nullopt;
  const auto next = append_scripts_.front();
  append_scripts_.pop_front();
  return next;
}

task<weir::append_outcome> scripted_topic::append(self me, std::vector<weir::append_call> calls) {
  std::string payloads;
  for (const auto& one : calls)
    for (const auto& each : one.entries)
      payloads += (payloads.empty() ? "" : " ") + each.payload;
  {
    const std::lock_guard lock{mutex_};
    appended_.push_back(std::move(payloads));
  }
  auto entering = enter(me, call::append);
  auto failed = co_await std::move(entering);
  if (failed) {
    weir::append_outcome nothing{{}, std::move(failed), std::move(calls)};
    co_return nothing;
  }
  const auto how = take_append_script();
  if (!how) {
    auto appending = real_->append(me, std::move(calls));
    auto outcome = co_await std::move(appending);
    co_return outcome;
  }
  const error why{how->with, "the test wants it to fail"};
  const auto all = calls;
  const auto stored = how->is_lost ? all.size() : how->stored;
  calls.resize(stored);
  weir::append_outcome outcome;
  if (!calls.empty()) {
    auto appending = real_->append(me, std::move(calls));
    outcome = co_await std::move(appending);
  }
  const auto reported = how->is_lost ? 0 : stored;
  if (how->is_lost)
    outcome.decided.clear();
  outcome.failure = why;
  outcome.undecided.assign(all.begin() + static_cast<std::ptrdiff_t>(reported), all.end());
  co_return outcome;
}

task<result<std::vector<weir::shard_bounds>>> scripted_topic::bounds(self me) {
  auto entering = enter(me, call::bounds);
  auto failed = co_await std::move(entering);
  if (failed) {
    result<std::vector<weir::shard_bounds>> refused = std::move(*failed);
    co_return refused;
  }
  auto asking = real_->bounds(me);
  co_return co_await std::move(asking);
}

task<result<weir::log_reading>> scripted_topic::read(
  self me, std::uint32_t shard, std::int64_t after, weir::entry_limits limits) {
  auto entering = enter(me, call::read);
  auto failed = co_await std::move(entering);
  if (failed) {
    result<weir::log_reading> refused = std::move(*failed);
    co_return refused;
  }
  auto reading = real_->read(me, shard, after, limits);
  auto brought = co_await std::move(reading);
  const std::lock_guard lock{mutex_};
  reads_.push_back({shard, after, limits, brought ? brought.value().entries.size() : 0});
  if (brought && change_)
    change_(brought.value());
  co_return brought;
}

task<result<void>> scripted_topic::wait(self me, std::vector<std::int64_t> after, weir::deadline until) {
  auto entering = enter(me, call::wait);
  auto failed = co_await std::move(entering);
  if (failed) {
    result<void> refused = std::move(*failed);
    co_return refused;
  }
  auto waiting = real_->wait(me, std::move(after), until);
  co_return co_await std::move(waiting);
}

task<result<std::vector<weir::snapshot_info>>> scripted_topic::snapshots(self me) {
  auto entering = enter(me, call::snapshots);
  auto failed = co_await std::move(entering);
  if (failed) {
    result<std::vector<weir::snapshot_info>> refused = std::move(*failed);
    co_return refused;
  }
  auto listing = real_->snapshots(me);
  co_return co_await std::move(listing);
}

task<result<std::vector<weir::shard_lag>>> scripted_topic::lag(self me, std::vector<std::int64_t> after) {
  auto entering = enter(me, call::lag);
  auto failed = co_await std::move(entering);
  if (failed) {
    result<std::vector<weir::shard_lag>> refused = std::move(*failed);
    co_return refused;
  }
  auto asking = real_->lag(me, std::move(after));
  co_return co_await std::move(asking);
}

task<result<std::uint64_t>> scripted_topic::pin(self me, std::vector<std::int64_t> offsets, std::chrono::seconds at_most) {
  auto entering = enter(me, call::pin);
  auto failed = co_await std::move(entering);
  if (failed) {
    result<std::uint64_t> refused = std::move(*failed);
    co_return refused;
  }
  auto pinning = real_->pin(me, std::move(offsets), at_most);
  co_return co_await std::move(pinning);
}

// What is never scripted -----------------------------------------------------------------------------------------------------

task<result<std::int64_t>> scripted_topic::offset_at(self me, std::uint32_t shard, std::chrono::nanoseconds since_epoch) {
  return real_->offset_at(me, shard, since_epoch);
}

task<result<std::uint64_t>> scripted_topic::begin_snapshot(self me, std::vector<std::int64_t> offsets) {
  return real_->begin_snapshot(me, std::move(offsets));
}

task<result<void>> scripted_topic::add_chunk(self me, std::uint64_t id, std::string chunk) {
  return real_->add_chunk(me, id, std::move(chunk));
}

task<result<weir::snapshot_info>> scripted_topic::finish_snapshot(self me, std::uint64_t id) {
  return real_->finish_snapshot(me, id);
}

task<result<std::string>> scripted_topic::read_chunk(self me, std::uint64_t id, std::uint64_t index) {
  return real_->read_chunk(me, id, index);
}

task<result<weir::trim_outcome>> scripted_topic::trim(self me, weir::trim_request wanted) {
  return real_->trim(me, std::move(wanted));
}

task<result<void>> scripted_topic::unpin(self me, std::uint64_t pin) {
  return real_->unpin(me, pin);
}

task<result<std::optional<weir::checkpoint>>> scripted_topic::read_checkpoint(self me, std::string consumer) {
  return real_->read_checkpoint(me, std::move(consumer));
}

task<result<std::vector<weir::checkpoint>>> scripted_topic::checkpoints(self me) {
  return real_->checkpoints(me);
}

task<result<weir::checkpoint>> scripted_topic::commit_checkpoint(self me, weir::checkpoint_commit wanted) {
  auto entering = enter(me, call::commit);
  auto failed = co_await std::move(entering);
  if (failed) {
    result<weir::checkpoint> refused = std::move(*failed);
    co_return refused;
  }
  auto committing = real_->commit_checkpoint(me, std::move(wanted));
  co_return co_await std::move(committing);
}

task<result<void>> scripted_topic::drop_checkpoint(self me, std::string consumer, std::uint64_t expected) {
  return real_->drop_checkpoint(me, std::move(consumer), expected);
}

task<result<weir::checkpoint>> scripted_topic::commit_together(
  self me, weir::checkpoint_commit wanted, weir::log_effect effect) {
  return real_->commit_together(me, std::move(wanted), std::move(effect));
}

} // namespace log_suite
