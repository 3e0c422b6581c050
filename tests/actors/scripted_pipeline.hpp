#pragma once

#include <weir/channel.hpp>
#include <weir/detail/engines.hpp>

#include "actors/scripted_ends.hpp"

#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace actor_tests {

struct pipeline_settings {
  std::vector<std::string> sinks = {"a"};
  weir::lane_bound bound = {};
  std::vector<std::string> collections = {"files"};
  std::optional<weir::position> confirmed = {};
  bool has_letters = true;
  std::optional<weir::announce_options> announce = {}; ///< of every sink
};

/// The engines of one pipeline over a channel, wired as pipeline::start() does it, without its blocking waits.
class scripted_pipeline {
public:
  explicit scripted_pipeline(simulation& world, pipeline_settings settings = {})
    : log{std::make_shared<call_log>(world)},
      letters{std::make_shared<scripted_letters>(log)},
      over{open(world, settings)},
      world_{&world},
      settings_{std::move(settings)},
      shared_{std::make_shared<const weir::detail::pipeline_parts>(weir::detail::pipeline_parts{
        over, settings_.collections, settings_.has_letters ? letters : nullptr, std::make_shared<logging_observer>(log)})} {
    for (const auto& name : settings_.sinks)
      scripts_.emplace(name, std::make_shared<sink_script>());
  }

  ~scripted_pipeline() {
    if (ingest)
      ingest->kill();
    for (const auto& [name, engine] : engines_)
      engine.kill();
  }
  scripted_pipeline(const scripted_pipeline&) = delete;
  scripted_pipeline& operator=(const scripted_pipeline&) = delete;

  sink_script& sink(const std::string& name = "a") { return *scripts_.at(name); }

  void start_sink(const std::string& name = "a", weir::sink_policy policy = {}) {
    const auto log_opened = [this, name](weir::result<weir::sink_state> outcome) {
      opened.push_back(outcome ? std::optional<weir::error>{} : std::optional{std::move(outcome).error()});
    };
    const auto log_failing = [this](const std::string& sink, weir::error why) {
      log->add("failing " + sink + " " + std::string{name_of(why.code())});
    };
    const auto script = scripts_.try_emplace(name, std::make_shared<sink_script>()).first->second;
    engines_.emplace(
      name, weir::spawn(world_->system(), weir::spawn_options{.name = "weir.sink." + name}, weir::detail::run_sink, shared_,
              weir::detail::sink_parts{name, std::make_shared<scripted_sink>(name, log, script), policy, settings_.confirmed,
                settings_.announce, log_opened, log_failing}));
  }

  void start_ingest() {
    ingest = weir::spawn(world_->system(), weir::spawn_options{.name = "weir.ingest", .shielded = true},
      weir::detail::run_ingest, shared_,
      weir::detail::ingest_parts{std::make_shared<scripted_source>(log, source), std::make_shared<scripted_store>(log, saves),
        settings_.sinks, weir::resume_point{settings_.confirmed, std::nullopt}, settings_.confirmed, {},
        std::chrono::milliseconds{200}});
  }

  /// All engines, with everything let happen that can.
  void start() {
    for (const auto& name : settings_.sinks)
      start_sink(name);
    world_->settle();
    start_ingest();
    world_->settle();
  }

  /// The source brings this.
  void feed(weir::reading one) { source->reads->next(std::optional<weir::reading>{std::move(one)}); }
  void feed(std::uint64_t epoch, std::initializer_list<std::uint64_t> seqs) {
    for (const auto seq : seqs)
      feed(read_of(epoch, seq));
  }
  void end_source() { source->reads->next(std::optional<weir::reading>{}); }

  /// Publishes to a lane that no ingest engine feeds, and lets everything happen that can.
  void publish(std::vector<weir::lane_item> items) {
    (void)outside().begin(&belongings::publish, mine_, std::move(items));
    world_->settle();
  }
  void publish(std::uint64_t epoch, std::initializer_list<std::uint64_t> seqs) {
    std::vector<weir::lane_item> items;
    for (const auto seq : seqs)
      items.push_back(core_tests::live_with(core_tests::position_at(epoch, seq), 10));
    publish(std::move(items));
  }

  /// A backfill that a sink asks for, published from outside.
  void ask(std::uint64_t number, const std::string& sink, std::optional<weir::position> not_before = {}) {
    weir::request asked{weir::request_id{0, number}, sink, {"files"}, std::nullopt, std::move(not_before)};
    REQUIRE(over.requests().producer().publish(std::move(asked)).has_value());
  }

  /// The next request that a sink engine published, if there is one; its lease is kept.
  std::optional<weir::request> next_request() {
    auto receiving = outside().begin(&belongings::receive, mine_);
    world_->settle();
    if (!receiving.is_done()) {
      receiving.request_stop();
      world_->settle();
    }
    return receiving.value();
  }

  weir::lane_figures figures(const std::string& lane = "a") const {
    for (const auto& one : over.figures().lanes)
      if (one.id == weir::lane_id{lane})
        return one;
    return {weir::lane_id{lane}};
  }

  const weir::spawned& engine(const std::string& name = "a") const { return engines_.at(name); }
  bool has_ended(const std::string& name = "a") const { return engine(name).wait_for({}).has_value(); }
  std::optional<weir::result<void>> outcome() const { return ingest->wait_for({}); }

  /// Why the ingest engine ended; absent while it runs, and when it succeeded.
  std::optional<weir::errc> fault() const {
    const auto ended = outcome();
    return ended && !*ended ? std::optional{ended->error().code()} : std::nullopt;
  }
  bool has_succeeded() const {
    const auto ended = outcome();
    return ended && *ended;
  }

  std::shared_ptr<call_log> log;
  std::shared_ptr<scripted_letters> letters;
  std::shared_ptr<source_script> source = std::make_shared<source_script>();
  shared_answers<void> saves = agreeing();
  weir::stream over;
  std::optional<weir::spawned> ingest;
  std::vector<std::optional<weir::error>> opened; ///< one for each call of on_opened

private:
  /// What the actor that stands for the outside uses: ends belong to one actor, and end with it.
  struct belongings {
    weir::producer<weir::lane_item> out;
    weir::consumer<weir::request> in;
    std::vector<weir::delivery<weir::request>> held; // go before their consumer

    static weir::task<bool> publish(weir::self, belongings* mine, std::vector<weir::lane_item> items) {
      bool all = true;
      for (auto& one : items) {
        auto publishing = mine->out.publish(std::move(one));
        auto published = co_await publishing;
        all = all && published;
      }
      co_return all;
    }
    static weir::task<std::optional<weir::request>> receive(weir::self, belongings* mine) {
      auto receiving = mine->in.receive();
      auto received = co_await receiving;
      std::optional<weir::request> asked;
      if (received) {
        asked = received.value().item();
        mine->held.push_back(std::move(received).value());
      }
      co_return asked;
    }
  };

  script& outside() {
    if (!outside_) {
      auto mine = std::make_shared<belongings>(
        belongings{over.lane(settings_.sinks.front()).value().producer(), over.requests().consumer(), {}});
      mine_ = mine.get();
      outside_.emplace(*world_, "outside", std::move(mine));
    }
    return *outside_;
  }

  static weir::stream open(simulation& world, const pipeline_settings& settings) {
    weir::channel::options wanted;
    wanted.lanes.assign(settings.sinks.begin(), settings.sinks.end());
    wanted.floor = settings.confirmed;
    wanted.bound = settings.bound;
    auto opened = weir::channel::open(world.system(), std::move(wanted));
    REQUIRE(opened.has_value());
    return std::move(opened).value();
  }

  simulation* world_;
  pipeline_settings settings_;
  std::shared_ptr<const weir::detail::pipeline_parts> shared_;
  std::map<std::string, std::shared_ptr<sink_script>> scripts_;
  std::map<std::string, weir::spawned> engines_;
  std::optional<script> outside_;
  belongings* mine_ = nullptr; // the actor's
};

} // namespace actor_tests
