#include <weir/detail/stream_log_state.hpp>

#include <algorithm>

namespace weir::detail {

namespace {

/// What messages to the log actor are addressed to.
class stream_inlet final : public endpoint {
public:
  stream_inlet(self me, stream_log_ptr state) : endpoint{me.host()}, me_{me}, state_{std::move(state)} {}

  void on_control(control& message) override {
    std::visit([this](auto& what) { on(what); }, message);
  }

  void on_data(parcel& items) override {
    auto& published = static_cast<published_entries&>(items);
    const auto line = state_->lines.find(published.line);
    std::vector<std::optional<std::vector<log_lane_ptr>>> lanes;
    for (const auto& one : published.targets)
      lanes.push_back(resolve(one));
    for (auto& one : published.items) {
      if (line != state_->lines.end() && !line->second.credit.on_received(1, one.bytes))
        state_->gauge->bound_violations.fetch_add(1, std::memory_order_relaxed);
      const auto& targets = lanes[one.targets];
      if (targets && !state_->failure)
        take(log_item{std::move(one.item), one.bytes, published.line, *targets});
      else
        drop(one.bytes, published.line);
    }
    grant_lines(me_, *state_);
    state_->arrived.notify_all();
  }

private:
  template <class Other>
  void on(Other&) {}

  /// Those that the producer still feeds; nothing where there are none, and an empty list where these are all.
  std::optional<std::vector<log_lane_ptr>> resolve(const published_entries::target_list& targets) const {
    std::vector<log_lane_ptr> found;
    for (const auto& [key, generation] : targets)
      if (const auto lane = state_->lanes.find(key); lane != state_->lanes.end() && lane->second->generation == generation)
        found.push_back(lane->second);
    if (found.empty())
      return std::nullopt;
    if (found.size() == state_->lanes.size())
      found.clear();
    return found;
  }

  void take(log_item item) {
    if (const auto* at = item.item.at())
      for (const auto& [key, lane] : state_->lanes)
        if (item.is_for(lane)) {
          lane->last = *at;
          lane->may_repeat = false;
        }
    state_->pending.push_back(std::move(item));
  }

  /// Of a producer that was fenced, or whose lane is gone: its successor publishes again.
  void drop(std::uint64_t bytes, std::uint64_t line) {
    if (const auto found = state_->lines.find(line); found != state_->lines.end())
      found->second.credit.on_done(1, bytes);
    state_->budget->release(bytes);
    state_->gauge->acknowledged.fetch_add(1, std::memory_order_release);
  }

  void on(attach_end& wanted) {
    if (wanted.lane == 0) {
      const auto number = state_->next_line++;
      const credit bound{state_->how.line_items, state_->how.budget};
      state_->lines.emplace(number, stream_log_state::line{wanted.from, wanted.reply, receiving_credit{bound}});
      answer(wanted, attached{.generation = number, .sending = {bound, bound}, .next_sequence = 0, .last = {}});
      return;
    }
    const auto found = state_->lanes.find(wanted.lane);
    if (state_->failure)
      return answer(wanted, cancel{state_->failure->code(), std::make_shared<const error>(*state_->failure)});
    if (found == state_->lanes.end())
      return answer(wanted, cancel{errc::lane_retired});
    if (state_->is_closing)
      return answer(wanted, cancel{errc::closed});
    auto& lane = *found->second;
    if (lane.has_producer)
      me_.host().post(lane.producer, control_message{lane.reply, cancel{errc::fenced}});
    lane.producer = std::move(wanted.from);
    lane.reply = wanted.reply;
    lane.has_producer = true;
    attached known{.generation = ++lane.generation, .sending = {}, .next_sequence = 0, .last = {}};
    if (lane.last)
      known.last = std::make_shared<const position>(*lane.last);
    known.may_repeat = lane.may_repeat;
    if (lane.may_repeat && lane.given.resume)
      known.repeats_behind = std::make_shared<const position>(*lane.given.resume);
    me_.host().post(lane.producer, control_message{lane.reply, std::move(known)});
  }

  template <class Answer>
  void answer(const attach_end& asked, Answer with) {
    me_.host().post(asked.from, control_message{asked.reply, std::move(with)});
  }

  void on(detach_end& gone) {
    if (gone.lane == 0) {
      std::erase_if(
        state_->lines, [&](const auto& one) { return one.second.from == gone.from && one.second.reply == gone.reply; });
      return;
    }
    const auto found = state_->lanes.find(gone.lane);
    if (found == state_->lanes.end() || !found->second->has_producer || !(found->second->producer == gone.from)
        || !(found->second->reply == gone.reply))
      return;
    found->second->has_producer = false;
    found->second->producer = {};
    state_->wake_all();
  }

  void on(probe& asked) {
    if (const auto found = state_->lines.find(asked.generation); found != state_->lines.end())
      found->second.credit.on_probe(asked.wanted);
    grant_lines(me_, *state_);
  }

  void on(keep_lane& wanted) {
    auto& given = *wanted.lane;
    state_->watermark = given.watermark;
    state_->requests = given.requests;
    log_lane_ptr lane;
    if (const auto known = given.registered) {
      lane = std::make_shared<log_lane>(std::move(given), known->keeper, known->acknowledged, known->kept);
      lane->committed = known->acknowledged;
      lane->last = known->last;
      lane->may_repeat = true;
      lane->is_dirty = known->is_new; // to be registered
      lane->told = known->start(state_->how.floors);
    } else {
      const auto stated = floor_of(given.floor);
      checkpointer keeper{state_->topic, consumer_of(given.id)};
      lane = std::make_shared<log_lane>(
        std::move(given), std::move(keeper), state_->next_offset() - 1, lane_checkpoint{.floor = stated});
      lane->last = stated.reached;
      lane->is_dirty = true;
      lane->told = stated;
    }
    const auto& registered = lane->given.registered;
    state_->lanes.emplace(lane->given.key, lane);
    if (registered && registered->has_expired)
      fail_lane(me_, *state_, *lane,
        error{errc::cursor_expired, "the lane lagged more than the retention budget, and what it lacks is gone",
          {{"topic", state_->how.topic}, {"lane", to_string(lane->given.id)}}});
    if (state_->failure)
      tell_end(*lane, *state_->failure);
    state_->keepers[consumer_of(lane->given.id)].push_back(lane);
    me_.spawn_shielded(keep_checkpoint, state_, lane);
    me_.spawn(read_items, state_, lane);
  }

  void tell_end(const log_lane& lane, const error& why) {
    me_.host().post(lane.given.to->lane, control_message{{}, close_lane{false, std::make_shared<const error>(why)}});
  }

  void on(forget_lane& gone) {
    const auto found = state_->lanes.find(gone.lane);
    if (found == state_->lanes.end())
      return;
    const auto lane = found->second;
    state_->lanes.erase(found);
    lane->is_retired = true;
    if (std::exchange(lane->has_producer, false))
      me_.host().post(lane->producer, control_message{lane->reply, cancel{errc::lane_retired}});
    lane->producer = {};
    state_->wake_all();
  }

  void on(lane_progressed& told) {
    auto now = told.report->take();
    const auto found = state_->lanes.find(told.lane);
    if (found == state_->lanes.end())
      return;
    auto& lane = *found->second;
    lane.released = now.released;
    lane.cursor.on_progress(now);
    lane.is_dirty = true;
    state_->progressed.notify_all();
  }

  void on(requests_changed& told) {
    state_->unstored_requests = told.report->take();
    state_->arrived.notify_all();
  }

  void on(suspend_lanes&) {
    state_->is_suspended = true;
    state_->wake_all();
  }

  void on(close_lane&) {
    if (std::exchange(state_->is_closing, true))
      return;
    for (const auto& [key, lane] : state_->lanes)
      if (lane->has_producer) // until it says that it is gone, behind what it has published
        me_.host().post(lane->producer, control_message{lane->reply, cancel{errc::closed}});
    state_->wake_all();
  }

  self me_;
  stream_log_ptr state_;
};

/// Ends when the actor is asked to stop: whoever published has said its last word then.
task<> watch_for_stop(self me, stream_log_ptr state) {
  const auto stop = me.stop_token();
  while (!stop.stop_requested()) {
    auto waiting = state->arrived.wait();
    auto woken = co_await waiting;
    (void)woken;
  }
  state->is_stopping = true;
  state->wake_all();
}

} // namespace

void tell_floor(self me, log_lane& lane, const lane_floor& floor) {
  if (lane.told == floor)
    return;
  lane.told = floor;
  if (lane.floor->put(floor))
    me.host().post(lane.given.watermark, watermark_message{move_floor{lane.given.key, lane.floor}});
}

void fail(self me, stream_log_state& state, error why) {
  if (state.failure)
    return;
  state.failure = why;
  state.report->fail(why);
  const auto shared = std::make_shared<const error>(std::move(why));
  auto& host = me.host();
  for (const auto& [key, lane] : state.lanes) {
    if (lane->has_producer)
      host.post(lane->producer, control_message{lane->reply, cancel{shared->code(), shared}});
    host.post(lane->given.to->lane, control_message{{}, close_lane{false, shared}});
  }
  for (const auto& one : {state.watermark, state.requests})
    if (one)
      host.post(one, control_message{{}, close_lane{false, shared}});
  state.wake_all();
}

void fail_lane(self me, stream_log_state& state, log_lane& lane, error why) {
  lane.has_failed = true;
  me.host().post(lane.given.to->lane, control_message{{}, close_lane{false, std::make_shared<const error>(std::move(why))}});
  state.wake_all();
}

void note_in_log(const stream_log_state& state, const log_lane& lane) {
  const auto behind = std::max(state.head - lane.cursor.next(), std::int64_t{0});
  lane.given.to->gauge->in_log.store(static_cast<std::uint64_t>(behind), std::memory_order_relaxed);
}

void grant_lines(self me, stream_log_state& state) {
  if (state.budget->take_waiters())
    for (const auto& [number, line] : state.lines)
      me.host().post(line.from, control_message{line.reply, wake{}});
  for (auto& [number, line] : state.lines)
    if (const auto more = line.credit.take_grant(line.credit.is_sender_starved()))
      me.host().post(line.from, control_message{line.reply, grant{end_role::producer, number, *more}});
}

task<> run_stream_log(self me, std::shared_ptr<log_store> log, durable_settings how, wanted_lanes wanted,
  std::shared_ptr<stream_log_opening> opening, actor_ref opener, endpoint_address reply) {
  const auto state = std::make_shared<stream_log_state>();
  state->how = std::move(how);
  state->gauge = opening->gauge;
  state->report = opening->report;
  state->budget = opening->budget = std::make_shared<log_budget>(state->how.budget);
  auto finding = find_stream_topic(me, log, state->how);
  auto found = co_await std::move(finding);
  if (!found) {
    opening->failure = std::move(found).error();
    me.host().post(opener, control_message{reply, wake{}});
    co_return;
  }
  // Whose stream it is stands there, so it comes before anything is written into the other.
  auto taking_over = open_stream_requests(me, log, state->how);
  auto requests = co_await std::move(taking_over);
  if (!requests) {
    opening->failure = std::move(requests).error();
    me.host().post(opener, control_message{reply, wake{}});
    co_return;
  }
  auto attaching = open_stream_topic(me, found.value(), std::move(wanted));
  auto attached_to = co_await std::move(attaching);
  if (!attached_to) {
    opening->failure = std::move(attached_to).error();
    me.host().post(opener, control_message{reply, wake{}});
    co_return;
  }
  const auto& there = *attached_to.value();
  state->request_topic = requests.value().topic;
  state->request_head = requests.value().head;
  state->owner = requests.value().owner;
  opening->waiting = std::move(requests.value().waiting);
  state->topic = there.topic;
  state->head = there.bounds.head;
  state->trimmed = there.bounds.earliest - 1;
  opening->lanes = there.lanes;
  stream_inlet inlet{me, state};
  opening->inlet = inlet.here();
  me.host().post(opener, control_message{reply, wake{}});

  const auto watching = me.spawn(watch_for_stop, state);
  const auto writing = me.spawn_shielded(write_items, state);
  const auto asking = me.spawn_shielded(store_requests, state);
  const auto trimming_on = me.spawn_shielded(keep_trimmed, state);
  for (const auto& one : {watching, writing, asking, trimming_on}) {
    auto ending = one.join();
    auto ended = co_await ending;
    (void)ended;
  }
  while (!state->keepers.empty()) {
    auto waiting = state->progressed.wait();
    auto woken = co_await waiting;
    (void)woken;
  }
  if (!state->failure) {
    auto trimming = trim(me, state);
    co_await std::move(trimming);
  }
}

} // namespace weir::detail
