#include <weir/backoff.hpp>
#include <weir/detail/stream_log_state.hpp>
#include <weir/lane.hpp>

#include <algorithm>

namespace weir::detail {

namespace {

using namespace std::chrono_literals;

constexpr std::int64_t entries_per_trim = 4096;
constexpr std::uint64_t bytes_per_trim = 8U << 20U;
constexpr std::int64_t entries_passed_per_checkpoint = 1024; // of others, without anything to acknowledge
constexpr entry_limits read_limits{.entries = 256, .bytes = 1U << 20U};

/// What fails in passing is tried again after a pause, until that has gone on for too long.
class patience {
public:
  explicit patience(const stream_log_state& state) : give_up_after_{state.how.give_up_after}, report_{state.report} {}
  ~patience() { on_progress(); }
  patience(const patience&) = delete;
  patience& operator=(const patience&) = delete;

  void on_progress() {
    if (failing_since_)
      report_->note(this, {});
    failing_since_.reset();
    pauses_.on_progress();
  }

  /// Absent: it is not tried again.
  std::optional<std::chrono::milliseconds> pause_after(const error& why, std::chrono::steady_clock::time_point now) {
    if (!failing_since_)
      failing_since_ = now;
    if (!is_passing(why.code()) || now - *failing_since_ >= give_up_after_)
      return std::nullopt;
    report_->note(this, why);
    return pauses_.next();
  }

private:
  std::chrono::milliseconds give_up_after_;
  std::shared_ptr<log_report> report_;
  backoff pauses_{10ms, 1s};
  std::optional<std::chrono::steady_clock::time_point> failing_since_;
};

/// A lane's next item, or that the entry is none of it.
struct next_item {
  std::int64_t offset = 0;
  shared_item item = {}; ///< empty: the entry is passed
};

/// Marks what moved without an acknowledgement of its own.
void note_passed(stream_log_state& state, log_lane& lane) {
  if (lane.cursor.acknowledged() - lane.committed < entries_passed_per_checkpoint || lane.is_dirty)
    return;
  lane.is_dirty = true;
  state.progressed.notify_all();
}

/// An entry is missing: no log has holes where nothing was lost.
error note_loss(log_lane& lane, std::int64_t offset) {
  lane.cursor.note_loss();
  lane.is_dirty = true;
  return error{
    errc::cursor_expired, "an entry that the lane has not acknowledged was given up", {{"offset", std::to_string(offset)}}};
}

/// Entries that stand in the log and no more in memory.
std::vector<next_item> decode_items(
  stream_log_state& state, log_lane& lane, const std::vector<entry>& entries, std::optional<error>& fault) {
  std::vector<next_item> items;
  auto expected = lane.cursor.next();
  for (const auto& one : entries) {
    while (expected < one.offset && lane.cursor.is_acknowledged(expected))
      ++expected;
    if (expected != one.offset) {
      fault = note_loss(lane, expected);
      break;
    }
    ++expected;
    auto& next = items.emplace_back(next_item{one.offset});
    if (one.payload.empty() || !is_for(one.payload, lane.given.id))
      continue;
    auto item = decode_item(one.payload);
    if (!item) {
      fault = std::move(item).error().with("offset", std::to_string(one.offset)).with("topic", state.how.topic);
      items.pop_back();
      break;
    }
    next.item = shared_item{std::move(item.value().item)};
  }
  return items;
}

/// From memory, as many as there are.
std::vector<next_item> recent_items(const stream_log_state& state, const log_lane_ptr& lane) {
  std::vector<next_item> items;
  auto offset = lane->cursor.next();
  const auto first = static_cast<std::size_t>(offset - state.recent_begin());
  const auto count = std::min(state.recent.size() - first, read_limits.entries);
  for (std::size_t at = first; at < first + count; ++at, ++offset) {
    auto& next = items.emplace_back(next_item{offset});
    if (state.recent[at].is_for(lane))
      next.item = state.recent[at].item;
  }
  return items;
}

/// Why a lane can't go on, with where that is.
error lane_error(const stream_log_state& state, const log_lane& lane, error why) {
  return std::move(why).with("topic", state.how.topic).with("lane", to_string(lane.given.id));
}

/// The lane has everything that is stored.
void catch_up(log_lane& lane) {
  if (std::exchange(lane.is_behind, false))
    lane.given.to->gauge->published.fetch_sub(1, std::memory_order_release);
}

/// Nothing more will come for it.
bool is_drained(const stream_log_state& state, const log_lane& lane) {
  return state.is_closing && ((!lane.has_producer && state.pending.empty()) || state.is_suspended);
}

bool is_over(const stream_log_state& state, const log_lane& lane) {
  return state.failure || lane.is_retired || lane.has_failed;
}

bool has_budget(const retention_budget& how) {
  return how.entries || how.bytes || how.age;
}

task<result<void>> drop_checkpoint(self me, stream_log_ptr state, log_lane_ptr lane) {
  const auto& known = lane->keeper.stored();
  if (!known)
    co_return success();
  auto dropping = state->topic->drop_checkpoint(me, consumer_of(lane->given.id), known->revision);
  auto dropped = co_await std::move(dropping);
  co_return dropped;
}

/// The lane's checkpoint is its last: one that comes again under its name may go on.
void leave_keepers(stream_log_state& state, const log_lane_ptr& lane) {
  const auto line = state.keepers.find(consumer_of(lane->given.id));
  std::erase(line->second, lane);
  if (line->second.empty())
    state.keepers.erase(line);
  state.progressed.notify_all();
}

} // namespace

/// Reads what is stored for one lane into it, as far as it has room.
task<> read_items(self me, stream_log_ptr state, log_lane_ptr lane) {
  patience trying{*state};
  {
    producer<lane_item> into{lane->given.to};
    const auto stop = me.stop_token();
    while (!is_over(*state, *lane) && !stop.stop_requested()) {
      note_in_log(*state, *lane);
      if (lane->cursor.next() >= state->head || state->is_suspended) { // a new lane may begin behind what is on its way
        catch_up(*lane);
        if (is_drained(*state, *lane))
          break;
        auto waiting = state->stored.wait();
        auto woken = co_await waiting;
        (void)woken;
        continue;
      }
      std::vector<next_item> items;
      std::optional<error> fault;
      if (lane->cursor.next() >= state->recent_begin()) {
        items = recent_items(*state, lane);
      } else {
        auto reading = state->topic->read(me, 0, lane->cursor.next() - 1, read_limits);
        auto read = co_await std::move(reading);
        const auto pause = read ? std::nullopt : trying.pause_after(read.error(), me.now());
        if (pause) {
          auto pausing = me.sleep(*pause);
          auto paused = co_await pausing;
          (void)paused;
          continue;
        }
        if (!read)
          fault = std::move(read).error();
        else if (read.value().entries.empty())
          fault = note_loss(*lane, lane->cursor.next());
        else
          items = decode_items(*state, *lane, read.value().entries, fault);
        trying.on_progress();
      }
      for (auto& next : items) {
        if (state->is_suspended)
          break;
        if (!next.item) {
          lane->cursor.pass(next.offset);
          continue;
        }
        if (lane->cursor.pass_if_acknowledged(next.offset, next.item.at())) {
          lane->is_dirty = true;
          state->progressed.notify_all();
          continue;
        }
        lane->cursor.lend(next.offset); // before it can be acknowledged
        auto publishing = into.publish_shared(std::move(next.item));
        auto published = co_await publishing;
        if (!published && published.error() == errc::position_not_above)
          fail_lane(me, *state, *lane, lane_error(*state, *lane, published.error()));
        if (!published || is_over(*state, *lane))
          co_return; // the lane, or the stream, has ended, and says so itself
      }
      note_passed(*state, *lane);
      if (fault)
        fail_lane(me, *state, *lane, lane_error(*state, *lane, std::move(*fault)));
    }
  }
  if (!is_over(*state, *lane) && is_drained(*state, *lane))
    me.host().post_in_order(lane->given.to->lane, control_message{{}, close_lane{true}});
}

/// Stores how far a lane is, and then tells the watermark; as often as it changes, but one at a time.
task<> keep_checkpoint(self me, stream_log_ptr state, log_lane_ptr lane) {
  const auto consumer = consumer_of(lane->given.id);
  patience trying{*state};
  while (!state->failure) {
    // A lane that is new may begin behind what is still to be stored.
    const bool is_blocked = state->keepers.at(consumer).front() != lane || lane->cursor.acknowledged() >= state->head;
    if (state->is_stopping && lane->cursor.acknowledged() > lane->committed)
      lane->is_dirty = true; // what was passed is let go of, too
    if (is_blocked || (!lane->is_retired && (!lane->is_dirty || (lane->has_failed && !lane->cursor.checkpoint().has_lost)))) {
      if (state->is_stopping && !is_blocked)
        break;
      auto waiting = state->progressed.wait();
      auto woken = co_await waiting;
      (void)woken;
      continue;
    }
    const bool is_last = lane->is_retired;
    const auto offset = lane->cursor.acknowledged();
    const auto released = lane->released;
    const auto floor = lane->cursor.checkpoint().floor;
    std::optional<error> why;
    if (is_last) {
      auto dropping = drop_checkpoint(me, state, lane);
      auto dropped = co_await std::move(dropping);
      if (!dropped)
        why = std::move(dropped).error();
    } else {
      lane->is_dirty = false;
      auto committing = lane->keeper.commit(
        me, state->topic->description().cursor_at({offset}), encode_lane_checkpoint(lane->cursor.checkpoint()));
      auto committed = co_await std::move(committing);
      if (!committed)
        why = std::move(committed).error();
    }
    if (why) {
      const auto pause = trying.pause_after(*why, me.now());
      if (pause) {
        lane->is_dirty = true;
        auto pausing = me.sleep(*pause);
        auto paused = co_await pausing;
        (void)paused;
      } else if (*why == errc::cursor_expired) {
        fail_lane(me, *state, *lane, lane_error(*state, *lane, std::move(*why)));
      } else if (*why == errc::checkpoint_conflict) {
        fail(me, *state, error{errc::fenced, "another process has opened the stream", {{"topic", state->how.topic}}});
      } else {
        fail(me, *state, lane_error(*state, *lane, std::move(*why)));
      }
      continue;
    }
    if (is_last)
      break;
    trying.on_progress();
    lane->committed = offset;
    if (state->how.floors == lane_floors::sink)
      tell_floor(me, *lane, floor);
    lane->given.to->gauge->acknowledged.store(released, std::memory_order_release);
    note_trim(*state);
    state->progressed.notify_all();
  }
  leave_keepers(*state, lane);
}

void note_trim(stream_log_state& state) {
  auto slowest = state.head - 1;
  for (const auto& [key, lane] : state.lanes)
    slowest = std::min(slowest, lane->committed);
  // With a budget whoever lags may hold nothing back.
  const bool is_over_budget = has_budget(state.how.retention) && state.entries_since_trim >= entries_per_trim;
  const bool is_due = is_over_budget || state.bytes_since_trim >= bytes_per_trim || slowest - state.trimmed >= entries_per_trim;
  state.is_trim_wanted = state.is_trim_wanted || is_due;
}

task<> keep_trimmed(self me, stream_log_ptr state) {
  const auto is_over_for_all = [&] { return state->failure || state->is_stopping; };
  const auto& age = state->how.retention.age;
  const auto between_looks = age ? std::optional{std::clamp<std::chrono::nanoseconds>(*age / 4, 1s, 1min)} : std::nullopt;
  auto next_look = between_looks ? std::optional{me.now() + *between_looks} : std::nullopt;
  while (!is_over_for_all()) {
    if (!state->is_trim_wanted) {
      auto waiting = state->progressed.wait(next_look ? deadline::at(*next_look) : deadline::never());
      auto woken = co_await waiting;
      (void)woken;
      if (next_look && me.now() >= *next_look) { // what is too old becomes so by itself
        state->is_trim_wanted = true;
        next_look = me.now() + *between_looks;
      }
      continue;
    }
    state->is_trim_wanted = false;
    // Checkpoints first: what a lane has only passed must not count as held back by it.
    std::vector<std::pair<log_lane_ptr, std::int64_t>> expected;
    for (const auto& [key, lane] : state->lanes)
      if (const auto reached = lane->cursor.acknowledged(); lane->committed < reached && reached < state->head) {
        lane->is_dirty = true;
        expected.emplace_back(lane, reached);
      }
    state->progressed.notify_all();
    const auto is_behind = [&](const auto& one) {
      return one.first->committed < one.second && !is_over(*state, *one.first) && !state->is_stopping;
    };
    while (std::ranges::any_of(expected, is_behind)) {
      auto waiting = state->progressed.wait();
      auto woken = co_await waiting;
      (void)woken;
    }
    if (is_over_for_all())
      break;
    auto trimming = trim(me, state);
    co_await std::move(trimming);
  }
}

/// Lets go of what every lane has, or is held by one that lags more than it may.
task<> trim(self me, stream_log_ptr state) {
  auto through = state->head - 1;
  state->bytes_since_trim = 0;
  state->entries_since_trim = 0;
  state->trimmed = through;
  for (const auto& [key, lane] : state->lanes) {
    if (!lane->has_failed)
      state->trimmed = std::min(state->trimmed, lane->committed);
    if (!lane->keeper.stored()) // nothing in the log holds it back yet
      through = std::min(through, lane->cursor.acknowledged());
  }
  auto trimming = state->topic->trim(me, {.through = {through}, .force = true, .budget = state->how.retention});
  auto trimmed = co_await std::move(trimming);
  if (!trimmed)
    co_return; // the next one may succeed
  const auto earliest = trimmed.value().bounds.front().earliest;
  for (const auto& consumer : trimmed.value().expired)
    for (const auto& [key, lane] : state->lanes)
      if (!lane->has_failed && consumer == consumer_of(lane->given.id))
        fail_lane(me, *state, *lane,
          lane_error(*state, *lane,
            error{errc::cursor_expired, "the lane lagged more than the retention budget, and what it lacks is gone",
              {{"acknowledged", std::to_string(lane->committed)}, {"earliest", std::to_string(earliest)}}}));
}

} // namespace weir::detail
