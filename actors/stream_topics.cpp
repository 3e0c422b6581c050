#include <weir/detail/stream_topics.hpp>
#include <weir/stored_requests.hpp>
#include <weir/topic_name.hpp>

#include <algorithm>

namespace weir::detail {

namespace {

constexpr std::string_view lane_prefix = "lane:";
constexpr std::string_view requests_suffix = ".requests";

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

bool is_for(const stored_item& item, const lane_id& lane) {
  return item.lanes.empty() || std::ranges::find(item.lanes, lane) != item.lanes.end();
}

bool has_lanes(const std::vector<checkpoint>& all) {
  return std::ranges::any_of(all, [](const checkpoint& one) { return lane_of(one.consumer).has_value(); });
}

} // namespace

std::string requests_topic(const std::string& topic) {
  return topic + std::string{requests_suffix};
}

std::string consumer_of(const lane_id& lane) {
  auto name = std::string{lane_prefix} + escaped(lane.sink);
  if (lane.collection)
    name += '/' + escaped(*lane.collection);
  return name;
}

std::optional<error> find_topic_fault(const std::string& topic) {
  if (topic.ends_with(requests_suffix))
    return error{errc::invalid_argument, "topics of that name are kept for what sinks ask for", {{"topic", topic}}};
  if (auto named = check_topic_name(topic); !named)
    return std::move(named).error();
  if (const auto longest = max_topic_name - requests_suffix.size(); topic.size() > longest)
    return error{errc::invalid_argument, "a stream's topic has at most " + std::to_string(longest) + " bytes",
      {{"topic", topic}, {"bytes", std::to_string(topic.size())}}};
  return std::nullopt;
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

task<result<std::vector<lane_end>>> look_through(
  self me, std::shared_ptr<log_topic> topic, std::int64_t first, std::int64_t last, std::vector<lane_id> lanes) {
  std::vector<lane_end> ends(lanes.size());
  using outcome = result<std::vector<lane_end>>;
  for (auto after = first - 1; after + 1 < last;) {
    auto reading = topic->read(me, 0, after, {.entries = static_cast<std::size_t>(last - after - 1)});
    auto read = co_await std::move(reading);
    if (!read) {
      outcome failed = std::move(read).error();
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
        outcome failed =
          std::move(item).error().with("offset", std::to_string(one.offset)).with("topic", topic->description().name);
        co_return failed;
      }
      const auto* at = position_of(item.value().item);
      for (std::size_t lane = 0; at != nullptr && lane < lanes.size(); ++lane)
        if (is_for(item.value(), lanes[lane])) {
          ends[lane].last = *at;
          if (at->ends_transaction)
            ends[lane].ending = *at;
        }
    }
  }
  outcome done = std::move(ends);
  co_return done;
}

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
  if (!looked) {
    result<void> failed = std::move(looked).error();
    co_return failed;
  }
  co_return success();
}

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

std::optional<error> find_owner_fault(const opened_requests& there, const durable_settings& how) {
  if (there.owner.empty() || how.owner.empty() || there.owner == how.owner)
    return std::nullopt;
  return error{errc::wrong_owner, "the stream in the log belongs to " + there.owner,
    {{"topic", how.topic}, {"owner", there.owner}, {"given", how.owner}}};
}

task<result<void>> check_no_stream(self me, std::shared_ptr<log_topic> topic) {
  auto listing = topic->checkpoints(me);
  auto listed = co_await std::move(listing);
  result<void> outcome = success();
  if (!listed) {
    outcome = std::move(listed).error();
    co_return outcome;
  }
  bool is_stream = has_lanes(listed.value());
  if (topic->description().name.ends_with(requests_suffix)) {
    auto reading = read_requests(me, topic);
    auto requests = co_await std::move(reading);
    is_stream = is_stream || (requests && requests.value().head > 0);
    if (!requests && requests.error() != errc::corrupt) // what is no request is only called like one
      outcome = std::move(requests).error();
  }
  if (is_stream)
    outcome = error{errc::wrong_owner, "a stream is kept in the topic, which nobody else may write into",
      {{"topic", topic->description().name}}};
  co_return outcome;
}

} // namespace weir::detail
