#include <weir/detail/feed_state.hpp>
#include <weir/log_rules.hpp>

#include <algorithm>
#include <utility>

namespace weir::detail {

namespace {

std::vector<feed_machine::shard_start> starts_of(
  const std::vector<std::int64_t>& offsets, const std::vector<std::uint32_t>& wanted) {
  std::vector<feed_machine::shard_start> starts;
  for (std::uint32_t shard = 0; shard < offsets.size(); ++shard)
    if (wanted.empty() || std::ranges::find(wanted, shard) != wanted.end())
      starts.push_back({shard, offsets[shard]});
  return starts;
}

std::optional<error> find_fault(const log_topic& topic, const feed_options& how) {
  const auto shards = topic.description().shards;
  for (const auto shard : how.shards)
    if (shard >= shards)
      return error{errc::invalid_argument, "the topic has no shard of that number",
        {{"shard", std::to_string(shard)}, {"shards", std::to_string(shards)}}};
  return std::nullopt;
}

/// A read that is under way. A coroutine that is destroyed meanwhile takes its read along: another one may be made.
class read_under_way {
public:
  read_under_way(feed_machine& of, const feed_machine::read_order& asked) noexcept : machine_{&of}, asked_{asked} {}
  ~read_under_way() {
    if (machine_ != nullptr)
      machine_->on_read_failed(asked_);
  }
  read_under_way(const read_under_way&) = delete;
  read_under_way& operator=(const read_under_way&) = delete;
  void brought_something() noexcept { machine_ = nullptr; }

private:
  feed_machine* machine_;
  feed_machine::read_order asked_;
};

/// What the store's wait() has brought, for whoever waits for other things at the same time.
struct head_watch {
  std::optional<result<void>> outcome;
};

task<> watch_heads(
  self me, std::shared_ptr<feed_state> of, std::shared_ptr<head_watch> into, std::vector<std::int64_t> after, deadline until) {
  auto waiting = of->from->wait(me, std::move(after), until);
  auto woken = co_await std::move(waiting);
  into->outcome.emplace(std::move(woken));
  of->changed.notify_all();
}

} // namespace

error feed_closed() {
  return error{errc::closed, "the feed was closed"};
}

feed_state::feed_state(std::shared_ptr<log_topic> topic, std::optional<cursor> start, feed_options options)
  : from{std::move(topic)},
    how{std::move(options)},
    begun{std::move(start)},
    pauses{how.first_pause, how.longest_pause} {
  refusal = find_fault(*from, how);
  if (begun && !refusal)
    if (auto fits = check_source(*begun, from->description().origin()); !fits)
      refusal = std::move(fits).error();
  begin_at(begun && !refusal ? begun->offsets : from->description().origin().offsets);
  if (refusal)
    stand_at(*refusal);
}

void feed_state::begin_at(const std::vector<std::int64_t>& offsets) {
  machine.emplace(
    starts_of(offsets, how.shards), feed_machine::settings{how.mode, how.deliver_oversize, how.window_bytes, how.read});
}

/// Nothing was read, so that nothing but credit is to be kept.
void feed_state::begin_at_heads(const std::vector<shard_bounds>& there) {
  std::vector<std::int64_t> heads;
  for (const auto& one : there)
    heads.push_back(one.head - 1);
  const auto revoked = machine->revoked();
  const auto available = machine->available();
  begin_at(heads);
  machine->grant(revoked);
  machine->revoke();
  machine->grant(available);
}

/// Hears from the store for the first time: whether the cursor is good, and where the head is.
task<result<void>> feed_state::attach(self me) {
  const auto state = shared_from_this();
  if (is_attached)
    co_return success();
  auto asking = from->bounds(me);
  auto there = co_await std::move(asking);
  if (is_closed())
    there = feed_closed();
  if (!there) {
    result<void> failed = std::move(there).error();
    co_return failed;
  }
  if (is_attached) // somebody else was faster
    co_return success();
  if (!begun)
    begin_at_heads(there.value());
  auto checking = check_cursor(me, there.value());
  auto checked = co_await std::move(checking);
  if (is_closed())
    checked = feed_closed();
  if (!checked)
    co_return checked;
  for (std::uint32_t shard = 0; shard < there.value().size(); ++shard)
    machine->on_head(shard, there.value()[shard].head);
  is_attached = true;
  be_live();
  co_return success();
}

/// Whether what follows the cursor is there; where that is wanted, what is not is passed over.
task<result<void>> feed_state::check_cursor(self me, std::vector<shard_bounds> there) {
  const auto state = shared_from_this();
  const auto& known = from->description();
  std::optional<error> why;
  for (const auto& one : machine->progress()) {
    const auto& bounds = there[one.shard];
    if (how.skip_expired && one.acked + 1 < bounds.earliest)
      miss(one.shard, bounds.earliest);
    else if (auto good = log_rules::check_after(known.name, one.shard, one.acked, bounds, {}); !good && !why)
      why = std::move(good).error();
  }
  if (!why)
    co_return success();
  auto listing = from->snapshots(me);
  auto snapshots = co_await std::move(listing);
  if (!snapshots) {
    result<void> failed = std::move(snapshots).error();
    co_return failed;
  }
  result<void> refused = std::move(*why);
  for (const auto& one : machine->progress()) // says where to go on
    if (auto good = log_rules::check_after(known.name, one.shard, one.acked, there[one.shard], snapshots.value()); !good) {
      refused = std::move(good);
      break;
    }
  co_return refused;
}

/// Asks where the heads are.
task<result<void>> feed_state::look(self me) {
  const auto state = shared_from_this();
  auto asking = from->bounds(me);
  auto there = co_await std::move(asking);
  if (is_closed())
    there = feed_closed();
  if (!there) {
    stand_at(there.error());
    result<void> failed = std::move(there).error();
    co_return failed;
  }
  for (std::uint32_t shard = 0; shard < there.value().size(); ++shard)
    machine->on_head(shard, there.value()[shard].head);
  if (phase == feed_phase::reconnecting)
    be_live();
  co_return success();
}

/// Takes in what a read brought; fails where the store broke its order.
result<void> feed_state::take(const feed_machine::read_order& asked, log_reading reading) {
  std::vector<feed_machine::read_entry> heads;
  heads.reserve(reading.entries.size());
  for (const auto& one : reading.entries)
    heads.push_back({one.offset, one.size_in_bytes(), !how.filter || how.filter(one)});
  const auto was = machine->on_read(asked, reading.bounds, heads);
  if (was == feed_machine::read_was::disordered)
    return error{errc::source_failed, "the store returned entries out of their order",
      {{"topic", from->description().name}, {"shard", std::to_string(asked.shard)}, {"after", std::to_string(asked.after)}}};
  if (was == feed_machine::read_was::superseded)
    return success();
  for (std::size_t one = 0; one < heads.size(); ++one)
    if (heads[one].matches)
      line.push_back(std::move(reading.entries[one]));
  return success();
}

/// One read, if one is due: whether there was one. A gap is passed over where that is wanted.
task<result<bool>> feed_state::read_once(self me) {
  const auto state = shared_from_this();
  const auto order = machine->next_read();
  if (!order)
    co_return false;
  result<log_reading> brought = error{errc::cancelled};
  {
    read_under_way under_way{*machine, *order};
    auto reading = from->read(me, order->shard, order->after, order->limits);
    brought = co_await std::move(reading);
    if (is_closed())
      brought = feed_closed();
    if (brought)
      under_way.brought_something();
  }
  std::optional<error> why;
  if (!brought)
    why = std::move(brought).error();
  else if (auto taken = take(*order, std::move(brought).value()); !taken)
    why = std::move(taken).error();
  if (!why) {
    be_live();
    co_return true;
  }
  if (*why == errc::cursor_expired && how.skip_expired) {
    last_error = *why;
    auto skipping = skip(me, order->shard);
    auto skipped = co_await std::move(skipping);
    co_return skipped;
  }
  stand_at(*why);
  result<bool> failed = std::move(*why);
  co_return failed;
}

/// Goes on at what the shard still has.
task<result<bool>> feed_state::skip(self me, std::uint32_t shard) {
  const auto state = shared_from_this();
  auto asking = from->bounds(me);
  auto there = co_await std::move(asking);
  if (is_closed())
    there = feed_closed();
  if (!there) {
    stand_at(there.error());
    result<bool> failed = std::move(there).error();
    co_return failed;
  }
  miss(shard, there.value()[shard].earliest);
  be_live();
  co_return true;
}

/// Keeps in mind what was missed.
void feed_state::miss(std::uint32_t shard, std::int64_t earliest) {
  if (const auto missed = machine->skip_to(shard, earliest)) {
    gaps.push_back({shard, missed->first, missed->second - 1});
    missed_entries += static_cast<std::uint64_t>(missed->second - missed->first);
  }
}

feed_entry feed_state::hand_out() {
  const auto handed = machine->deliver();
  feed_entry next{handed.shard, std::move(line.front())};
  line.pop_front();
  if (phase == feed_phase::failed) // it stood at an entry that was too large until now
    be_live();
  return next;
}

error feed_state::stand_at_oversize() {
  error why{errc::oversize, "the next entry is larger than the feed's credit of bytes can ever be",
    {{"size", std::to_string(machine->next_bytes())}, {"credit", std::to_string(machine->available().bytes)},
      {"window", std::to_string(how.window_bytes)}}};
  stand_at(why);
  return why;
}

void feed_state::stand_at(const error& why) {
  if (is_closed() || why == errc::closed || why == errc::cancelled)
    return;
  last_error = why;
  phase = is_passing(why.code()) ? feed_phase::reconnecting : feed_phase::failed;
}

void feed_state::be_live() {
  phase = gaps.empty() ? feed_phase::live : feed_phase::gap;
  pauses.on_progress();
}

void feed_state::on_acknowledged(const result<acknowledged>& done) {
  unpin_wanted = unpin_wanted || (pin && done && done.value() == acknowledged::moved);
}

void feed_state::interrupt() {
  ++interruptions;
  changed.notify_all();
}

void feed_state::rewind() {
  machine->rewind();
  line.clear();
  interrupt();
}

void feed_state::close() {
  phase = feed_phase::closed;
  machine->revoke(); // what is in flight may still be acknowledged
  line.clear();
  unpin_wanted = true;
  interrupt();
}

void feed_state::read_no_shards() {
  for (const auto& one : machine->progress())
    machine->remove(one.shard);
}

void feed_state::add(std::uint32_t shard, std::int64_t acked) {
  machine->add({shard, acked});
  on_other_shards();
}

void feed_state::remove(std::uint32_t shard) {
  machine->remove(shard);
  on_other_shards();
}

void feed_state::stop(std::uint32_t shard, bool is_stopped) {
  if (machine->stop(shard, is_stopped))
    on_other_shards();
}

/// Nothing may stand in line any more.
void feed_state::on_other_shards() {
  if (machine->next() == feed_machine::next_is::absent)
    line.clear();
  interrupt();
}

std::vector<std::int64_t> feed_state::read_up_to() const {
  std::vector<std::int64_t> after(from->description().shards, INT64_MAX);
  for (const auto& one : machine->progress())
    if (!one.is_stopped)
      after[one.shard] = one.head - 1;
  return after;
}

/// Waits until the store may have more than the feed has read, or until the feed goes elsewhere.
task<result<void>> feed_state::wait_for_more(self me, deadline until) {
  const auto state = shared_from_this();
  if (phase == feed_phase::reconnecting) {
    auto looking = look(me);
    auto looked = co_await std::move(looking);
    co_return looked;
  }
  const auto before = interruptions;
  const auto watch = std::make_shared<head_watch>();
  const auto watching = me.spawn(&watch_heads, state, watch, read_up_to(), until);
  result<void> woken = success();
  while (woken && !watch->outcome && interruptions == before) {
    auto waiting = changed.wait(until);
    woken = co_await waiting;
  }
  watching.request_stop();
  if (interruptions != before)
    co_return success();
  if (watch->outcome)
    woken = std::move(*watch->outcome);
  if (!woken)
    co_return woken;
  auto looking = look(me);
  auto looked = co_await std::move(looking);
  co_return looked;
}

/// Before the store is tried again.
task<result<void>> feed_state::pause(self me, deadline until) {
  const auto state = shared_from_this();
  const auto last = until.resolve(me.host());
  auto end = me.now() + pauses.next();
  if (last && *last < end)
    end = *last;
  const auto before = interruptions;
  result<void> woken = success();
  while (woken && interruptions == before) {
    auto waiting = changed.wait(deadline::at(end));
    woken = co_await waiting;
  }
  if (!woken && woken.error() == errc::timed_out)
    woken = success();
  co_return woken;
}

/// Lets go of the bootstrap's pin once something is acknowledged.
task<result<void>> feed_state::let_go(self me) {
  const auto state = shared_from_this();
  const bool is_wanted = std::exchange(unpin_wanted, false);
  if (!pin || !is_wanted)
    co_return success();
  const auto held = *std::exchange(pin, std::nullopt);
  auto unpinning = from->unpin(me, held);
  auto done = co_await std::move(unpinning);
  co_return done;
}

} // namespace weir::detail
