#include <weir/backoff.hpp>
#include <weir/detail/engines.hpp>

#include <exception>
#include <random>
#include <string>
#include <utility>

namespace weir::detail {

namespace {

/// What the coroutines of one sink engine share.
struct sink_engine {
  std::shared_ptr<const pipeline_parts> shared;
  sink_parts parts;
  consumer<lane_item> in;
  producer<request> requests;
  backoff pause;
  std::optional<position> committed;
  std::optional<std::uint64_t> seeded_epoch; // complete, or being made complete
  std::optional<request_id> running;         // the backfill that was asked for and whose marker has not come
  std::uint64_t running_epoch = 0;
  bool lane_has_ended = false;             // for whatever reason: no pause helps
  std::optional<std::uint64_t> kept_aside; // the item whose dead letters are kept, acknowledged or not
  std::shared_ptr<announcer> announcing;   // null where nobody is told

  sink& destination() const { return *parts.destination; }

  /// A source whose collections nobody named has no snapshots to ask for: its beginning is all there is.
  bool wants_backfill() const { return destination().wants_backfill() && !shared->collections.empty(); }
};

using engine_ptr = std::shared_ptr<sink_engine>;
using deliveries = std::vector<delivery<lane_item>>;

request_id new_request_id() {
  std::random_device entropy;
  const auto word = [&] { return (std::uint64_t{entropy()} << 32) | entropy(); };
  return request_id{word(), word()};
}

/// A destination that throws has failed.
template <class T>
task<result<T>> guarded(self, task<result<T>> inner) {
  std::string thrown;
  try {
    auto outcome = co_await std::move(inner);
    co_return outcome;
  } catch (const std::exception& failure) {
    thrown = failure.what();
  } catch (...) {
    thrown = "something that is no std::exception";
  }
  co_return error{errc::sink_failed, "the destination threw: " + thrown, {{"what", thrown}}};
}

/// Asks for a backfill: first the destination is told, then the ingest side.
task<result<void>> ask_for_backfill(
  self me, engine_ptr engine, std::uint64_t epoch, std::optional<unfinished_backfill> resumed) {
  request asked{resumed ? resumed->request : new_request_id(), engine->parts.name, engine->shared->collections,
    resumed ? resumed->walked : std::nullopt, engine->committed};
  auto beginning = engine->destination().begin_backfill(me, asked, epoch);
  auto begun = co_await std::move(beginning);
  if (!begun)
    co_return std::move(begun).error();
  engine->running = asked.id;
  engine->running_epoch = epoch;
  engine->shared->observer->on_backfill(engine->parts.name, false);
  co_return engine->requests.publish(std::move(asked));
}

task<result<sink_state>> open(self me, engine_ptr engine) {
  auto opening = engine->destination().open(me);
  auto opened = co_await std::move(opening);
  if (!opened)
    co_return opened;
  const auto& holds = opened.value();
  // What was confirmed when the pipeline began, or acknowledged since, will not come again.
  const bool is_behind = holds.lacks(engine->parts.confirmed) || holds.lacks(engine->committed);
  if (is_behind && !engine->wants_backfill())
    co_return error{errc::sink_behind,
      "the destination holds less than was confirmed to the source, and the rest will not come again; from a new state "
      "everything "
      "is read again",
      {{"sink", engine->parts.name}, {"holds", holds.committed ? to_string(*holds.committed) : "nothing"}}};
  if (!is_behind)
    engine->committed = holds.committed;
  else if (lacks(engine->committed, engine->parts.confirmed))
    engine->committed = engine->parts.confirmed;
  engine->seeded_epoch = holds.seeded_epoch;
  engine->running.reset();
  if (!engine->wants_backfill() || (holds.is_seeded() && !is_behind))
    co_return opened;
  const auto& known = engine->committed ? engine->committed : engine->parts.confirmed;
  const auto epoch = known ? known->epoch : 1;
  auto asking = ask_for_backfill(me, engine, epoch, is_behind ? std::nullopt : holds.unfinished);
  auto asked = co_await std::move(asking);
  if (!asked)
    co_return std::move(asked).error();
  co_return opened;
}

std::uint64_t changes_in(const std::vector<lane_item>& items) {
  std::uint64_t changes = 0;
  for (const auto& item : items)
    if (const auto* carried = std::get_if<batch>(&item); carried != nullptr && carried->envelopes)
      changes += carried->envelopes->envelopes().size();
  return changes;
}

dead_letter letter_for(const sink_engine& engine, const lane_item& item, std::size_t index, error reason) {
  dead_letter letter{engine.parts.name, std::move(reason), std::nullopt, std::nullopt, {}};
  if (const auto* carried = std::get_if<batch>(&item)) {
    letter.at = carried->at;
    if (carried->envelopes && index < carried->envelopes->envelopes().size())
      letter.record = carried->envelopes->envelopes()[index];
  }
  return letter;
}

task<result<void>> set_aside(self me, engine_ptr engine, std::vector<dead_letter> letters) {
  const auto first = letters.front().reason;
  const auto count = letters.size();
  if (!engine->shared->dead_letters)
    co_return first;
  auto adding = engine->shared->dead_letters->add(me, std::move(letters));
  auto added = co_await std::move(adding);
  if (added)
    engine->shared->observer->on_dead_letters(engine->parts.name, count, first);
  co_return added;
}

/// Writes and flushes some items, and sets aside what the destination refuses. Nothing is acknowledged here.
task<result<void>> write(self me, engine_ptr engine, std::vector<lane_item> items) {
  std::vector<dead_letter> refused;
  for (;;) {
    auto writing = engine->destination().write(me, items);
    auto written = co_await std::move(writing);
    if (!written)
      co_return std::move(written).error();
    if (const auto wait = written.value().try_later) {
      engine->shared->observer->on_overload(engine->parts.name, *wait);
      auto pausing = me.sleep(*wait);
      auto paused = co_await pausing;
      if (!paused)
        co_return std::move(paused).error();
      continue;
    }
    for (auto& one : written.value().rejected)
      refused.push_back(letter_for(*engine, items.at(one.item), one.envelope, std::move(one.reason)));
    break;
  }
  if (!refused.empty() && engine->parts.policy.on_failure == failure_policy::stop)
    co_return refused.front().reason;
  auto flushing = engine->destination().flush(me);
  auto flushed = co_await std::move(flushing);
  if (!flushed)
    co_return std::move(flushed).error();
  if (!refused.empty()) {
    auto setting_aside = set_aside(me, engine, std::move(refused));
    co_return co_await std::move(setting_aside);
  }
  co_return success();
}

void acknowledge(sink_engine& engine, deliveries& group, std::size_t begin, std::size_t end) {
  for (auto index = begin; index < end; ++index) {
    const auto& item = group[index].item();
    if (engine.announcing)
      engine.announcing->add(item);
    if (const auto* at = position_of(item); at != nullptr && (!engine.committed || covers(*at, *engine.committed)))
      engine.committed = *at;
    if (const auto* marker = std::get_if<snapshot_complete>(&item); marker != nullptr && engine.running == marker->request) {
      engine.seeded_epoch = engine.running_epoch;
      engine.running.reset();
      engine.shared->observer->on_backfill(engine.parts.name, true);
    }
    (void)group[index].ack();
  }
  engine.pause.on_progress();
}

task<result<void>> write_group(
  self me, engine_ptr engine, std::shared_ptr<deliveries> group, std::size_t begin, std::size_t end) {
  std::vector<lane_item> items;
  for (auto index = begin; index < end; ++index)
    items.push_back((*group)[index].item());
  const auto changes = changes_in(items);
  auto writing = write(me, engine, std::move(items));
  auto written = co_await std::move(writing);
  if (!written)
    co_return std::move(written).error();
  acknowledge(*engine, *group, begin, end);
  engine->shared->observer->on_written(engine->parts.name, changes);
  co_return success();
}

std::vector<dead_letter> letters_for(const sink_engine& engine, const lane_item& item, const error& reason) {
  std::vector<dead_letter> letters;
  const auto* carried = std::get_if<batch>(&item);
  const auto count = carried != nullptr && carried->envelopes ? carried->envelopes->envelopes().size() : 0;
  for (std::size_t index = 0; index < std::max<std::size_t>(count, 1); ++index)
    letters.push_back(letter_for(engine, item, index, reason));
  return letters;
}

/// What a destination is given in place of an item that is set aside, so that it still moves on. Absent for a marker: without
/// that its backfill would never end.
std::optional<lane_item> without_changes(const lane_item& item) {
  const auto* carried = std::get_if<batch>(&item);
  if (carried == nullptr)
    return std::nullopt;
  auto moved = *carried;
  moved.changes = 0;
  moved.envelopes.reset();
  return lane_item{std::move(moved)};
}

/// The first item becomes dead letters, where the destination takes what comes in its place: otherwise it fails whatever it
/// is given, and this item is no worse than any other.
task<result<void>> set_item_aside(self me, engine_ptr engine, std::shared_ptr<deliveries> group, error reason) {
  const auto item = group->front().item();
  auto moved = without_changes(item);
  if (!moved || reason == errc::storage_full || !engine->shared->dead_letters) // a full disk is no item's fault
    co_return reason;
  auto closing = engine->destination().close(me); // it has just failed
  auto closed = co_await std::move(closing);
  if (!closed)
    co_return closed;
  auto opening = open(me, engine);
  auto opened = co_await std::move(opening);
  if (!opened)
    co_return std::move(opened).error();
  std::vector<lane_item> items;
  items.push_back(std::move(*moved));
  auto writing = engine->destination().write(me, std::move(items));
  auto written = co_await std::move(writing);
  if (!written || written.value().try_later)
    co_return written ? reason : std::move(written).error();
  const auto sequence = group->front().sequence();
  if (engine->kept_aside != sequence) {
    auto setting_aside = set_aside(me, engine, letters_for(*engine, item, reason));
    auto aside = co_await std::move(setting_aside);
    if (!aside)
      co_return aside;
    engine->kept_aside = sequence;
  }
  auto flushing = engine->destination().flush(me);
  auto flushed = co_await std::move(flushing);
  if (flushed)
    acknowledge(*engine, *group, 0, 1);
  co_return flushed;
}

/// One item that failed again and again, by itself: it is written, or becomes dead letters.
task<result<void>> write_or_set_aside(self me, engine_ptr engine, std::shared_ptr<deliveries> group) {
  auto writing = guarded(me, write_group(me, engine, group, 0, 1));
  auto written = co_await std::move(writing);
  if (written || written.error() == errc::cancelled)
    co_return written;
  auto setting_aside = set_item_aside(me, engine, group, std::move(written).error());
  co_return co_await std::move(setting_aside);
}

/// The first item, from `begin` on, that opens an epoch whose state the destination does not hold.
std::size_t find_new_epoch(const sink_engine& engine, const deliveries& group, std::size_t begin) {
  if (!engine.wants_backfill())
    return group.size();
  auto known = engine.running ? engine.running_epoch : engine.seeded_epoch.value_or(0);
  for (auto index = begin; index < group.size(); ++index)
    if (const auto* at = position_of(group[index].item()); at != nullptr && at->epoch > known)
      return index;
  return group.size();
}

task<result<void>> write_all(self me, engine_ptr engine, std::shared_ptr<deliveries> group) {
  const auto& policy = engine->parts.policy;
  const bool alone =
    policy.on_failure == failure_policy::dead_letter && group->front().attempt() > policy.failures_before_dead_letter;
  const auto size = alone ? 1 : group->size(); // the others are returned, and come again
  std::size_t begin = 0;
  while (begin < size) {
    const auto end = std::min(find_new_epoch(*engine, *group, begin), size);
    if (end > begin) {
      auto writing = alone ? write_or_set_aside(me, engine, group) : write_group(me, engine, group, begin, end);
      auto written = co_await std::move(writing);
      if (!written)
        co_return std::move(written).error();
    }
    if (end < size) {
      const auto epoch = position_of((*group)[end].item())->epoch;
      auto asking = ask_for_backfill(me, engine, epoch, std::nullopt);
      auto asked = co_await std::move(asking);
      if (!asked)
        co_return std::move(asked).error();
    }
    begin = end;
  }
  co_return success();
}

/// Writes what the lane delivers until it ends (success), we are asked to stop (cancelled), or something fails.
task<result<void>> drain_lane(self me, engine_ptr engine) {
  const auto& policy = engine->parts.policy;
  for (;;) {
    auto receiving = engine->in.receive_some(policy.items_per_write, policy.bytes_per_write);
    auto received = co_await std::move(receiving);
    if (!received) {
      engine->lane_has_ended = true;
      co_return std::move(received).error();
    }
    auto group = std::make_shared<deliveries>(std::move(received).value());
    auto writing = write_all(me, engine, std::move(group));
    auto written = co_await std::move(writing);
    if (!written)
      co_return std::move(written).error();
  }
}

/// The lane gives nothing more, as it should, or we were asked to stop.
bool is_over(const error& why) {
  return why == errc::end_of_lane || why == errc::closed || why == errc::lane_retired || why == errc::unknown_lane
         || why == errc::cancelled;
}

/// No pause helps: the destination is somebody else's now, or can't be had.
bool is_final(const error& why) {
  return why == errc::fenced || why == errc::dead_lettered || why == errc::wait_cycle || why == errc::unknown_collection
         || why == errc::sink_behind;
}

/// Those that the destination holds, and those of the source: a crash may have come between any commit and its hint.
void begin_announcing(const sink_engine& engine, const sink_state& holds) {
  auto known = holds.collections;
  const auto& of_source = engine.shared->collections;
  known.insert(known.end(), of_source.begin(), of_source.end());
  engine.announcing->begin(known);
}

task<> keep_draining(self me, engine_ptr engine) {
  auto opening = guarded(me, open(me, engine));
  auto opened = co_await std::move(opening);
  engine->parts.on_opened(opened);
  if (!opened)
    co_return;
  if (engine->announcing)
    begin_announcing(*engine, opened.value());
  for (;;) {
    auto draining = guarded(me, drain_lane(me, engine));
    auto drained = co_await std::move(draining);
    auto why = std::move(drained).error(); // it ends with a reason
    for (bool is_open = false; !is_open;) {
      if (is_over(why))
        co_return;
      if (engine->lane_has_ended || is_final(why)) {
        engine->parts.on_failing(engine->parts.name, std::move(why));
        co_return;
      }
      auto closing = guarded(me, engine->destination().close(me));
      auto closed = co_await std::move(closing);
      (void)closed; // it is opened again in any case
      const auto wait = engine->pause.next();
      engine->shared->observer->on_failure(engine->parts.name, why, wait);
      auto pausing = me.sleep(wait);
      auto paused = co_await pausing;
      if (!paused)
        co_return;
      auto opening_again = guarded(me, open(me, engine));
      auto outcome = co_await std::move(opening_again);
      is_open = outcome.has_value();
      if (!is_open)
        why = std::move(outcome).error();
    }
    engine->shared->observer->on_recovery(engine->parts.name);
  }
}

std::optional<child> spawn_announcer(self me, sink_engine& engine) {
  if (!engine.parts.announce)
    return std::nullopt;
  engine.announcing = std::make_shared<announcer>(std::move(*engine.parts.announce),
    [observer = engine.shared->observer, sink = engine.parts.name](const error& why) { observer->on_unannounced(sink, why); });
  return me.spawn(&announcer::run, engine.announcing);
}

} // namespace

task<> run_sink(self me, std::shared_ptr<const pipeline_parts> shared, sink_parts parts) {
  auto lane = shared->over.lane(parts.name);
  if (!lane) {
    parts.on_opened(std::move(lane).error());
    co_return;
  }
  const auto pause = backoff{parts.policy.first_pause, parts.policy.longest_pause};
  auto requests = shared->over.requests().producer();
  auto engine = std::make_shared<sink_engine>(sink_engine{std::move(shared), std::move(parts), lane.value().consumer(),
    std::move(requests), pause, std::nullopt, std::nullopt, std::nullopt, 0, false, std::nullopt, nullptr});
  auto telling = spawn_announcer(me, *engine);
  auto draining = keep_draining(me, engine);
  co_await std::move(draining);
  if (!telling)
    co_return;
  engine->announcing->end();
  auto joining = telling->join();
  auto joined = co_await joining;
  (void)joined; // whoever is asked to stop tells nobody anything more
}

} // namespace weir::detail
