#include "conformance/durable/relayed_log.hpp"

#include <weir/spawn.hpp>

#include <algorithm>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

namespace durable_suite {

namespace {

using weir::result;
using weir::self;
using weir::task;

weir::error cut_off() {
  return weir::error{weir::errc::closed, "the process was killed"};
}

/// One call of the real one, wherever it is carried out.
template <auto Method, class Real, class... Args>
auto call(self me, std::shared_ptr<Real> real, Args... args) -> decltype((real.get()->*Method)(me, std::move(args)...)) {
  auto calling = (real.get()->*Method)(me, std::move(args)...);
  auto outcome = co_await std::move(calling);
  co_return outcome;
}

template <class T>
T failed(const weir::error& why) {
  if constexpr (std::is_same_v<T, weir::append_outcome>)
    return weir::append_outcome{.failure = why};
  else
    return T{why};
}

template <auto Method, class Real, class... Args>
auto pass_on(self me, std::shared_ptr<relay> through, std::shared_ptr<Real> real, Args... args)
  -> decltype((real.get()->*Method)(me, std::move(args)...)) {
  const bool is_cut = through->is_cut();
  using outcome = typename decltype((real.get()->*Method)(me, std::move(args)...))::value_type;
  if (is_cut) {
    auto nothing = failed<outcome>(cut_off());
    co_return nothing;
  }
  if (through->elsewhere() == nullptr) {
    auto calling = call<Method, Real, Args...>(me, real, std::move(args)...);
    auto there = co_await std::move(calling);
    co_return there;
  }
  auto brought = weir::sync_wait(*through->elsewhere(), &call<Method, Real, Args...>, real, std::move(args)...);
  if constexpr (std::is_same_v<outcome, weir::append_outcome>) {
    auto stored = brought ? std::move(brought).value() : failed<outcome>(brought.error());
    co_return stored;
  } else {
    co_return brought;
  }
}

class relayed_topic final : public weir::log_topic {
  template <auto Method, class... Args>
  auto pass(self me, Args... args) {
    return pass_on<Method, log_topic, Args...>(me, through_, real_, std::move(args)...);
  }

  /// One that a test may hold up, and fail.
  template <auto Method, class T, class... Args>
  task<result<T>> enter(self me, log_call which, Args... args) {
    auto entering = through_->enter(me, which, description().name);
    auto why = co_await std::move(entering);
    if (why) {
      result<T> nothing = std::move(*why);
      co_return nothing;
    }
    auto passing = pass_on<Method, log_topic, Args...>(me, through_, real_, std::move(args)...);
    auto passed = co_await std::move(passing);
    co_return passed;
  }

public:
  relayed_topic(std::shared_ptr<weir::log_topic> real, std::shared_ptr<relay> through)
    : log_topic{real->description()},
      real_{std::move(real)},
      through_{std::move(through)} {}

  task<weir::append_outcome> append(self me, std::vector<weir::append_call> calls) override {
    auto entering = through_->enter(me, log_call::append, description().name);
    auto why = co_await std::move(entering);
    if (why) {
      weir::append_outcome nothing;
      nothing.failure = std::move(why);
      nothing.undecided = std::move(calls);
      co_return nothing;
    }
    auto passing = pass<&log_topic::append>(me, std::move(calls));
    auto passed = co_await std::move(passing);
    co_return passed;
  }
  task<result<std::vector<weir::shard_bounds>>> bounds(self me) override { return pass<&log_topic::bounds>(me); }
  task<result<weir::log_reading>> read(self me, std::uint32_t shard, std::int64_t after, weir::entry_limits limits) override {
    return enter<&log_topic::read, weir::log_reading>(me, log_call::read, shard, after, limits);
  }
  task<result<void>> wait(self me, std::vector<std::int64_t> after, weir::deadline until) override {
    return pass<&log_topic::wait>(me, std::move(after), until);
  }
  task<result<std::vector<weir::shard_lag>>> lag(self me, std::vector<std::int64_t> after) override {
    return pass<&log_topic::lag>(me, std::move(after));
  }
  task<result<std::uint64_t>> begin_snapshot(self me, std::vector<std::int64_t> offsets) override {
    return pass<&log_topic::begin_snapshot>(me, std::move(offsets));
  }
  task<result<void>> add_chunk(self me, std::uint64_t id, std::string chunk) override {
    return pass<&log_topic::add_chunk>(me, id, std::move(chunk));
  }
  task<result<weir::snapshot_info>> finish_snapshot(self me, std::uint64_t id) override {
    return pass<&log_topic::finish_snapshot>(me, id);
  }
  task<result<std::vector<weir::snapshot_info>>> snapshots(self me) override { return pass<&log_topic::snapshots>(me); }
  task<result<std::string>> read_chunk(self me, std::uint64_t id, std::uint64_t index) override {
    return pass<&log_topic::read_chunk>(me, id, index);
  }
  task<result<weir::trim_outcome>> trim(self me, weir::trim_request wanted) override {
    return pass<&log_topic::trim>(me, std::move(wanted));
  }
  task<result<std::uint64_t>> pin(self me, std::vector<std::int64_t> offsets, std::chrono::seconds at_most) override {
    return pass<&log_topic::pin>(me, std::move(offsets), at_most);
  }
  task<result<void>> unpin(self me, std::uint64_t id) override { return pass<&log_topic::unpin>(me, id); }
  task<result<std::optional<weir::checkpoint>>> read_checkpoint(self me, std::string consumer) override {
    return pass<&log_topic::read_checkpoint>(me, std::move(consumer));
  }
  task<result<std::vector<weir::checkpoint>>> checkpoints(self me) override { return pass<&log_topic::checkpoints>(me); }
  task<result<weir::checkpoint>> commit_checkpoint(self me, weir::checkpoint_commit wanted) override {
    return enter<&log_topic::commit_checkpoint, weir::checkpoint>(me, log_call::commit, std::move(wanted));
  }
  task<result<void>> drop_checkpoint(self me, std::string consumer, std::uint64_t expected) override {
    return enter<&log_topic::drop_checkpoint, void>(me, log_call::drop, std::move(consumer), expected);
  }

private:
  std::shared_ptr<log_topic> real_;
  std::shared_ptr<relay> through_;
};

class relayed_store final : public weir::log_store {
public:
  relayed_store(std::shared_ptr<weir::log_store> real, std::shared_ptr<relay> through)
    : real_{std::move(real)},
      through_{std::move(through)} {}

  weir::log_capabilities capabilities() const noexcept override { return real_->capabilities(); }
  std::uint64_t id() const noexcept override { return real_->id(); }

  task<result<std::shared_ptr<weir::log_topic>>> open_topic(self me, std::string name, weir::topic_layout layout) override {
    auto opening =
      pass_on<&log_store::open_topic, log_store, std::string, weir::topic_layout>(me, through_, real_, std::move(name), layout);
    auto opened = co_await std::move(opening);
    co_return wrap(std::move(opened));
  }
  task<result<std::shared_ptr<weir::log_topic>>> find_topic(self me, std::string name) override {
    auto finding = pass_on<&log_store::find_topic, log_store, std::string>(me, through_, real_, std::move(name));
    auto found = co_await std::move(finding);
    co_return wrap(std::move(found));
  }
  task<result<std::vector<weir::topic_description>>> topics(self me) override {
    return pass_on<&log_store::topics, log_store>(me, through_, real_);
  }

private:
  result<std::shared_ptr<weir::log_topic>> wrap(result<std::shared_ptr<weir::log_topic>> real) const {
    if (!real)
      return real;
    return std::shared_ptr<weir::log_topic>{std::make_shared<relayed_topic>(std::move(real).value(), through_)};
  }

  std::shared_ptr<weir::log_store> real_;
  std::shared_ptr<relay> through_;
};

} // namespace

void relay::cut() {
  is_cut_ = true;
  let_everything_go();
}

void relay::open(plan& planned, std::int64_t through) {
  planned.let_through = std::max(planned.let_through, through);
  planned.gate.publish(0, planned.let_through);
}

void relay::let_through(log_call which, std::size_t count, const std::string& topic) {
  auto& planned = of(which, topic);
  open(planned, planned.let_through + static_cast<std::int64_t>(count));
}

void relay::let_go(log_call which, const std::string& topic) {
  auto& planned = of(which, topic);
  planned.is_holding = false;
  open(planned, planned.held);
}

void relay::let_everything_go() {
  for (const auto& [which, planned] : plans_) {
    planned->is_holding = false;
    planned->failing = 0;
    open(*planned, planned->held);
  }
}

void relay::fail(log_call which, weir::errc with, std::size_t times, const std::string& topic) {
  auto& planned = of(which, topic);
  planned.failing = times;
  planned.with = with;
}

void relay::fail_for_good(log_call which, weir::errc with, const std::string& topic) {
  fail(which, with, std::numeric_limits<std::size_t>::max(), topic);
}

relay::plan& relay::of(log_call which, const std::string& topic) {
  auto& planned = plans_[{which, topic}];
  if (!planned)
    planned = std::make_unique<plan>();
  return *planned;
}

task<std::optional<weir::error>> relay::enter(self, log_call which, std::string topic) {
  auto& planned = of(which, topic);
  ++planned.made;
  if (planned.is_holding) {
    auto passing = planned.gate.wait({planned.held++ - 1}, weir::deadline::never());
    auto passed = co_await passing;
    (void)passed; // whoever is asked to stop goes on, as in a store that can't be interrupted
  }
  std::optional<weir::error> why;
  if (planned.failing > 0 && !is_cut_) {
    --planned.failing;
    why.emplace(planned.with, "the test wants it to fail");
  }
  co_return why;
}

std::shared_ptr<weir::log_store> relayed(std::shared_ptr<weir::log_store> real, std::shared_ptr<relay> through) {
  return std::make_shared<relayed_store>(std::move(real), std::move(through));
}

} // namespace durable_suite
