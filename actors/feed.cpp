#include <weir/detail/feed_state.hpp>
#include <weir/feed.hpp>

#include <utility>

namespace weir {

namespace {

using detail::feed_closed;

deadline fixed(self me, deadline until) {
  const auto at = until.resolve(me.host());
  return at ? deadline::at(*at) : deadline::never();
}

bool is_over(self me, deadline until) {
  const auto at = until.resolve(me.host());
  return at && *at <= me.now();
}

} // namespace

feed::feed(std::shared_ptr<log_topic> from, cursor at, feed_options how)
  : state_{std::make_shared<detail::feed_state>(std::move(from), std::move(at), std::move(how))} {}

feed::feed(std::shared_ptr<detail::feed_state> state) noexcept : state_{std::move(state)} {}

feed feed::tail_only(std::shared_ptr<log_topic> from, feed_options how) {
  return feed{std::make_shared<detail::feed_state>(std::move(from), std::nullopt, std::move(how))};
}

feed::~feed() = default;
feed::feed(feed&&) noexcept = default;
feed& feed::operator=(feed&&) noexcept = default;

credit feed::grant(std::uint64_t entries, std::uint64_t bytes) {
  const auto added = state_->machine->grant({entries, bytes});
  state_->changed.notify_all();
  return added;
}

credit feed::revoke() {
  return state_->machine->revoke();
}

task<result<void>> feed::ready(self me, deadline until) {
  const auto state = state_;
  const auto by = fixed(me, until);
  for (;;) {
    if (state->is_closed() || state->refusal) {
      result<void> refused = state->is_closed() ? feed_closed() : *state->refusal;
      co_return refused;
    }
    auto attaching = state->attach(me);
    auto attached = co_await std::move(attaching);
    if (attached)
      co_return attached;
    const bool passes = is_passing(attached.error().code());
    if (passes)
      state->last_error = attached.error();
    else
      state->stand_at(attached.error());
    if (!passes || is_over(me, by))
      co_return attached;
    auto pausing = state->pause(me, by);
    auto paused = co_await std::move(pausing);
    if (!paused)
      co_return paused;
  }
}

task<result<std::vector<feed_entry>>> feed::pull(self me) {
  const auto state = state_;
  std::vector<feed_entry> pulled;
  bool has_looked = !state->is_attached; // then ready() does
  auto getting_ready = ready(me, std::chrono::seconds{0});
  auto is_ready = co_await std::move(getting_ready);
  if (!is_ready) {
    result<std::vector<feed_entry>> failed = std::move(is_ready).error();
    co_return failed;
  }
  auto letting_go = state->let_go(me);
  auto let_go = co_await std::move(letting_go);
  (void)let_go; // its time ends by itself
  if (state->how.mode == feed_mode::parity)
    state->rewind();
  std::optional<error> why;
  while (!why) {
    while (!state->is_closed() && state->machine->next() == feed_machine::next_is::deliverable)
      pulled.push_back(state->hand_out());
    if (state->is_closed())
      why = feed_closed();
    else if (state->machine->next() == feed_machine::next_is::oversize)
      why = state->stand_at_oversize();
    if (why || state->machine->next() != feed_machine::next_is::absent || !state->has_credit())
      break;
    auto reading = state->read_once(me);
    auto read = co_await std::move(reading);
    if (!read) {
      why = std::move(read).error();
      break;
    }
    if (read.value())
      continue;
    if (std::exchange(has_looked, true))
      break;
    auto looking = state->look(me);
    auto looked = co_await std::move(looking);
    if (!looked)
      why = std::move(looked).error();
  }
  if (state->how.mode == feed_mode::parity) {
    state->machine->end_pull();
    state->line.clear();
  }
  result<std::vector<feed_entry>> outcome =
    why && pulled.empty() ? result<std::vector<feed_entry>>{std::move(*why)} : std::move(pulled);
  co_return outcome;
}

task<result<feed_entry>> feed::next(self me, deadline until) {
  const auto state = state_;
  const bool is_there =
    state->phase == feed_phase::live && !state->unpin_wanted && state->machine->next() == feed_machine::next_is::deliverable;
  if (is_there) { // what nearly every call finds
    result<feed_entry> handed = state->hand_out();
    co_return handed;
  }
  const auto by = fixed(me, until);
  auto getting_ready = ready(me, by);
  auto is_ready = co_await std::move(getting_ready);
  std::optional<error> why;
  if (!is_ready)
    why = std::move(is_ready).error();
  while (!why) {
    auto letting_go = state->let_go(me);
    auto let_go = co_await std::move(letting_go);
    (void)let_go;
    if (state->is_closed()) {
      why = feed_closed();
      break;
    }
    const auto what = state->machine->next();
    if (what == feed_machine::next_is::deliverable) {
      result<feed_entry> handed = state->hand_out();
      co_return handed;
    }
    if (what == feed_machine::next_is::oversize) {
      why = state->stand_at_oversize();
      break;
    }
    if (what == feed_machine::next_is::uncredited || !state->has_credit()) {
      auto waiting = state->changed.wait(by);
      auto woken = co_await waiting;
      if (!woken)
        why = std::move(woken).error();
      continue;
    }
    auto reading = state->read_once(me);
    auto read = co_await std::move(reading);
    if (read && read.value())
      continue;
    if (read) {
      auto waiting = state->wait_for_more(me, by);
      auto woken = co_await std::move(waiting);
      if (woken)
        continue;
      read = std::move(woken).error();
    }
    if (!is_passing(read.error().code()) || is_over(me, by)) {
      why = std::move(read).error();
      break;
    }
    state->stand_at(read.error());
    auto pausing = state->pause(me, by);
    auto paused = co_await std::move(pausing);
    if (!paused)
      why = std::move(paused).error();
  }
  result<feed_entry> failed = std::move(*why);
  co_return failed;
}

result<acknowledged> feed::acknowledge(std::uint32_t shard, std::int64_t offset) {
  auto done = state_->machine->acknowledge(shard, offset);
  state_->on_acknowledged(done);
  return done;
}

result<acknowledged> feed::acknowledge_through(std::uint32_t shard, std::int64_t offset) {
  auto done = state_->machine->acknowledge_through(shard, offset);
  state_->on_acknowledged(done);
  return done;
}

void feed::rewind() {
  state_->rewind();
}

result<cursor> feed::at() const {
  if (!state_->begun)
    return error{errc::unsupported, "a feed that begins at the head has no cursor, and no checkpoint"};
  if (state_->refusal)
    return *state_->refusal;
  auto here = *state_->begun;
  for (const auto& one : state_->machine->progress())
    here.offsets[one.shard] = one.acked;
  return here;
}

credit feed::available() const noexcept {
  return state_->machine->available();
}

feed_phase feed::phase() const noexcept {
  return state_->phase;
}

std::vector<feed_gap> feed::take_gaps() {
  if (state_->phase == feed_phase::gap)
    state_->phase = feed_phase::live;
  return std::exchange(state_->gaps, {});
}

task<result<feed_stats>> feed::stats(self me) {
  const auto state = state_;
  const auto& machine = *state->machine;
  feed_stats all{{}, machine.granted(), machine.charged(), machine.available(), machine.revoked(), state->phase,
    state->missed_entries, state->last_error};
  auto after = state->from->description().origin().offsets;
  const auto progress = machine.progress();
  for (const auto& one : progress)
    after[one.shard] = one.acked;
  auto asking = state->from->lag(me, after);
  auto behind = co_await std::move(asking);
  auto asking_bounds = state->from->bounds(me);
  auto bounds = co_await std::move(asking_bounds);
  if (!behind || !bounds) {
    result<feed_stats> failed = !behind ? std::move(behind).error() : std::move(bounds).error();
    co_return failed;
  }
  for (auto one : progress) {
    const auto& there = bounds.value()[one.shard];
    one.earliest = there.earliest;
    one.head = there.head;
    all.shards.push_back({one, behind.value()[one.shard], one.acked + 1 - there.earliest});
  }
  result<feed_stats> told = std::move(all);
  co_return told;
}

task<result<void>> feed::close(self me) {
  const auto state = state_;
  state->close();
  auto letting_go = state->let_go(me);
  auto let_go = co_await std::move(letting_go);
  co_return let_go;
}

const log_topic& feed::topic() const noexcept {
  return *state_->from;
}

} // namespace weir
