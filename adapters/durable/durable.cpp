#include <weir/condition.hpp>
#include <weir/detail/stream_log.hpp>
#include <weir/detail/stream_state.hpp>
#include <weir/detail/stream_topics.hpp>
#include <weir/durable.hpp>
#include <weir/resume_point.hpp>
#include <weir/spawn.hpp>

#include <algorithm>
#include <set>

namespace weir::durable {

namespace {

/// Hears from the log actor that it has opened its topic, or has not.
class opening_end final : public detail::endpoint {
public:
  explicit opening_end(self me) : endpoint{me.host()} {}
  void on_control(detail::control&) override {
    is_open_ = true;
    heard_.notify_all();
  }

  bool is_open() const noexcept { return is_open_; }
  condition& heard() noexcept { return heard_; }

private:
  bool is_open_ = false;
  condition heard_;
};

constexpr std::size_t absurd_items = std::size_t{1} << 40U;

std::optional<error> find_fault(const options& wanted) {
  if (auto fault = detail::find_fault({wanted.lanes, wanted.bound, wanted.log.budget, wanted.max_attempts}))
    return fault;
  if (wanted.log.line_items == 0 || wanted.log.line_items > absurd_items)
    return error{errc::invalid_argument, "a bound lies between 1 and 2^40",
      {{"option", "log.line_items"}, {"given", std::to_string(wanted.log.line_items)}}};
  if (auto fault = detail::find_topic_fault(wanted.log.topic))
    return fault;
  for (const auto& id : wanted.lanes)
    if (auto fault = detail::find_fault(id))
      return fault;
  return std::nullopt;
}

/// What the lanes are, to whoever opens or looks, and where the source goes on.
void describe(const std::vector<std::shared_ptr<detail::registered_lane>>& lanes, const options& wanted, seen& made) {
  const std::set<lane_id> named{wanted.lanes.begin(), wanted.lanes.end()};
  std::vector<stored_lane> stored;
  for (const auto& lane : lanes) {
    const auto& floor = lane->kept.floor;
    const bool is_asked_for = named.contains(lane->id);
    made.lanes.push_back({lane->id, lane->has_expired ? begin_anew_behind(floor.confirmable, wanted.floor) : floor.reached,
      is_asked_for, lane->has_expired});
    if (is_asked_for)
      stored.push_back({lane->ending, floor.confirmable, lane->has_expired});
  }
  made.resume = resume_behind(stored, wanted.floor);
}

result<opened> start(
  caf::actor_system& system, const actor_ref& actor, const detail::stream_log_opening& there, options wanted) {
  const auto link =
    std::make_shared<const detail::log_link>(detail::log_link{actor, there.inlet, there.gauge, there.budget, there.report});
  const auto floors = wanted.log.floors;
  auto state = std::make_shared<detail::stream_state>(
    system, detail::stream_settings{lane_policy{wanted.bound, wanted.max_attempts, wanted.dead_letters}, wanted.log.budget,
              std::move(wanted.collections), wanted.wiring ? std::move(wanted.wiring) : std::make_shared<shared_wiring>(),
              std::make_unique<const detail::stream_log>(link, floors), there.waiting});
  opened made{{}, stream{state}};
  describe(there.lanes, wanted, made);
  for (const auto& lane : there.lanes)
    if (auto added = state->add_registered(lane, made.resume); !added)
      return std::move(added).error();
  return made;
}

} // namespace

task<result<opened>> open_in(self me, caf::actor_system* system, std::shared_ptr<log_store> log, options wanted) {
  const auto fault = find_fault(wanted);
  if (fault) {
    result<opened> refused = *fault;
    co_return refused;
  }
  opening_end end{me};
  const auto opening = std::make_shared<detail::stream_log_opening>();
  const auto actor =
    spawn(*system, spawn_options{.name = "weir.log." + wanted.log.topic, .shielded = true}, detail::run_stream_log,
      std::move(log), wanted.log, detail::wanted_lanes{wanted.lanes, wanted.floor}, opening, me.ref(), end.here());
  while (!end.is_open()) {
    auto waiting = end.heard().wait();
    auto woken = co_await waiting;
    if (!woken && !end.is_open()) {
      actor.kill();
      result<opened> stopped = std::move(woken).error();
      co_return stopped;
    }
  }
  if (opening->failure) {
    result<opened> failed = std::move(*opening->failure);
    co_return failed;
  }
  auto made = start(*system, actor.ref(), *opening, std::move(wanted));
  co_return made;
}

task<result<seen>> look(self me, std::shared_ptr<log_store> log, options wanted) {
  const auto fault = find_fault(wanted);
  if (fault) {
    result<seen> refused = *fault;
    co_return refused;
  }
  seen made;
  std::vector<std::shared_ptr<detail::registered_lane>> lanes;
  if (log) {
    auto looking = detail::look_at_stream(me, std::move(log), wanted.log, {wanted.lanes, wanted.floor});
    auto looked = co_await std::move(looking);
    if (!looked) {
      result<seen> failed = std::move(looked).error();
      co_return failed;
    }
    lanes = std::move(looked).value();
  }
  describe(lanes, wanted, made);
  result<seen> done = std::move(made);
  co_return done;
}

result<opened> open(caf::actor_system& system, std::shared_ptr<log_store> log, options wanted) {
  return sync_wait(system, open_in, &system, std::move(log), std::move(wanted));
}

} // namespace weir::durable
