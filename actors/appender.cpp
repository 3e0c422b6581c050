#include <weir/appender.hpp>
#include <weir/backoff.hpp>
#include <weir/condition.hpp>
#include <weir/shard_hash.hpp>

#include <deque>
#include <utility>

namespace weir {

namespace detail {

struct append_ticket_state {
  std::optional<result<std::vector<entry_place>>> outcome;
  std::weak_ptr<appender_state> of; // which holds the ticket
};

struct appender_state {
  struct pending {
    append_call call;
    std::shared_ptr<append_ticket_state> ticket;
  };

  explicit appender_state(std::shared_ptr<log_topic> topic, appender_options options)
    : to{std::move(topic)},
      how{std::move(options)},
      window{how.window} {}

  std::shared_ptr<log_topic> to;
  appender_options how;
  append_window window;
  std::deque<pending> held;       // as the window has them
  std::deque<std::uint64_t> line; // who waits for room
  std::uint64_t next_in_line = 0;
  std::uint64_t next_shard = 0;
  std::optional<error> broken;        // an append failed, and resume() was not called
  std::optional<error> first_failure; // since the last flush()
  bool is_pumping = false;
  bool is_closed = false;
  bool is_abandoned = false; // the appender is gone: what fails is not tried again
  condition changed;

  void note_trouble(std::optional<error> why) const {
    if (how.on_trouble)
      how.on_trouble(std::move(why));
  }

  void decide(result<std::vector<entry_place>> outcome) {
    auto first = std::move(held.front());
    held.pop_front();
    if (!outcome && !first_failure)
      first_failure = outcome.error();
    first.ticket->outcome.emplace(std::move(outcome));
    first.ticket->of.reset();
  }
};

namespace {

constexpr std::size_t max_waiters = 1024;

error with_retryable(error why) {
  const bool passes = is_passing(why.code()) || why == errc::append_aborted;
  return std::move(why).with("retryable", passes ? "yes" : "no");
}

error aborted(const error& cause) {
  return with_retryable(error{errc::append_aborted, "an earlier append of the same window failed, and this one did not happen",
    {{"cause", cause.to_string()}}});
}

credit size_of(const append_call& call) noexcept {
  credit size{call.entries.size(), 0};
  for (const auto& one : call.entries)
    size.bytes += one.size_in_bytes();
  return size;
}

deadline fixed(self me, deadline until) {
  const auto at = until.resolve(me.host());
  return at ? deadline::at(*at) : deadline::never();
}

std::optional<error> find_fault(const appender_state& state, const append_call& call) {
  const auto most = state.how.window.entries;
  if (call.entries.empty() || call.entries.size() > most)
    return error{errc::invalid_argument, "an append has one entry at least, and at most as many as the window",
      {{"entries", std::to_string(call.entries.size())}, {"window", std::to_string(most)}}};
  if (state.is_closed)
    return error{errc::closed, "the appender was closed"};
  if (state.broken)
    return aborted(*state.broken);
  return std::nullopt;
}

std::optional<error> find_crowd(const appender_state& state) {
  if (state.line.size() < max_waiters)
    return std::nullopt;
  return error{errc::too_many_waiters, "too many appends wait for room already", {{"waiting", std::to_string(max_waiters)}}};
}

/// Those who wait for room get it in the order they came.
class place_in_line {
public:
  explicit place_in_line(appender_state& of) : state_{of}, number_{of.next_in_line++} { state_.line.push_back(number_); }
  ~place_in_line() {
    std::erase(state_.line, number_);
    state_.changed.notify_all();
  }
  place_in_line(const place_in_line&) = delete;
  place_in_line& operator=(const place_in_line&) = delete;

  bool is_first() const noexcept { return state_.line.front() == number_; }

private:
  appender_state& state_;
  std::uint64_t number_;
};

std::shared_ptr<append_ticket_state> take(const std::shared_ptr<appender_state>& state, append_call call, credit size) {
  const auto shards = state->to->description().shards;
  for (auto& one : call.entries)
    if (!one.shard)
      one.shard = one.key.empty() ? static_cast<std::uint32_t>(state->next_shard++ % shards) : shard_of(one.key, shards);
  auto ticket = std::make_shared<append_ticket_state>();
  ticket->of = state;
  state->window.take(size);
  state->held.push_back({std::move(call), ticket});
  return ticket;
}

/// The store has failed for good, or for too long.
void break_off(appender_state& state, const error& why) {
  state.broken = why;
  const auto count = state.window.abandon();
  for (std::size_t one = 0; one < count; ++one)
    state.decide(one == 0 ? with_retryable(why) : aborted(why));
}

/// Takes in what one call to the store brought.
void settle(appender_state& state, append_outcome& outcome) {
  for (auto& one : outcome.decided) {
    state.window.on_decided();
    state.decide(one ? std::move(one) : result<std::vector<entry_place>>{with_retryable(std::move(one).error())});
  }
  state.window.on_call_over();
  for (std::size_t one = 0; one < outcome.undecided.size(); ++one)
    state.held[one].call = std::move(outcome.undecided[one]);
  state.changed.notify_all();
}

/// Sends what waits, until nothing does.
task<> pump(self me, std::shared_ptr<appender_state> state) {
  backoff pauses{state->how.first_pause, state->how.longest_pause};
  std::optional<std::chrono::steady_clock::time_point> failing_since;
  for (;;) {
    const auto count = state->window.send(state->how.call);
    if (count == 0)
      break;
    std::vector<append_call> calls;
    for (std::size_t one = 0; one < count; ++one)
      calls.push_back(std::move(state->held[one].call));
    auto appending = state->to->append(me, std::move(calls));
    auto outcome = co_await std::move(appending);
    if (!outcome.decided.empty() && failing_since) {
      failing_since.reset();
      pauses.on_progress();
      state->note_trouble({});
    }
    settle(*state, outcome);
    if (!outcome.failure)
      continue;
    if (!failing_since) {
      failing_since = me.now();
      state->note_trouble(*outcome.failure);
    }
    const auto pause = pauses.next();
    const bool goes_on = is_passing(outcome.failure->code()) && !state->is_abandoned
                         && me.now() + pause - *failing_since < state->how.give_up_after;
    if (!goes_on) {
      break_off(*state, *outcome.failure);
      state->note_trouble({});
      state->changed.notify_all();
      break;
    }
    auto pausing = me.sleep(pause);
    auto paused = co_await pausing;
    (void)paused;
  }
  state->is_pumping = false;
}

} // namespace
} // namespace detail

task<result<std::vector<entry_place>>> append_ticket::stored(self, deadline until) const {
  const auto state = state_;
  while (!state->outcome) {
    const auto of = state->of.lock();
    if (!of) {
      result<std::vector<entry_place>> gone = error{errc::actor_stopped, "the appender ended before the append was decided"};
      co_return gone;
    }
    auto waiting = of->changed.wait(until);
    auto woken = co_await waiting;
    if (!woken && !state->outcome) {
      result<std::vector<entry_place>> gone = std::move(woken).error();
      co_return gone;
    }
  }
  co_return *state->outcome;
}

bool append_ticket::is_complete() const noexcept {
  return state_->outcome.has_value();
}

appender::appender(std::shared_ptr<log_topic> to, appender_options how)
  : state_{std::make_shared<detail::appender_state>(std::move(to), std::move(how))} {}

appender::~appender() {
  if (state_)
    state_->is_abandoned = true;
}

appender::appender(appender&&) noexcept = default;

appender& appender::operator=(appender&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

task<result<append_ticket>> appender::append(
  self me, std::vector<new_entry> entries, std::optional<std::int64_t> expected_head, deadline until) {
  const auto state = state_;
  const auto by = detail::fixed(me, until);
  append_call call{std::move(entries), expected_head};
  auto fault = detail::find_fault(*state, call);
  if (!fault)
    fault = detail::find_crowd(*state);
  if (fault) {
    result<append_ticket> refused = std::move(*fault);
    co_return refused;
  }
  const auto size = detail::size_of(call);
  detail::place_in_line place{*state};
  while (!place.is_first() || !state->window.has_room(size)) {
    auto waiting = state->changed.wait(by);
    auto woken = co_await waiting;
    auto refusal = woken ? detail::find_fault(*state, call) : std::optional{std::move(woken).error()};
    if (refusal) {
      result<append_ticket> refused = std::move(*refusal);
      co_return refused;
    }
  }
  result<append_ticket> taken = append_ticket{detail::take(state, std::move(call), size)};
  if (!std::exchange(state->is_pumping, true))
    me.spawn_shielded(&detail::pump, state);
  co_return taken;
}

task<result<void>> appender::flush(self me, deadline until) {
  const auto state = state_;
  const auto by = detail::fixed(me, until);
  const auto behind = state->window.first() + state->window.appends();
  while (state->window.first() < behind) {
    auto waiting = state->changed.wait(by);
    auto woken = co_await waiting;
    if (!woken && state->window.first() < behind)
      co_return woken;
  }
  if (state->first_failure) {
    result<void> failed = *std::exchange(state->first_failure, std::nullopt);
    co_return failed;
  }
  co_return success();
}

task<result<void>> appender::close(self me, deadline until) {
  const auto state = state_;
  state->is_closed = true;
  state->changed.notify_all();
  auto flushing = flush(me, until);
  auto flushed = co_await std::move(flushing);
  co_return flushed;
}

void appender::resume() noexcept {
  state_->broken.reset();
}

credit appender::held() const noexcept {
  return state_->window.held();
}

} // namespace weir
