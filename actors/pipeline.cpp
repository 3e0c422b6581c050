#include <weir/detail/engines.hpp>
#include <weir/pipeline.hpp>

#include <condition_variable>
#include <map>
#include <mutex>
#include <set>

namespace weir {

namespace {

/// Collects what the first open() of every destination said.
class openings {
public:
  explicit openings(std::size_t expected) : expected_{expected} {}

  void add(const std::string& sink, result<sink_state> outcome) {
    {
      const std::lock_guard lock{mutex_};
      outcomes_.try_emplace(sink, std::move(outcome));
    }
    changed_.notify_all();
  }

  /// The first failure by name, or where the source goes on with what they hold.
  result<resume_point> wait(resume_point from) {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return outcomes_.size() == expected_; });
    for (const auto& [sink, outcome] : outcomes_) {
      if (!outcome)
        return error{outcome.error()}.with("sink", sink);
      from.add_held(outcome.value().committed);
    }
    return from;
  }

private:
  std::size_t expected_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, result<sink_state>> outcomes_;
};

/// One destination's word: an engine that ends without it has failed.
class opening {
public:
  opening(std::shared_ptr<openings> all, std::string sink) : all_{std::move(all)}, sink_{std::move(sink)} {}
  ~opening() { all_->add(sink_, error{errc::actor_stopped, "the sink's engine ended before its destination was open"}); }
  opening(const opening&) = delete;
  opening& operator=(const opening&) = delete;

  void say(result<sink_state> outcome) { all_->add(sink_, std::move(outcome)); }

private:
  std::shared_ptr<openings> all_;
  std::string sink_;
};

std::optional<error> find_fault(const stream& over, const pipeline_options& options) {
  if (!options.from)
    return error{errc::invalid_argument, "a pipeline has a source", {{"option", "from"}}};
  if (options.to.empty())
    return error{errc::invalid_argument, "a pipeline has at least one sink", {{"option", "to"}}};
  if (options.limit.changes == 0 || options.limit.bytes == 0)
    return error{errc::invalid_argument, "a read returns at least one change", {{"option", "limit"}}};
  std::set<std::string> names;
  for (const auto& one : options.to) {
    if (!one.destination)
      return error{errc::invalid_argument, "a sink has a destination", {{"sink", one.name}}};
    if (!names.insert(one.name).second)
      return error{errc::duplicate_lane, "two sinks have the same name", {{"sink", one.name}}};
    if (auto lane = over.lane(one.name); !lane)
      return std::move(lane).error();
    if (one.announce)
      if (auto topic = check_announced_topic(one.announce->topic); !topic)
        return std::move(topic).error().with("sink", one.name);
  }
  return std::nullopt;
}

} // namespace

/// Why a pipeline can't go on although its source could: the first sink engine that gave up.
class pipeline::setback {
public:
  void add(const std::string& sink, error why) {
    const std::lock_guard lock{mutex_};
    if (!why_) // what the stream's log says is no sink's fault
      why_ = why.fact_of("topic").empty() ? std::move(why).with("sink", sink) : std::move(why);
    if (ingest_)
      ingest_->kill();
  }

  void watch(const spawned& ingest) {
    const std::lock_guard lock{mutex_};
    ingest_ = ingest;
    if (why_)
      ingest_->kill();
  }

  std::optional<error> why() const {
    const std::lock_guard lock{mutex_};
    return why_;
  }

private:
  mutable std::mutex mutex_;
  std::optional<error> why_;
  std::optional<spawned> ingest_;
};

result<pipeline> pipeline::start(caf::actor_system& system, stream over, pipeline_options options) {
  if (auto fault = find_fault(over, options))
    return std::move(*fault);
  auto observer = options.observer ? std::move(options.observer) : std::make_shared<pipeline_observer>();
  auto shared = std::make_shared<const detail::pipeline_parts>(
    detail::pipeline_parts{over, std::move(options.collections), std::move(options.dead_letters), std::move(observer)});

  auto opened = std::make_shared<openings>(options.to.size());
  std::vector<spawned> sinks;
  std::vector<std::string> lanes;
  auto setbacks = std::make_shared<setback>();
  const auto on_failing = [setbacks](const std::string& sink, error why) { setbacks->add(sink, std::move(why)); };
  for (auto& one : options.to) {
    lanes.push_back(one.name);
    const auto on_opened = [word = std::make_shared<opening>(opened, one.name)](
                             result<sink_state> outcome) { word->say(std::move(outcome)); };
    sinks.push_back(spawn(system, spawn_options{.name = "weir.sink." + one.name}, detail::run_sink, shared,
      detail::sink_parts{one.name, std::move(one.destination), one.policy, options.resume ? one.confirmed : options.confirmed,
        std::move(one.announce), on_opened, on_failing}));
  }
  auto from_here = opened->wait({options.resume ? options.resume : options.confirmed});
  if (!from_here) {
    for (const auto& one : sinks)
      one.kill();
    for (const auto& one : sinks)
      (void)one.wait();
    return std::move(from_here).error();
  }
  auto ingest = spawn(system, spawn_options{.name = "weir.ingest", .shielded = true}, detail::run_ingest, shared,
    detail::ingest_parts{std::move(options.from), std::move(options.store), std::move(lanes), from_here.value(),
      options.confirmed, options.limit, options.confirm_every});
  setbacks->watch(ingest);
  return pipeline{std::move(over), std::move(ingest), std::move(sinks), std::move(setbacks)};
}

void pipeline::request_stop() const {
  ingest_.request_stop();
}

void pipeline::abort() const {
  ingest_.kill();
  for (const auto& one : sinks_)
    one.kill();
}

result<void> pipeline::wait() {
  auto ended = ingest_.wait();
  if (auto why = setbacks_->why())
    ended = std::move(*why);
  if (!ended) {
    stream_.close(close_mode::abort);
    // A sink engine that waits for its next try would notice only then.
    for (const auto& one : sinks_)
      one.request_stop();
  }
  for (const auto& one : sinks_)
    if (auto sink_ended = one.wait(); !sink_ended && ended)
      ended = std::move(sink_ended);
  return ended;
}

std::optional<result<void>> pipeline::wait_for(std::chrono::milliseconds timeout) {
  if (!ingest_.wait_for(timeout))
    return std::nullopt;
  return wait();
}

} // namespace weir
