#include <weir/appender.hpp>
#include <weir/detail/stream_log_state.hpp>
#include <weir/stored_requests.hpp>

namespace weir::detail {

namespace {

constexpr std::size_t entries_per_append = 1024;
constexpr std::size_t bytes_per_append = 1U << 20U;

/// The next ones that are stored together: encoded, and still pending.
std::vector<new_entry> take_entries(stream_log_state& state) {
  std::vector<new_entry> entries;
  std::vector<lane_id> lanes;
  for (std::size_t bytes = 0; state.writing < state.pending.size() && entries.size() < entries_per_append;) {
    const auto& next = state.pending[state.writing];
    if (!entries.empty() && bytes + next.bytes > bytes_per_append)
      break;
    bytes += next.bytes;
    ++state.writing;
    lanes.clear();
    for (const auto& one : next.lanes)
      lanes.push_back(one->given.id);
    auto& entry = entries.emplace_back();
    entry.shard = 0;
    encode_item(entry.payload, lanes, *next.item);
  }
  return entries;
}

error as_stream_error(const stream_log_state& state, error why) {
  if (why == errc::head_moved)
    return error{errc::fenced, "another process has opened the stream", {{"topic", state.how.topic}}};
  return std::move(why).with("topic", state.how.topic);
}

/// Of the lanes that an item is for: their floor, where that is what is stored.
void raise_floors(
  const stream_log_state& state, const log_item& item, std::int64_t offset, std::map<std::uint64_t, lane_floor>& floors) {
  const auto* at = item.item.at();
  if (at == nullptr)
    return;
  for (const auto& [key, lane] : state.lanes) {
    if (offset < lane->begins || !item.is_for(lane))
      continue;
    auto& floor = floors.try_emplace(key, lane->told).first->second;
    floor.reached = *at;
    if (at->ends_transaction)
      floor.confirmable = *at;
  }
}

void keep_recent(stream_log_state& state, log_item item) {
  state.recent_bytes += item.bytes;
  state.recent.push_back(std::move(item));
  while (state.recent_bytes > state.how.recent_bytes && state.recent.size() > 1) {
    state.recent_bytes -= state.recent.front().bytes;
    state.recent.pop_front();
  }
}

void on_stored(self me, stream_log_state& state) {
  std::map<std::uint64_t, lane_floor> floors;
  std::uint64_t bytes = 0;
  const auto count = std::exchange(state.writing, 0);
  for (std::size_t one = 0; one < count; ++one) {
    auto item = std::move(state.pending.front());
    state.pending.pop_front();
    bytes += item.bytes;
    if (const auto line = state.lines.find(item.line); line != state.lines.end())
      line->second.credit.on_done(1, item.bytes);
    if (state.how.floors == lane_floors::log)
      raise_floors(state, item, state.head, floors);
    ++state.head;
    keep_recent(state, std::move(item));
  }
  state.bytes_since_trim += bytes;
  state.entries_since_trim += static_cast<std::int64_t>(count);
  // Whoever asks whether the stream is idle finds the items in one of the two counts.
  for (const auto& [key, lane] : state.lanes) {
    note_in_log(state, *lane);
    if (!lane->has_failed && !state.is_suspended && !std::exchange(lane->is_behind, true))
      lane->given.to->gauge->published.fetch_add(1, std::memory_order_release);
  }
  state.budget->release(bytes);
  state.gauge->acknowledged.fetch_add(count, std::memory_order_release);
  for (const auto& [key, floor] : floors)
    tell_floor(me, *state.lanes.at(key), floor);
  grant_lines(me, state);
  note_trim(state);
  state.wake_all();
}

/// Tells whoever asks the stream that one of its topics does not take anything.
auto teller(const stream_log_ptr& state, const std::shared_ptr<log_topic>& of) {
  return [report = state->report, topic = of.get()](std::optional<error> why) { report->note(topic, std::move(why)); };
}

/// Completes when the entries are stored. The head that is expected fences whoever did not see a successor open.
task<result<void>> store(
  self me, std::shared_ptr<appender> to, stream_log_ptr state, std::vector<new_entry> entries, std::int64_t head) {
  auto appending = to->append(me, std::move(entries), head);
  auto ticket = co_await std::move(appending);
  if (!ticket) {
    result<void> refused = as_stream_error(*state, std::move(ticket).error());
    co_return refused;
  }
  auto storing = ticket.value().stored(me);
  auto stored = co_await std::move(storing);
  if (!stored) {
    result<void> failed = as_stream_error(*state, std::move(stored).error());
    co_return failed;
  }
  co_return success();
}

} // namespace

/// Stores what is pending, as much at once as there is.
task<> write_items(self me, stream_log_ptr state) {
  const auto to =
    std::make_shared<appender>(state->topic, appender_options{.window = {.entries = entries_per_append, .bytes = SIZE_MAX},
                                               .give_up_after = state->how.give_up_after,
                                               .on_trouble = teller(state, state->topic)});
  while (!state->failure) {
    if (state->pending.empty()) {
      if (state->is_stopping)
        break;
      auto waiting = state->arrived.wait();
      auto woken = co_await waiting;
      (void)woken;
      continue;
    }
    auto storing = store(me, to, state, take_entries(*state), state->head);
    auto stored = co_await std::move(storing);
    if (stored)
      on_stored(me, *state);
    else
      fail(me, *state, std::move(stored).error());
  }
}

/// Stores which backfills are not served, whenever that changes; while one set is being stored, only the newest waits.
task<> store_requests(self me, stream_log_ptr state) {
  constexpr std::int64_t entries_per_trim = 64;
  const auto to = std::make_shared<appender>(state->request_topic,
    appender_options{.give_up_after = state->how.give_up_after, .on_trouble = teller(state, state->request_topic)});
  while (!state->failure) {
    if (!state->unstored_requests) {
      if (state->is_stopping)
        break;
      auto waiting = state->arrived.wait();
      auto woken = co_await waiting;
      (void)woken;
      continue;
    }
    std::vector<new_entry> entries;
    entries.push_back(
      {.key = state->owner, .payload = encode_requests(*std::exchange(state->unstored_requests, std::nullopt)), .shard = 0});
    auto storing = store(me, to, state, std::move(entries), state->request_head);
    auto stored = co_await std::move(storing);
    if (!stored) {
      fail(me, *state, std::move(stored).error());
      break;
    }
    ++state->request_head;
    if (state->request_head % entries_per_trim == 0) {
      auto trimming = state->request_topic->trim(me, {.through = {state->request_head - 2}, .force = true});
      auto trimmed = co_await std::move(trimming);
      (void)trimmed; // the next one may succeed
    }
  }
}

} // namespace weir::detail
