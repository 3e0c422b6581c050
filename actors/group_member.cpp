#include <weir/condition.hpp>
#include <weir/detail/feed_state.hpp>
#include <weir/gate.hpp>
#include <weir/group_machine.hpp>
#include <weir/group_member.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <utility>

namespace weir {

namespace detail {

namespace {

using namespace std::chrono_literals;

constexpr int tries_in_a_lease = 16;

std::uint64_t draw_id() {
  std::random_device entropy;
  const auto drawn = (std::uint64_t{entropy()} << 32U) | entropy();
  return drawn == group_table::nobody ? 1 : drawn;
}

group_machine::time time_of(std::chrono::steady_clock::time_point at) noexcept {
  return at.time_since_epoch();
}

deadline at(group_machine::time when) noexcept {
  return deadline::at(
    std::chrono::steady_clock::time_point{std::chrono::duration_cast<std::chrono::steady_clock::duration>(when)});
}

error has_left() {
  return error{errc::closed, "the member has left its group"};
}

} // namespace

/// What a member knows; shared with the coroutines that use it.
struct group_state : std::enable_shared_from_this<group_state> {
  group_state(std::shared_ptr<log_topic> topic, group_options options)
    : from{std::move(topic)},
      how{std::move(options)},
      machine{draw_id(), how.lease},
      entries{from, from->description().origin(), how.read} {
    entries.state_->read_no_shards();
  }

  std::shared_ptr<log_topic> from;
  group_options how;
  group_machine machine;
  feed entries;
  gate writing;
  condition changed;              // it was written, or is over
  std::optional<error> ended;     // and why
  std::optional<feed_entry> held; // came when it could not be handed out any more
  std::map<std::uint32_t, std::chrono::steady_clock::time_point> leaving_since;
  bool is_delivering = false;

  bool may_deliver(self me) const {
    const auto until = machine.may_deliver_until();
    return until && time_of(me.now()) < *until;
  }

  void end(error why) {
    if (ended)
      return;
    ended = std::move(why);
    entries.state_->close();
    held.reset();
    changed.notify_all();
  }

  bool has_shard(std::uint32_t shard) const { return std::ranges::find(machine.own(), shard) != machine.own().end(); }

  void lose(std::uint32_t shard) {
    entries.state_->remove(shard);
    leaving_since.erase(shard);
    if (held && held->shard == shard)
      held.reset();
  }

  std::map<std::uint32_t, shard_progress> progress() const {
    std::map<std::uint32_t, shard_progress> all;
    for (const auto& one : entries.state_->machine->progress())
      all.emplace(one.shard, one);
    return all;
  }

  /// Nothing is delivered of what is to go, and nothing at all by whom the others may take for dead.
  void stop_and_go_on(bool may) {
    is_delivering = may;
    for (const auto shard : machine.own())
      entries.state_->stop(shard, !may || machine.is_leaving(shard));
  }

  task<result<std::vector<std::int64_t>>> first_offsets(self me, group_start where);
  task<result<void>> write(self me, bool leaves);
  task<result<bool>> try_to_write(self me, bool leaves);
  task<result<checkpoint_commit>> plan(self me, std::optional<checkpoint> stored, bool leaves);
  static task<> keep(self me, std::shared_ptr<group_state> of);
};

task<result<std::vector<std::int64_t>>> group_state::first_offsets(self me, group_start where) {
  const auto state = shared_from_this();
  auto asking = from->bounds(me);
  auto there = co_await std::move(asking);
  if (!there) {
    result<std::vector<std::int64_t>> failed = std::move(there).error();
    co_return failed;
  }
  std::vector<std::int64_t> offsets;
  for (const auto& one : there.value())
    offsets.push_back((where == group_start::head ? one.head : one.earliest) - 1);
  result<std::vector<std::int64_t>> found = std::move(offsets);
  co_return found;
}

/// What to write over that.
task<result<checkpoint_commit>> group_state::plan(self me, std::optional<checkpoint> stored, bool leaves) {
  const auto state = shared_from_this();
  const auto shards = from->description().shards;
  checkpoint_commit wanted{.consumer = how.group};
  group_table table{shards};
  std::optional<error> why;
  if (stored) {
    wanted.offsets = stored->offsets;
    wanted.expected = stored->revision;
    auto read = decode_group_table(stored->metadata, shards);
    if (read)
      table = std::move(read).value();
    else if (read.error() == errc::corrupt)
      why = error{errc::wrong_owner, "the checkpoint of that name is another consumer's, and no group's",
        {{"consumer", how.group}, {"found", read.error().sentence()}}};
    else
      why = std::move(read).error();
  }
  if (!why && (!stored || stored->expired)) {
    auto asking = first_offsets(me, stored ? group_start::earliest : how.start);
    auto first = co_await std::move(asking);
    if (!first)
      why = std::move(first).error();
    else if (!stored)
      wanted.offsets = std::move(first).value();
    else if (!how.read.skip_expired)
      why = error{errc::cursor_expired, "the group lagged more than retention allows, and what follows it is gone",
        {{"consumer", how.group}}};
    else
      for (std::uint32_t shard = 0; shard < shards; ++shard)
        wanted.offsets[shard] = std::max(wanted.offsets[shard], first.value()[shard]);
  }
  if (why) {
    result<checkpoint_commit> failed = std::move(*why);
    co_return failed;
  }
  for (const auto shard : machine.on_read(std::move(table), time_of(me.now())))
    lose(shard);
  const auto in_feed = progress();
  const auto is_idle = [&](std::uint32_t shard) {
    const auto found = in_feed.find(shard);
    const auto since = leaving_since.try_emplace(shard, me.now()).first->second;
    return found == in_feed.end() || (found->second.in_flight == 0 && !(held && held->shard == shard))
           || me.now() - since >= how.patience;
  };
  auto next = leaves ? machine.farewell() : machine.next(time_of(me.now()), is_idle);
  if (!next) {
    result<checkpoint_commit> failed = std::move(next).error();
    co_return failed;
  }
  stop_and_go_on(!leaves && may_deliver(me)); // before anybody else can have them
  for (const auto& [shard, at] : in_feed)
    wanted.offsets[shard] = std::max(wanted.offsets[shard], at.acked);
  wanted.metadata = encode_group_table(next.value());
  result<checkpoint_commit> planned = std::move(wanted);
  co_return planned;
}

/// False: somebody else has written meanwhile.
task<result<bool>> group_state::try_to_write(self me, bool leaves) {
  const auto state = shared_from_this();
  const auto began = me.now();
  auto reading = from->read_checkpoint(me, how.group);
  auto stored = co_await std::move(reading);
  if (!stored) {
    result<bool> failed = std::move(stored).error();
    co_return failed;
  }
  auto planning = plan(me, std::move(stored).value(), leaves);
  auto planned = co_await std::move(planning);
  if (!planned) {
    result<bool> failed = std::move(planned).error();
    co_return failed;
  }
  auto committing = from->commit_checkpoint(me, std::move(planned).value());
  auto committed = co_await std::move(committing);
  if (!committed) {
    if (committed.error() == errc::checkpoint_conflict)
      co_return false;
    result<bool> failed = std::move(committed).error();
    co_return failed;
  }
  auto table = decode_group_table(committed.value().metadata, from->description().shards);
  if (!table) {
    result<bool> failed = std::move(table).error();
    co_return failed;
  }
  if (leaves)
    co_return true;
  const auto before = machine.own();
  for (const auto shard : machine.on_written(std::move(table).value(), time_of(began)))
    entries.state_->add(shard, committed.value().offsets[shard]);
  for (const auto shard : before)
    if (!has_shard(shard))
      lose(shard);
  std::erase_if(leaving_since, [&](const auto& one) { return !machine.is_leaving(one.first); });
  stop_and_go_on(may_deliver(me));
  changed.notify_all();
  co_return true;
}

task<result<void>> group_state::write(self me, bool leaves) {
  const auto state = shared_from_this();
  auto entering = writing.enter();
  const auto inside = co_await entering;
  result<void> outcome = success();
  for (bool is_written = false; !is_written;) {
    if (ended) {
      outcome = *ended;
      break;
    }
    auto trying = try_to_write(me, leaves);
    auto tried = co_await std::move(trying);
    if (!tried) {
      outcome = std::move(tried).error();
      break;
    }
    is_written = tried.value();
  }
  if (!outcome && !is_passing(outcome.error().code()) && outcome.error() != errc::cancelled)
    end(outcome.error());
  co_return outcome;
}

/// Writes in time.
task<> group_state::keep(self me, std::shared_ptr<group_state> of) {
  for (auto due = of->machine.beat_at(); !of->ended;) {
    auto waiting = of->changed.wait(at(due));
    auto waited = co_await waiting;
    if (waited) { // a commit was a beat, too
      due = of->machine.beat_at();
      continue;
    }
    if (waited.error() != errc::timed_out)
      co_return;
    auto writing = of->write(me, false);
    auto written = co_await std::move(writing);
    due = written ? of->machine.beat_at() : time_of(me.now()) + of->how.lease / tries_in_a_lease;
  }
}

} // namespace detail

namespace {

using namespace std::chrono_literals;

result<void> check(const log_topic& topic, const group_options& how) {
  const auto refused = [](const char* option, std::string sentence) {
    return error{errc::invalid_argument, std::move(sentence), {{"option", option}}};
  };
  if (how.lease < 100ms || how.lease > 1h)
    return refused("lease", "a member's lease is 100 ms to 1 h");
  if (how.patience < 0ms || how.patience > 24h)
    return refused("patience", "what is in flight is waited for for up to 24 h");
  if (how.read.mode != feed_mode::continued || !how.read.shards.empty())
    return refused("read", "which shards a member reads, and behind what, is the group's");
  if (topic.description().shards > max_group_shards)
    return error{errc::unsupported, "a group shares the shards of topics that have up to 2048",
      {{"shards", std::to_string(topic.description().shards)}}};
  return success();
}

error not_its_own(std::uint32_t shard) {
  return error{errc::fenced, "the shard is not this member's any more", {{"shard", std::to_string(shard)}}};
}

} // namespace

group_member::group_member(std::shared_ptr<detail::group_state> state) noexcept : state_{std::move(state)} {}

group_member::~group_member() {
  if (state_)
    state_->end(error{errc::closed, "the member was let go of"});
}

group_member::group_member(group_member&&) noexcept = default;

group_member& group_member::operator=(group_member&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

task<result<group_member>> group_member::join(self me, std::shared_ptr<log_topic> topic, group_options how) {
  std::optional<error> why;
  if (auto sound = check(*topic, how); !sound)
    why = std::move(sound).error();
  if (why) {
    result<group_member> refused = std::move(*why);
    co_return refused;
  }
  group_member made{std::make_shared<detail::group_state>(std::move(topic), std::move(how))};
  auto writing = made.state_->write(me, false);
  auto written = co_await std::move(writing);
  if (!written) {
    result<group_member> failed = std::move(written).error();
    co_return failed;
  }
  me.spawn(&detail::group_state::keep, made.state_);
  result<group_member> joined = std::move(made);
  co_return joined;
}

credit group_member::grant(std::uint64_t entries, std::uint64_t bytes) {
  return state_->entries.grant(entries, bytes);
}

task<result<feed_entry>> group_member::next(self me, deadline until) {
  const auto state = state_;
  const auto resolved = until.resolve(me.host());
  const auto by = resolved ? deadline::at(*resolved) : deadline::never();
  for (;;) {
    if (state->ended) {
      result<feed_entry> over = *state->ended;
      co_return over;
    }
    const bool may = state->may_deliver(me);
    if (may != state->is_delivering)
      state->stop_and_go_on(may);
    if (!may) {
      auto waiting = state->changed.wait(by);
      auto woken = co_await waiting;
      if (woken)
        continue;
      result<feed_entry> failed = std::move(woken).error();
      co_return failed;
    }
    if (state->held) {
      result<feed_entry> handed = *std::exchange(state->held, std::nullopt);
      co_return handed;
    }
    auto reading = state->entries.next(me, by);
    auto read = co_await std::move(reading);
    if (state->ended)
      continue;
    if (!read || state->may_deliver(me))
      co_return read;
    state->held = std::move(read).value(); // it took too long to come
  }
}

result<acknowledged> group_member::acknowledge(std::uint32_t shard, std::int64_t offset) {
  if (state_->has_shard(shard))
    return state_->entries.acknowledge(shard, offset);
  return not_its_own(shard);
}

result<acknowledged> group_member::acknowledge_through(std::uint32_t shard, std::int64_t offset) {
  if (state_->has_shard(shard))
    return state_->entries.acknowledge_through(shard, offset);
  return not_its_own(shard);
}

task<result<void>> group_member::commit(self me) {
  const auto state = state_;
  auto writing = state->write(me, false);
  auto written = co_await std::move(writing);
  co_return written;
}

task<result<void>> group_member::leave(self me) {
  const auto state = state_;
  auto writing = state->write(me, true);
  auto written = co_await std::move(writing);
  state->end(detail::has_left());
  co_return written;
}

std::vector<std::uint32_t> group_member::shards() const {
  auto own = state_->machine.own();
  std::ranges::sort(own);
  return own;
}

group_view group_member::view() const {
  return {state_->machine.id(), *state_->machine.table()};
}

std::vector<feed_gap> group_member::take_gaps() {
  return state_->entries.take_gaps();
}

} // namespace weir
