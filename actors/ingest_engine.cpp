#include <weir/detail/engines.hpp>
#include <weir/gate.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace weir::detail {

namespace {

using namespace std::chrono_literals;

/// What the coroutines of one ingest engine share.
struct ingest_state {
  std::shared_ptr<const pipeline_parts> shared;
  ingest_parts parts;
  std::map<std::string, producer<lane_item>> lanes; // never shrinks: others wait for its producers
  std::set<std::string> retired;                    // lanes that are there no more
  gate publishing;                                  // whoever offers items: one at a time, so that snapshots keep their place
  std::optional<position> offered;                  // the last live position that has its place in every lane
  std::optional<position> confirmed;
  std::vector<delivery<request>> deferred; // requests that wait for a position to be offered
  std::optional<self> me;                  // the engine's first coroutine
  std::optional<error> failure;
  bool stopping = false;

  // What was read when the engine was asked to stop, and had no room yet.
  batch unpublished;
  std::vector<producer<lane_item>*> unpublished_to;

  /// Nothing is read any more, however long the source is quiet.
  void fail(error why) {
    if (failure || why == errc::cancelled)
      return;
    failure = std::move(why);
    me->request_stop(); // whoever reads, and whoever reads a chunk while the reader waits at the gate
  }

  /// Null where the lane was retired, or is none of this pipeline's.
  producer<lane_item>* lane_of(const std::string& sink) {
    const auto found = lanes.find(sink);
    return found == lanes.end() || retired.contains(sink) ? nullptr : &found->second;
  }

  std::vector<producer<lane_item>*> targets() {
    std::vector<producer<lane_item>*> all;
    for (auto& [name, lane] : lanes)
      if (!retired.contains(name))
        all.push_back(&lane);
    return all;
  }
};

using state_ptr = std::shared_ptr<ingest_state>;

/// The lanes that are there no more leave the fan-out; any other failure is the engine's.
void settle(ingest_state& state, const std::vector<producer<lane_item>*>& targets, const std::vector<result<void>>& outcomes) {
  for (std::size_t index = 0; index < targets.size(); ++index) {
    if (outcomes[index])
      continue;
    if (outcomes[index].error() == errc::lane_retired)
      state.retired.insert(targets[index]->lane().sink);
    else
      state.fail(outcomes[index].error());
  }
}

task<> set_aside(self me, state_ptr state, std::vector<bad_record> bad, position at) {
  const auto first = bad.front().reason;
  if (!state->shared->dead_letters) {
    state->fail(first);
    co_return;
  }
  std::vector<dead_letter> letters;
  for (auto& one : bad)
    letters.push_back(dead_letter{"source", std::move(one.reason), at, std::nullopt, std::move(one.bytes)});
  const auto count = letters.size();
  auto adding = state->shared->dead_letters->add(me, std::move(letters));
  auto added = co_await std::move(adding);
  if (!added)
    state->fail(std::move(added).error());
  else
    state->shared->observer->on_dead_letters("source", count, first);
}

/// Serves one backfill: chunk by chunk, each read and given its place in the lane before any later live change. One for a lane
/// that this pipeline does not feed is done with: nobody else will serve it.
task<> serve(self me, state_ptr state, delivery<request> asked) {
  const auto& wanted = asked.item();
  auto cursor = wanted.after;
  bool is_last = !state->offered; // nothing was ever published: there is nothing to walk
  while (!is_last) {
    auto entering = state->publishing.enter();
    auto inside = co_await entering;
    auto* const lane = state->lane_of(wanted.sink);
    if (lane == nullptr) {
      (void)asked.ack();
      co_return;
    }
    snapshot_query query{wanted.collections, cursor, *state->offered, state->parts.limit};
    auto walking = state->parts.from->snapshot(me, std::move(query));
    auto chunk = co_await std::move(walking);
    if (!chunk) {
      state->fail(std::move(chunk).error().with("sink", wanted.sink));
      co_return;
    }
    batch rows;
    rows.changes = chunk.value().rows.size();
    rows.request = wanted.id;
    rows.walked = chunk.value().walked;
    rows.envelopes = make_block(std::move(chunk.value().rows));
    cursor = std::move(chunk.value().walked);
    is_last = chunk.value().last;
    const std::vector<producer<lane_item>*> targets{lane};
    auto publishing = publish_all(targets, lane_item{std::move(rows)});
    publishing.offer(me);
    inside.leave();
    auto published = co_await publishing;
    settle(*state, targets, published);
    if (!published.front())
      co_return; // the lease ends, and the request is due again
  }
  auto* const lane = state->lane_of(wanted.sink);
  if (lane == nullptr) {
    (void)asked.ack();
    co_return;
  }
  const std::vector<producer<lane_item>*> targets{lane};
  auto marking = publish_all(targets, lane_item{snapshot_complete{wanted.id, wanted.collections}});
  auto marked = co_await marking;
  settle(*state, targets, marked);
  if (marked.front())
    (void)asked.ack();
}

bool may_serve(const ingest_state& state, const request& asked) {
  return !asked.not_before || (state.offered && covers(*state.offered, *asked.not_before));
}

task<> serve_requests(self me, state_ptr state) {
  auto requests = state->shared->over.requests().consumer();
  for (;;) {
    auto receiving = requests.receive();
    auto asked = co_await receiving;
    if (!asked) {
      state->stopping = true;
      co_return;
    }
    if (may_serve(*state, asked.value().item()))
      me.spawn(serve, state, std::move(asked).value());
    else
      state->deferred.push_back(std::move(asked).value());
  }
}

void serve_deferred(self me, const state_ptr& state) {
  for (auto& one : std::exchange(state->deferred, {})) {
    if (may_serve(*state, one.item()))
      me.spawn(serve, state, std::move(one));
    else
      state->deferred.push_back(std::move(one));
  }
}

std::optional<error> find_fault(const ingest_state& state, const batch& live) {
  if (!live.at || live.is_snapshot())
    return error{errc::source_failed, "the source returned a batch that is not live, or has no position"};
  if (state.offered && !may_follow(*state.offered, *live.at))
    return error{errc::sequence_restarted,
      "the source numbers from before again without opening a new epoch; a restarted numbering needs a higher epoch",
      {{"last", to_string(*state.offered)}, {"given", to_string(*live.at)}}};
  return std::nullopt;
}

task<> read_and_publish(self me, state_ptr state) {
  const auto stop = me.stop_token();
  while (!stop.stop_requested() && !state->failure) {
    auto reading_on = state->parts.from->read(me, state->parts.limit);
    auto read = co_await std::move(reading_on);
    if (!read) {
      state->fail(std::move(read).error());
      co_return;
    }
    if (!read.value()) {
      state->shared->observer->on_source_ended();
      co_return;
    }
    auto& got = *read.value();
    if (auto fault = find_fault(*state, got.live)) {
      state->fail(std::move(*fault));
      co_return;
    }
    if (!got.bad.empty()) {
      auto setting_aside = set_aside(me, state, std::move(got.bad), *got.live.at);
      co_await std::move(setting_aside);
      if (state->failure)
        co_return;
    }
    const auto at = *got.live.at;
    const auto changes = got.live.changes;
    auto entering = state->publishing.enter();
    auto inside = co_await entering;
    const auto targets = state->targets();
    const auto item = got.live;
    auto publishing = publish_all(targets, lane_item{std::move(got.live)});
    publishing.offer(me);
    state->offered = at;
    inside.leave();
    if (!state->deferred.empty())
      serve_deferred(me, state);
    auto published = co_await publishing;
    settle(*state, targets, published);
    for (std::size_t index = 0; index < targets.size(); ++index)
      if (!published[index] && published[index].error() == errc::cancelled)
        state->unpublished_to.push_back(targets[index]);
    if (!state->unpublished_to.empty())
      state->unpublished = item;
    state->shared->observer->on_read(changes, at);
  }
}

task<> confirm(self me, state_ptr state, std::optional<position> reached) {
  const auto is_news = reached && !(state->confirmed && covers(*state->confirmed, *reached));
  if (!is_news)
    co_return;
  if (state->parts.store) {
    auto saving = state->parts.store->save(me, *reached);
    auto saved = co_await std::move(saving);
    if (!saved) {
      state->fail(std::move(saved).error());
      co_return;
    }
  }
  state->confirmed = reached;
  auto telling = state->parts.from->confirm(me, *reached);
  auto told = co_await std::move(telling);
  if (!told)
    state->fail(std::move(told).error());
  else
    state->shared->observer->on_confirmed(*reached);
}

task<> keep_confirming(self me, state_ptr state) {
  const auto watermark = state->shared->over.watermark();
  auto last = state->confirmed;
  for (;;) {
    auto changing = watermark.confirmable_changed(last);
    auto changed = co_await changing;
    if (!changed)
      co_return; // asked to stop
    last = changed.value().confirmable;
    auto confirming = confirm(me, state, last);
    co_await std::move(confirming);
    auto pausing = me.sleep(state->parts.confirm_every);
    auto paused = co_await pausing;
    if (!paused || state->failure)
      co_return;
  }
}

task<> open_source(self me, state_ptr state) {
  auto opening = state->parts.from->open(me, state->parts.from_here);
  auto opened = co_await std::move(opening);
  if (!opened)
    state->fail(std::move(opened).error());
}

/// The source has ended by itself: what waits for a position that it did not reach is never served.
void refuse_deferred(ingest_state& state) {
  if (state.stopping)
    return;
  for (const auto& one : state.deferred)
    if (state.lane_of(one.item().sink) != nullptr)
      state.fail(error{errc::source_failed, "the source ended before a position that a sink holds, and can't fill it",
        {{"sink", one.item().sink}, {"holds", to_string(*one.item().not_before)}}});
}

/// Everything published is acknowledged; where nobody asked us to stop, every backfill is served too.
bool is_done(const ingest_state& state) {
  if (!state.stopping)
    return state.shared->over.idle();
  const auto now = state.shared->over.figures();
  return now.unstored == 0
         && std::ranges::all_of(now.lanes, [](const auto& lane) { return lane.published == lane.acknowledged; });
}

} // namespace

task<> run_ingest(self me, std::shared_ptr<const pipeline_parts> shared, ingest_parts parts) {
  auto state = std::make_shared<ingest_state>();
  state->shared = std::move(shared);
  state->parts = std::move(parts);
  state->me = me;
  state->offered = state->parts.from_here.confirmed;
  state->confirmed = state->parts.confirmed;
  for (const auto& name : state->parts.lanes) {
    auto lane = state->shared->over.lane(name);
    if (!lane) {
      me.fail(std::move(lane).error());
      co_return;
    }
    state->lanes.emplace(name, lane.value().producer());
  }
  const auto opening = me.spawn(open_source, state); // not shielded: a source that can't open yet may wait for long
  auto opened = opening.join();
  auto open_ended = co_await opened;
  (void)open_ended;

  const auto confirming = me.spawn_shielded(keep_confirming, state);
  const auto serving = me.spawn(serve_requests, state);
  if (!state->failure) {
    const auto reading_on = me.spawn(read_and_publish, state);
    auto joining = reading_on.join();
    auto joined = co_await joining;
    (void)joined;
  }
  if (!state->failure && !state->unpublished_to.empty()) { // it was read, and may not come again
    auto publishing = publish_all(state->unpublished_to, lane_item{std::move(state->unpublished)});
    auto published = co_await publishing;
    settle(*state, state->unpublished_to, published);
  }
  bool is_suspended = false;
  while (!state->failure && !is_done(*state)) {
    if (auto why = state->shared->over.failure()) {
      state->fail(std::move(*why)); // nobody publishes any more, who would hear of it
      break;
    }
    if (state->stopping && !std::exchange(is_suspended, true)) {
      auto lanes = state->shared->over;
      lanes.suspend(); // what a log keeps need not be written before we end
    }
    refuse_deferred(*state);
    auto pausing = me.sleep(10ms);
    auto paused = co_await pausing;
    (void)paused;
  }
  confirming.request_stop();
  auto joining = confirming.join();
  auto joined = co_await joining;
  (void)joined;
  auto reading_last = state->shared->over.watermark().read();
  auto last = co_await reading_last;
  if (last) {
    auto confirming_last = confirm(me, state, last.value().confirmable);
    co_await std::move(confirming_last);
  }
  auto over = state->shared->over;
  over.close(state->failure ? close_mode::abort : close_mode::drain);
  serving.request_stop();
  if (state->failure)
    me.fail(*state->failure);
}

} // namespace weir::detail
