#include <weir/detail/stream_log.hpp>
#include <weir/stored_requests.hpp>
#include <weir/topic_name.hpp>

#include <algorithm>

namespace weir::detail {

namespace {

constexpr std::string_view lane_prefix = "lane:";
constexpr std::string_view requests_suffix = ".requests";
constexpr int tries = 16; // against others who open at the same time, or have it open

std::string escaped(const std::string& name) {
  std::string out;
  for (const char one : name) {
    if (one == '/' || one == '%')
      out += one == '/' ? "%2F" : "%25";
    else
      out += one;
  }
  return out;
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      out += text[at];
      continue;
    }
    const auto code = text.substr(at, 3);
    if (code != "%2F" && code != "%25")
      return std::nullopt;
    out += code == "%2F" ? '/' : '%';
    at += 2;
  }
  return out;
}

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

/// The last entry of the topic of requests.
task<result<opened_requests>> read_requests(self me, std::shared_ptr<log_topic> topic) {
  opened_requests found{.topic = topic};
  auto looking = topic->bounds(me);
  auto there = co_await std::move(looking);
  if (!there) {
    result<opened_requests> failed = std::move(there).error();
    co_return failed;
  }
  const auto bounds = there.value().front();
  found.head = bounds.head;
  if (bounds.earliest < bounds.head) {
    auto reading = topic->read(me, 0, bounds.head - 2, {.entries = 1});
    auto read = co_await std::move(reading);
    if (!read) {
      result<opened_requests> failed = std::move(read).error();
      co_return failed;
    }
    if (!read.value().entries.empty()) {
      auto waiting = decode_requests(read.value().entries.front().payload);
      if (!waiting) {
        result<opened_requests> failed = std::move(waiting).error().with("topic", topic->description().name);
        co_return failed;
      }
      found.waiting = std::move(waiting).value();
      found.owner = read.value().entries.front().key;
    }
  }
  result<opened_requests> done = std::move(found);
  co_return done;
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
    auto kept = decode_lane_checkpoint(stored->metadata);
    if (!kept) {
      result<void> failed = std::move(kept).error().with("lane", to_string(lane->id));
      co_return failed;
    }
    lane->acknowledged = stored->offsets.front();
    lane->has_expired = stored->expired;
    lane->kept = std::move(kept).value();
    lane->has_expired = lane->has_expired || lane->kept.has_lost;
    co_return success();
  }
}

bool is_for(const stored_item& item, const lane_id& lane) {
  return item.lanes.empty() || std::ranges::find(item.lanes, lane) != item.lanes.end();
}

/// Takes in the entries from `first` up to `last` (not with it), read forward, into lanes that lack a position so far.
task<result<void>> look_through(self me, std::shared_ptr<log_topic> topic, std::int64_t first, std::int64_t last,
  std::vector<std::shared_ptr<registered_lane>> lanes) {
  std::vector<std::pair<std::optional<position>, std::optional<position>>> found(lanes.size());
  for (auto after = first - 1; after + 1 < last;) {
    auto reading = topic->read(me, 0, after, {.entries = static_cast<std::size_t>(last - after - 1)});
    auto read = co_await std::move(reading);
    if (!read) {
      result<void> failed = std::move(read).error();
      co_return failed;
    }
    if (read.value().entries.empty())
      break;
    for (const auto& one : read.value().entries) {
      after = one.offset;
      if (one.payload.empty())
        continue;
      auto item = decode_item(one.payload);
      if (!item) {
        result<void> failed =
          std::move(item).error().with("offset", std::to_string(one.offset)).with("topic", topic->description().name);
        co_return failed;
      }
      const auto* at = position_of(item.value().item);
      for (std::size_t lane = 0; at != nullptr && lane < lanes.size(); ++lane)
        if (is_for(item.value(), lanes[lane]->id)) {
          found[lane].first = *at;
          if (at->ends_transaction)
            found[lane].second = *at;
        }
    }
  }
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    if (!lanes[lane]->last)
      lanes[lane]->last = found[lane].first;
    if (!lanes[lane]->ending)
      lanes[lane]->ending = found[lane].second;
  }
  co_return success();
}

bool has_lanes(const std::vector<checkpoint>& all) {
  return std::ranges::any_of(all, [](const checkpoint& one) { return lane_of(one.consumer).has_value(); });
}

/// A topic without lanes is new, or somebody else's, into which nothing is written.
task<result<void>> check_foreign(self me, std::shared_ptr<log_topic> topic) {
  constexpr std::int64_t looked_at = 16;
  auto listing = topic->checkpoints(me);
  auto listed = co_await std::move(listing);
  if (!listed) {
    result<void> failed = std::move(listed).error();
    co_return failed;
  }
  if (has_lanes(listed.value()))
    co_return success();
  auto asking = topic->bounds(me);
  auto there = co_await std::move(asking);
  if (!there) {
    result<void> failed = std::move(there).error();
    co_return failed;
  }
  const auto bounds = there.value().front();
  auto looking = look_through(me, topic, std::max(bounds.earliest, bounds.head - looked_at), bounds.head, {});
  auto looked = co_await std::move(looking);
  co_return looked;
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
    auto looking = look_through(me, in->topic, begin, end, std::move(lacking));
    auto looked = co_await std::move(looking);
    if (!looked)
      co_return looked;
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

} // namespace

std::string consumer_of(const lane_id& lane) {
  auto name = std::string{lane_prefix} + escaped(lane.sink);
  if (lane.collection)
    name += '/' + escaped(*lane.collection);
  return name;
}

std::optional<error> find_topic_fault(const std::string& topic) {
  if (topic.ends_with(requests_suffix))
    return error{errc::invalid_argument, "topics of that name are kept for what sinks ask for", {{"topic", topic}}};
  if (auto named = check_topic_name(topic + std::string{requests_suffix}); !named)
    return std::move(named).error().with("topic", topic);
  return std::nullopt;
}

task<result<void>> check_no_stream(self me, std::shared_ptr<log_topic> topic) {
  auto listing = topic->checkpoints(me);
  auto listed = co_await std::move(listing);
  result<void> outcome = success();
  if (!listed)
    outcome = std::move(listed).error();
  else if (has_lanes(listed.value()))
    outcome = error{errc::wrong_owner, "a stream is kept in the topic, which nobody else may write into",
      {{"topic", topic->description().name}}};
  co_return outcome;
}

std::optional<error> find_fault(const lane_id& name) {
  auto named = check_topic_name(consumer_of(name));
  if (named)
    return std::nullopt;
  return error{
    errc::invalid_argument, "a lane is named in the log as a topic is: " + named.error().sentence(), named.error().facts()};
}

std::optional<lane_id> lane_of(const std::string& consumer) {
  if (!consumer.starts_with(lane_prefix))
    return std::nullopt;
  const auto names = std::string_view{consumer}.substr(lane_prefix.size());
  const auto cut = names.find('/');
  auto sink = unescaped(names.substr(0, cut));
  if (!sink || cut == std::string_view::npos)
    return sink ? std::optional{lane_id{std::move(*sink)}} : std::nullopt;
  auto collection = unescaped(names.substr(cut + 1));
  return collection ? std::optional{lane_id{std::move(*sink), std::move(*collection)}} : std::nullopt;
}

task<result<opened_requests>> open_stream_requests(self me, std::shared_ptr<log_store> log, durable_settings how) {
  auto attaching = log->open_topic(me, how.topic + std::string{requests_suffix}, {});
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
    if (!found.value().owner.empty() && !how.owner.empty() && found.value().owner != how.owner) {
      result<opened_requests> refused = error{errc::wrong_owner, "the stream in the log belongs to somebody else",
        {{"topic", how.topic}, {"owner", found.value().owner}, {"given", how.owner}}};
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
  auto listing = opened->topic->checkpoints(me);
  auto listed = co_await std::move(listing);
  if (!listed) {
    outcome failed = std::move(listed).error();
    co_return failed;
  }
  for (const auto& one : listed.value()) {
    auto id = lane_of(one.consumer);
    if (!id)
      continue;
    const auto lane = std::make_shared<registered_lane>(*id, checkpointer{opened->topic, one.consumer});
    opened->lanes.push_back(lane);
    auto claiming = claim(me, lane);
    auto claimed = co_await std::move(claiming);
    if (!claimed) {
      outcome failed = std::move(claimed).error();
      co_return failed;
    }
  }
  for (const auto& name : wanted.names) {
    if (std::ranges::any_of(opened->lanes, [&](const auto& one) { return one->id == name; }))
      continue;
    const auto lane = std::make_shared<registered_lane>(name, checkpointer{opened->topic, consumer_of(name)});
    lane->is_new = true;
    lane->acknowledged = opened->bounds.earliest - 1;
    lane->kept.floor = floor_of(wanted.floor);
    opened->lanes.push_back(lane);
  }
  auto finding = find_last(me, opened);
  auto found = co_await std::move(finding);
  if (!found) {
    outcome failed = std::move(found).error();
    co_return failed;
  }
  outcome done = opened;
  co_return done;
}

} // namespace weir::detail
