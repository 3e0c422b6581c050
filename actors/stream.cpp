#include <weir/detail/caf_actor.hpp>
#include <weir/detail/stream_log.hpp>
#include <weir/detail/stream_state.hpp>
#include <weir/stream.hpp>

#include <set>

namespace weir {

namespace detail {

namespace {

constexpr std::uint64_t absurd_bound = std::uint64_t{1} << 40;

} // namespace

result<void> lane_directory::add(const lane_id& id, lane added) {
  const std::lock_guard lock{mutex_};
  if (!lanes_.emplace(id, std::move(added)).second)
    return error{errc::duplicate_lane, "the stream has a lane of that name already", {{"lane", to_string(id)}}};
  return success();
}

result<lane_directory::lane> lane_directory::take(const lane_id& id) {
  const std::lock_guard lock{mutex_};
  auto found = lanes_.extract(id);
  if (found.empty())
    return unknown(id);
  return std::move(found.mapped());
}

result<lane_directory::lane> lane_directory::find(const lane_id& id) const {
  const std::lock_guard lock{mutex_};
  const auto found = lanes_.find(id);
  if (found == lanes_.end())
    return unknown(id);
  return found->second;
}

std::map<lane_id, lane_directory::lane> lane_directory::all() const {
  const std::lock_guard lock{mutex_};
  return lanes_;
}

void lane_directory::close() {
  const std::lock_guard lock{mutex_};
  closed_ = true;
}

std::optional<error> lane_directory::find_fault(const request& asked) const {
  const std::lock_guard lock{mutex_};
  if (closed_)
    return error{errc::closed, "the stream was closed", {{"sink", asked.sink}}};
  const auto has_lane = [&](const lane_id& id) { return lanes_.contains(id); };
  for (const auto& collection : asked.collections) {
    if (!has_lane(lane_id{asked.sink}) && !has_lane(lane_id{asked.sink, collection}))
      return unknown(lane_id{asked.sink}).with("sink", asked.sink);
    if (!collections_.empty() && !collections_.contains(collection))
      return error{errc::unknown_collection, "the stream carries no collection of that name",
        {{"collection", collection}, {"sink", asked.sink}}};
  }
  return std::nullopt;
}

error lane_directory::unknown(const lane_id& id) const {
  std::string known;
  for (const auto& [name, found] : lanes_)
    known += (known.empty() ? "" : ", ") + to_string(name);
  return error{errc::unknown_lane, "the stream has no lane of that name", {{"lane", to_string(id)}, {"known", known}}};
}

std::optional<error> find_fault(const lane_options& wanted) {
  const auto refuse = [](const char* what, std::uint64_t given) {
    return error{
      errc::invalid_argument, "a bound lies between 1 and 2^40", {{"option", what}, {"given", std::to_string(given)}}};
  };
  if (wanted.bound.items == 0 || wanted.bound.items > absurd_bound)
    return refuse("bound.items", wanted.bound.items);
  if (wanted.bound.bytes == 0 || wanted.bound.bytes > absurd_bound)
    return refuse("bound.bytes", wanted.bound.bytes);
  if (wanted.budget == 0 || wanted.budget > absurd_bound)
    return refuse("budget", wanted.budget);
  if (wanted.max_attempts == 0U)
    return error{errc::invalid_argument, "an item is delivered at least once", {{"option", "max_attempts"}, {"given", "0"}}};
  std::set<lane_id> seen;
  for (const auto& id : wanted.lanes) {
    if (id.sink.empty() || (id.collection && id.collection->empty()))
      return error{errc::invalid_argument, "a lane's name is not empty", {{"option", "lanes"}}};
    if (!seen.insert(id).second)
      return error{errc::duplicate_lane, "two lanes have the same name", {{"lane", to_string(id)}}};
  }
  return std::nullopt;
}

stream_state::stream_state(caf::actor_system& system, stream_settings settings)
  : system_{system},
    settings_{std::move(settings)},
    directory_{settings_.collections},
    budget_{std::make_shared<shared_budget>(settings_.budget)},
    request_gauge_{std::make_shared<lane_gauge>()},
    watermark_{spawn_watermark(system)},
    requests_{spawn_requests(system, settings_of_requests())} {}

request_settings stream_state::settings_of_requests() {
  if (!settings_.log)
    return {request_gauge_};
  request_gauge_->published.store(settings_.waiting.size(), std::memory_order_relaxed);
  return {request_gauge_, std::move(settings_.waiting), settings_.log->link->actor, settings_.log->link->inlet};
}

owned_actor::~owned_actor() {
  post(ref_, control_message{{}, stop_host{}});
}

stream_log::~stream_log() {
  post_in_order(link->actor, control_message{{}, stop_host{}});
}

/// Where a lane begins.
struct stream_state::beginning {
  lane_floor floor;
  std::shared_ptr<registered_lane> registered = {};
  std::optional<position> resume = {};
};

result<void> stream_state::add_lane(const lane_id& id, std::optional<position> floor) {
  return add(id, {floor_of(floor)});
}

result<void> stream_state::add_registered(
  const std::shared_ptr<registered_lane>& known, const std::optional<position>& resume) {
  return add(known->id, {known->kept.floor, known, resume});
}

result<void> stream_state::add(const lane_id& id, const beginning& where) {
  const auto& log = settings_.log;
  const auto& known = where.registered;
  if (log)
    if (auto fault = find_fault(id))
      return std::move(*fault);
  const std::lock_guard lock{changing_};
  if (directory_.find(id))
    return error{errc::duplicate_lane, "the stream has a lane of that name already", {{"lane", to_string(id)}}};
  lane_directory::lane made;
  made.key = next_key_++;
  made.gauge = std::make_shared<lane_gauge>();
  const auto start = log && known ? known->start(log->floors) : where.floor;
  post(watermark_.ref(), watermark_message{add_floor{made.key, start}});
  lane_settings lane{.id = id,
    .key = made.key,
    .policy = settings_.policy,
    .start = where.floor,
    .watermark = watermark_.ref(),
    .gauge = made.gauge};
  if (log) {
    lane.log = log->link->actor;
    lane.inlet = log->link->inlet;
    made.gauge->published.store(1, std::memory_order_relaxed); // until it has what the log has for it
  }
  made.actor = std::make_shared<const owned_actor>(spawn_lane(system_, std::move(lane)));
  if (log) {
    kept_lane kept{.id = id, .key = made.key};
    kept.to = std::make_shared<const lane_link>(lane_link{.id = id,
      .lane = made.actor->ref(),
      .gauge = made.gauge,
      .budget = nullptr,
      .wiring = settings_.wiring,
      .stream = nullptr,
      .actor = made.actor});
    kept.watermark = watermark_.ref();
    kept.requests = requests_.ref();
    kept.floor = where.floor.reached;
    kept.registered = known;
    kept.resume = where.resume;
    post(log->link->actor, control_message{log->link->inlet, keep_lane{std::make_shared<kept_lane>(std::move(kept))}});
  }
  if (closed_ && !log)
    post(made.actor->ref(), control_message{{}, close_lane{true}});
  return directory_.add(id, std::move(made));
}

result<void> stream_state::retire_lane(const lane_id& id) {
  const std::lock_guard lock{changing_};
  auto taken = directory_.take(id);
  if (!taken)
    return std::move(taken).error();
  post(watermark_.ref(), watermark_message{retire_floor{taken.value().key}});
  post(taken.value().actor->ref(), control_message{{}, detail::retire_lane{}});
  if (settings_.log)
    post(settings_.log->link->actor, control_message{settings_.log->link->inlet, forget_lane{taken.value().key}});
  auto forget = std::make_shared<published_request>();
  forget->forget = true;
  forget->asked.sink = id.sink;
  if (id.collection)
    forget->asked.collections = {*id.collection};
  post(requests_.ref(), data_message{{}, std::move(forget)});
  return success();
}

void stream_state::close(bool drain) {
  const std::lock_guard lock{changing_};
  closed_ = true;
  directory_.close();
  if (settings_.log)
    post(settings_.log->link->actor, control_message{settings_.log->link->inlet, close_lane{drain}});
  for (const auto& [id, lane] : directory_.all())
    if (!drain || !settings_.log) // otherwise the log actor ends it, when everything that is stored is in it
      post(lane.actor->ref(), control_message{{}, close_lane{drain}});
  post(requests_.ref(), control_message{{}, close_lane{drain}});
  post(watermark_.ref(), control_message{{}, close_lane{drain}});
}

void stream_state::suspend() {
  if (settings_.log)
    post(settings_.log->link->actor, control_message{settings_.log->link->inlet, suspend_lanes{}});
}

bool stream_state::idle() const {
  // Acknowledged counts are read before published ones: if the sums agree, nothing was out at the moment in between.
  const auto lanes = directory_.all();
  std::vector<std::pair<const lane_gauge*, std::uint64_t>> seen;
  for (const auto& [id, lane] : lanes)
    seen.emplace_back(lane.gauge.get(), lane.gauge->acknowledged.load(std::memory_order_acquire));
  seen.emplace_back(request_gauge_.get(), request_gauge_->acknowledged.load(std::memory_order_acquire));
  if (settings_.log)
    seen.emplace(
      seen.begin(), settings_.log->link->gauge.get(), settings_.log->link->gauge->acknowledged.load(std::memory_order_acquire));
  for (const auto& [gauge, acknowledged] : seen)
    if (gauge->published.load(std::memory_order_acquire) != acknowledged)
      return false;
  return true;
}

stream_figures stream_state::figures() const {
  stream_figures now;
  for (const auto& [id, lane] : directory_.all()) {
    const auto& gauge = *lane.gauge;
    const auto acknowledged = gauge.acknowledged.load(std::memory_order_acquire);
    now.lanes.push_back(lane_figures{id, gauge.published.load(std::memory_order_acquire), acknowledged,
      gauge.held_bytes.load(std::memory_order_relaxed), gauge.peak_items.load(std::memory_order_relaxed),
      gauge.bound_violations.load(std::memory_order_relaxed), gauge.in_log.load(std::memory_order_relaxed)});
  }
  const auto served = request_gauge_->acknowledged.load(std::memory_order_acquire);
  now.requests = request_gauge_->published.load(std::memory_order_acquire) - served;
  now.charged_bytes = settings_.log ? settings_.log->link->budget->held() : budget_->used();
  now.budget_bytes = budget_->limit();
  if (settings_.log) {
    const auto stored = settings_.log->link->gauge->acknowledged.load(std::memory_order_acquire);
    now.unstored = settings_.log->link->gauge->published.load(std::memory_order_acquire) - stored;
  }
  return now;
}

std::optional<error> stream_state::failure() const {
  return settings_.log ? settings_.log->link->report->failure() : std::nullopt;
}

std::optional<error> stream_state::trouble() const {
  return settings_.log ? settings_.log->link->report->trouble() : std::nullopt;
}

std::shared_ptr<const lane_link> stream_state::link(const lane_id& id, const lane_directory::lane& lane) const {
  return std::make_shared<const lane_link>(lane_link{id, lane.actor->ref(), lane.gauge, settings_.log ? nullptr : budget_,
    settings_.wiring, shared_from_this(), lane.actor, settings_.log ? settings_.log->link : nullptr, lane.key});
}

std::shared_ptr<const request_link> stream_state::request_link_of() const {
  return std::make_shared<const request_link>(request_link{requests_.ref(), request_gauge_, shared_from_this(), &directory_});
}

} // namespace detail

result<lane_ends> stream::lane(const lane_id& id) const {
  auto found = state_->directory().find(id);
  if (!found)
    return std::move(found).error();
  return lane_ends{state_->link(id, found.value())};
}

request_ends stream::requests() const {
  return request_ends{state_->request_link_of()};
}

watermark_view stream::watermark() const {
  return watermark_view{state_->watermark(), state_};
}

bool stream::idle() const {
  return state_->idle();
}

result<void> stream::add_lane(const lane_id& id, std::optional<position> floor) {
  return state_->add_lane(id, floor);
}

result<void> stream::retire_lane(const lane_id& id) {
  return state_->retire_lane(id);
}

void stream::close(close_mode mode) {
  state_->close(mode == close_mode::drain);
}

void stream::suspend() {
  state_->suspend();
}

std::optional<error> stream::failure() const {
  return state_->failure();
}

std::optional<error> stream::trouble() const {
  return state_->trouble();
}

stream_figures stream::figures() const {
  return state_->figures();
}

} // namespace weir
