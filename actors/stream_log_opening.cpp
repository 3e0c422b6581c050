#include <weir/detail/stream_log.hpp>
#include <weir/log_rules.hpp>
#include <weir/stored_requests.hpp>
#include <weir/topic_name.hpp>

#include <algorithm>

namespace weir::detail {

namespace {

constexpr int tries = 16; // against others who open at the same time, or have it open

/// Writes an entry that is for nobody: who had the stream open before finds the head moved. The head behind it.
task<result<shard_bounds>> move_head(self me, std::shared_ptr<log_topic> topic) {
  for (int left = tries;; --left) {
    auto looking = topic->bounds(me);
    auto there = co_await std::move(looking);
    if (!there) {
      result<shard_bounds> failed = std::move(there).error();
      co_return failed;
    }
    auto bounds = there.value().front();
    std::vector<append_call> calls;
    calls.push_back({.entries = {new_entry{.shard = 0}}, .expected_head = bounds.head});
    auto appending = topic->append(me, std::move(calls));
    auto outcome = co_await std::move(appending);
    if (outcome.failure) {
      result<shard_bounds> failed = std::move(*outcome.failure);
      co_return failed;
    }
    auto& stored = outcome.decided.front();
    if (stored) {
      ++bounds.head;
      result<shard_bounds> moved = bounds;
      co_return moved;
    }
    if (stored.error() != errc::head_moved || left == 0) {
      result<shard_bounds> failed = std::move(stored).error();
      co_return failed;
    }
  }
}

/// The topic, in the layout that a stream needs; null where there is none yet.
task<result<std::shared_ptr<log_topic>>> find_existing(self me, std::shared_ptr<log_store> log, std::string name) {
  auto finding = log->find_topic(me, name);
  auto found = co_await std::move(finding);
  if (!found && found.error() == errc::unknown_topic)
    found = std::shared_ptr<log_topic>{};
  if (found && found.value()) {
    const auto& known = found.value()->description();
    const topic_layout usual;
    auto same = log_rules::check_same_layout(known.shards, known.dedupe_horizon, name, usual.shards, usual.dedupe_horizon);
    if (!same)
      found = std::move(same).error();
  }
  co_return found;
}

/// What a lane's checkpoint says.
result<void> take_in(registered_lane& lane, const checkpoint& stored) {
  auto kept = decode_lane_checkpoint(stored.metadata);
  if (!kept)
    return std::move(kept).error().with("lane", to_string(lane.id));
  lane.acknowledged = stored.offsets.front();
  lane.kept = std::move(kept).value();
  lane.has_expired = stored.expired || lane.kept.has_lost;
  return success();
}

/// Takes a lane's checkpoint over: who kept it before finds that it has changed.
task<result<void>> claim(self me, std::shared_ptr<registered_lane> lane) {
  for (int left = tries;; --left) {
    auto claiming = lane->keeper.claim(me);
    auto claimed = co_await std::move(claiming);
    if (!claimed && (claimed.error() != errc::checkpoint_conflict || left == 0)) {
      result<void> failed = std::move(claimed).error();
      co_return failed;
    }
    if (!claimed)
      continue;
    const auto& stored = claimed.value();
    if (!stored) {
      result<void> gone = error{errc::checkpoint_conflict, "a lane was retired by somebody else while the stream was opened",
        {{"lane", to_string(lane->id)}}};
      co_return gone;
    }
    auto taken = take_in(*lane, *stored);
    co_return taken;
  }
}

/// Finds each lane's last positions: from the head back, in growing steps, as far as must be.
task<result<void>> find_last(self me, std::shared_ptr<opened_topic> in) {
  constexpr std::int64_t first_step = 16;
  constexpr std::int64_t longest_step = 4096;
  auto end = in->bounds.head;
  for (auto step = first_step; end > in->bounds.earliest; step = std::min(2 * step, longest_step)) {
    const auto begin = std::max(in->bounds.earliest, end - step);
    std::vector<std::shared_ptr<registered_lane>> lacking;
    for (const auto& lane : in->lanes)
      if ((!lane->last || !lane->ending) && lane->acknowledged + 1 < end)
        lacking.push_back(lane);
    if (lacking.empty())
      break;
    std::vector<lane_id> names;
    for (const auto& lane : lacking)
      names.push_back(lane->id);
    auto looking = look_through(me, in->topic, begin, end, std::move(names));
    auto looked = co_await std::move(looking);
    if (!looked) {
      result<void> failed = std::move(looked).error();
      co_return failed;
    }
    for (std::size_t index = 0; index < lacking.size(); ++index) {
      auto& lane = *lacking[index];
      const auto& there = looked.value()[index];
      if (!lane.last)
        lane.last = there.last;
      if (!lane.ending)
        lane.ending = there.ending;
    }
    end = begin;
  }
  // Behind its checkpoint a lane has its floor; one that is new may state a higher one.
  const auto raise = [](std::optional<position>& known, const std::optional<position>& floor) {
    if (floor && !(known && covers(*known, *floor)))
      known = floor;
  };
  for (const auto& lane : in->lanes) {
    raise(lane->last, lane->kept.floor.reached);
    raise(lane->ending, lane->kept.floor.confirmable);
  }
  co_return success();
}

/// The lanes that are wanted and were not there: they begin with what is retained.
void add_new(opened_topic& in, const wanted_lanes& wanted) {
  for (const auto& name : wanted.names) {
    if (std::ranges::any_of(in.lanes, [&](const auto& one) { return one->id == name; }))
      continue;
    const auto lane = std::make_shared<registered_lane>(name, checkpointer{in.topic, consumer_of(name)});
    lane->is_new = true;
    lane->acknowledged = in.bounds.earliest - 1;
    lane->kept.floor = floor_of(wanted.floor);
    in.lanes.push_back(lane);
  }
}

/// Finds the lanes of a topic whose bounds are known, and how far each is. Taken over, or only looked at.
task<result<std::shared_ptr<opened_topic>>> find_lanes(
  self me, std::shared_ptr<opened_topic> in, wanted_lanes wanted, bool takes_over) {
  auto listing = in->topic->checkpoints(me);
  auto listed = co_await std::move(listing);
  using outcome = result<std::shared_ptr<opened_topic>>;
  if (!listed) {
    outcome failed = std::move(listed).error();
    co_return failed;
  }
  for (const auto& one : listed.value()) {
    auto id = lane_of(one.consumer);
    if (!id)
      continue;
    const auto lane = std::make_shared<registered_lane>(*id, checkpointer{in->topic, one.consumer});
    in->lanes.push_back(lane);
    auto taken = take_in(*lane, one);
    if (takes_over) { // what was listed may have changed
      auto claiming = claim(me, lane);
      auto claimed = co_await std::move(claiming);
      taken = std::move(claimed);
    }
    if (!taken) {
      outcome failed = std::move(taken).error();
      co_return failed;
    }
  }
  add_new(*in, wanted);
  auto finding = find_last(me, in);
  auto found = co_await std::move(finding);
  outcome done = found ? outcome{in} : std::move(found).error();
  co_return done;
}

} // namespace

task<result<opened_requests>> open_stream_requests(self me, std::shared_ptr<log_store> log, durable_settings how) {
  auto attaching = log->open_topic(me, requests_topic(how.topic), {});
  auto topic = co_await std::move(attaching);
  if (!topic) {
    result<opened_requests> failed = std::move(topic).error();
    co_return failed;
  }
  for (int left = tries;; --left) {
    auto reading = read_requests(me, topic.value());
    auto found = co_await std::move(reading);
    if (!found)
      co_return found;
    if (auto fault = find_owner_fault(found.value(), how)) {
      result<opened_requests> refused = std::move(*fault);
      co_return refused;
    }
    // Written again as it is: who had the stream open before finds the head moved.
    if (!how.owner.empty())
      found.value().owner = how.owner;
    std::vector<append_call> calls;
    calls.push_back(
      {.entries = {new_entry{.key = found.value().owner, .payload = encode_requests(found.value().waiting), .shard = 0}},
        .expected_head = found.value().head});
    auto appending = topic.value()->append(me, std::move(calls));
    auto outcome = co_await std::move(appending);
    if (!outcome.failure && outcome.decided.front()) {
      ++found.value().head;
      co_return found;
    }
    auto why = outcome.failure ? std::move(*outcome.failure) : std::move(outcome.decided.front()).error();
    if (why != errc::head_moved || left == 0) {
      result<opened_requests> failed = std::move(why);
      co_return failed;
    }
  }
}

task<result<std::shared_ptr<log_topic>>> find_stream_topic(self me, std::shared_ptr<log_store> log, durable_settings how) {
  auto attaching = log->open_topic(me, how.topic, {});
  auto topic = co_await std::move(attaching);
  if (!topic)
    co_return topic;
  auto checking = check_foreign(me, topic.value());
  auto checked = co_await std::move(checking);
  if (!checked) {
    result<std::shared_ptr<log_topic>> failed = std::move(checked).error();
    co_return failed;
  }
  co_return topic;
}

task<result<std::shared_ptr<opened_topic>>> open_stream_topic(self me, std::shared_ptr<log_topic> topic, wanted_lanes wanted) {
  const auto opened = std::make_shared<opened_topic>();
  using outcome = result<std::shared_ptr<opened_topic>>;
  opened->topic = std::move(topic);
  auto moving = move_head(me, opened->topic);
  auto moved = co_await std::move(moving);
  if (!moved) {
    outcome failed = std::move(moved).error();
    co_return failed;
  }
  opened->bounds = moved.value();
  auto finding = find_lanes(me, opened, std::move(wanted), true);
  auto found = co_await std::move(finding);
  co_return found;
}

task<result<std::vector<std::shared_ptr<registered_lane>>>> look_at_stream(
  self me, std::shared_ptr<log_store> log, durable_settings how, wanted_lanes wanted) {
  std::vector<std::shared_ptr<registered_lane>> lanes;
  using outcome = result<std::vector<std::shared_ptr<registered_lane>>>;
  auto searching = find_existing(me, log, requests_topic(how.topic));
  auto requests = co_await std::move(searching);
  if (requests && requests.value()) {
    auto reading = read_requests(me, requests.value());
    auto there = co_await std::move(reading);
    auto fault = there ? find_owner_fault(there.value(), how) : std::optional{std::move(there).error()};
    if (fault)
      requests = std::move(*fault);
  }
  auto finding = find_existing(me, log, how.topic);
  auto topic = co_await std::move(finding);
  if (!topic || !requests) {
    outcome failed = !topic ? std::move(topic).error() : std::move(requests).error();
    co_return failed;
  }
  if (topic.value()) {
    auto checking = check_foreign(me, topic.value());
    auto checked = co_await std::move(checking);
    auto asking = topic.value()->bounds(me);
    auto bounds = co_await std::move(asking);
    if (!checked || !bounds) {
      outcome failed = !checked ? std::move(checked).error() : std::move(bounds).error();
      co_return failed;
    }
    const auto there = std::make_shared<opened_topic>();
    there->topic = topic.value();
    there->bounds = bounds.value().front();
    auto looking = find_lanes(me, there, std::move(wanted), false);
    auto looked = co_await std::move(looking);
    if (!looked) {
      outcome failed = std::move(looked).error();
      co_return failed;
    }
    lanes = there->lanes;
  }
  outcome done = std::move(lanes);
  co_return done;
}

} // namespace weir::detail
