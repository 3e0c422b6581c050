#include <weir/channel.hpp>
#include <weir/cli/commands.hpp>
#include <weir/cli/console.hpp>
#include <weir/cli/endpoints.hpp>
#include <weir/cli/log.hpp>
#include <weir/cli/print.hpp>
#include <weir/cli/progress.hpp>
#include <weir/cli/scoreboard.hpp>
#include <weir/cli/signals.hpp>
#include <weir/cli/stores.hpp>
#include <weir/cli/summary.hpp>
#include <weir/cli/units.hpp>
#include <weir/durable.hpp>

#include "buses.hpp"
#include "configured.hpp"
#include "log_ports.hpp"

#include <boost/outcome/try.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>
#include <unistd.h>

namespace weir::cli {

namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

constexpr auto tick = 100ms;
constexpr auto time_between_log_lines = 5s;
constexpr auto time_for_last_hints = 2s;
constexpr auto time_to_reconnect = 1s; // a connection is tried again after 100 ms first
constexpr auto time_between_looks = 2ms;

std::chrono::milliseconds since(steady::time_point begun) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(steady::now() - begun);
}

/// Shows how a pipeline stands: in place on a terminal, and otherwise as a line in the log every few seconds, where anything
/// has changed.
class display {
public:
  display(console& screen, log& lines, const arguments& given)
    : screen_{screen},
      lines_{lines},
      is_live_{screen.is_terminal() && !given.quiet && !given.json} {}

  void show(const figures& now) {
    rate_.on(now.elapsed, now.changes);
    if (is_live_)
      return screen_.status(progress_line(now, rate_.per_second(), screen_.width().value_or(80)));
    if (now.elapsed < logged_.elapsed + time_between_log_lines)
      return;
    if (!now.same_but_for_time(logged_))
      lines_.info("running", progress_facts(now, rate_.per_second()));
    logged_ = now;
  }

  void end() { screen_.status({}); }

private:
  console& screen_;
  log& lines_;
  bool is_live_;
  rate_meter rate_;
  figures logged_;
};

/// One run, from the configuration to the summary.
class run {
public:
  explicit run(const arguments& given) : given_{given}, screen_{STDERR_FILENO}, log_{screen_, {given.json, given.quiet}} {
    told_.file = given.file.native();
  }

  exit_code execute() {
    // Before any other thread is started: they inherit what is blocked.
    const signal_watch signals{[this](int number, int count) { on_signal(number, count); }};
    attempt();
    tell();
    return told_.code;
  }

private:
  void on_signal(int number, int count) {
    if (count > 1) {
      screen_.abandon();
      ::_exit(number_of(exit_code::interrupted) + number);
    }
    signal_ = number;
  }

  void refuse(exit_code code, std::optional<error> failure, config_errors mistakes = {}) {
    told_.outcome = run_summary::outcomes::refused;
    told_.code = code;
    told_.failure = std::move(failure);
    told_.mistakes = std::move(mistakes);
  }

  void fail(exit_code code, error failure) {
    told_.outcome = run_summary::outcomes::failed;
    told_.code = code;
    told_.failure = std::move(failure);
  }

  void attempt() {
    auto found = configure_from(given_.file, true);
    if (found.read) {
      told_.pipeline = found.read->name;
      summary_to_stderr_ = std::ranges::any_of(
        found.read->sinks, [](const auto& one) { return std::holds_alternative<stdout_sink_options>(one.to); });
    }
    if (!found.is_sound())
      return refuse(found.code, std::move(found.failure), std::move(found.mistakes));
    auto state = state_directory::open(found.read->state, owner_of(*found.read));
    if (!state)
      return refuse(exit_code::state, std::move(state).error());
    run_in(*found.read, std::make_shared<state_directory>(std::move(state).value()));
  }

  /// The actor system ends, with everything in it, before this returns.
  void run_in(const config& read, std::shared_ptr<state_directory> state) {
    caf::actor_system_config settings;
    configure(settings, read.scheduler);
    caf::actor_system system{settings};
    auto lanes =
      read.stream.log ? open_durable(system, read, state->confirmed()) : open_channel(system, read, state->confirmed());
    if (!lanes)
      return fail(exit_code::failed, std::move(lanes).error());
    auto from = make_source(read);
    if (!from)
      return fail(exit_code::failed, std::move(from).error());
    if (auto opened = open_buses(system, read); !opened)
      return fail(exit_code::failed, std::move(opened).error());
    start(system, read, std::move(lanes).value(), std::move(from).value(), std::move(state));
    end_buses();
  }

  /// One for each place, however many sinks announce there.
  result<void> open_buses(caf::actor_system& system, const config& read) {
    for (const auto& one : read.sinks) {
      if (!one.announce || buses_.contains(one.announce->where))
        continue;
      BOOST_OUTCOME_TRY(auto opened, open_bus(system, one.announce->where, true));
      buses_.emplace(one.announce->where, watched_bus{std::move(opened)});
    }
    return success();
  }

  /// The pipeline's stream, and where it goes on.
  struct opened_lanes {
    stream over;
    std::optional<position> resume = {};
    std::map<std::string, std::optional<position>> floors = {}; // of each sink: what its lane won't bring again
  };

  static result<opened_lanes> open_channel(
    caf::actor_system& system, const config& read, const std::optional<position>& confirmed) {
    channel::options wanted;
    for (const auto& one : read.sinks)
      wanted.lanes.emplace_back(one.name);
    wanted.floor = confirmed;
    wanted.bound = {read.stream.items, read.stream.bytes};
    wanted.budget = read.stream.budget;
    wanted.collections = collections_of(read);
    BOOST_OUTCOME_TRY(auto over, channel::open(system, std::move(wanted)));
    return opened_lanes{std::move(over)};
  }

  result<opened_lanes> open_durable(caf::actor_system& system, const config& read, const std::optional<position>& confirmed) {
    BOOST_OUTCOME_TRY(auto log, open_stream_log(*read.stream.log));
    BOOST_OUTCOME_TRY(auto opened, durable::open(system, std::move(log), options_of_stream(read, confirmed)));
    if (lacks(opened.resume, confirmed))
      return behind_confirmed(read, *confirmed, opened.resume);
    opened_lanes made{opened.stream, opened.resume};
    for (const auto& lane : opened.lanes) {
      if (!lane.is_asked_for) {
        log_.info(fmt::format(
          "the stream's log has a lane {} that is no sink of this pipeline any more; it is dropped", to_string(lane.id)));
        BOOST_OUTCOME_TRY(opened.stream.retire_lane(lane.id));
        continue;
      }
      made.floors[lane.id.sink] = lane.floor;
      if (!lane.has_expired)
        continue;
      // The source brings again what was not confirmed to it; what was, and is gone, its sink has to fill up.
      log_.warning(fmt::format("what the lane {} lacks is gone from the stream's log; it begins anew behind {}",
        to_string(lane.id), lane.floor ? to_string(*lane.floor) : "nothing"));
      BOOST_OUTCOME_TRY(opened.stream.retire_lane(lane.id));
      BOOST_OUTCOME_TRY(opened.stream.add_lane(lane.id, lane.floor));
    }
    return made;
  }

  void start(caf::actor_system& system, const config& read, opened_lanes lanes, std::unique_ptr<source> from,
    std::shared_ptr<state_directory> state) {
    pipeline_options options;
    std::vector<std::string> names;
    std::optional<std::string> standard_output;
    for (const auto& one : read.sinks) {
      names.push_back(one.name);
      if (std::holds_alternative<stdout_sink_options>(one.to))
        standard_output = one.name;
      options.to.push_back({one.name, make_sink(read, one), one.policy, lanes.floors[one.name], announcing(one)});
    }
    const auto score = std::make_shared<scoreboard>(std::move(names), state->confirmed(), std::move(standard_output));
    auto positions = std::make_unique<directory_positions>(state);
    const auto state_failed = positions->failed();
    options.from = std::move(from);
    options.collections = collections_of(read);
    options.confirmed = state->confirmed();
    options.resume = lanes.resume;
    options.limit = {read.source.max_changes, read.source.max_bytes};
    options.store = std::move(positions);
    options.dead_letters = std::make_unique<file_dead_letters>(state->dead_letters());
    options.observer = score;
    tell_beginning(read, lanes.resume ? lanes.resume : state->confirmed());
    const auto begun = steady::now();
    auto started = pipeline::start(system, lanes.over, std::move(options));
    if (!started)
      return fail(exit_code::failed, std::move(started).error());
    auto ended = watch(started.value(), lanes.over, *score, begun);
    told_.elapsed = since(begun);
    told_.changes = score->changes();
    told_.dead_letters = score->dead_letters();
    told_.confirmed = score->confirmed();
    told_.written = score->written();
    if (!ended)
      return fail(*state_failed ? exit_code::state : exit_code::failed, std::move(ended).error());
    told_.outcome = drains_ ? run_summary::outcomes::drained : run_summary::outcomes::done;
  }

  /// What waits still goes out, where there is a server.
  void end_buses() {
    const auto begun = steady::now();
    for (const auto& [place, one] : buses_) {
      auto now = one.link.stats();
      for (; now.outgoing > 0 && steady::now() < begun + (now.trouble ? time_to_reconnect : time_for_last_hints);
        now = one.link.stats())
        std::this_thread::sleep_for(time_between_looks);
      if (now.unconfirmed > 0)
        log_.warning(fmt::format("{} the server has refused, or nobody knows whether it has them: their listeners are told",
          counted(now.unconfirmed, "hint", "hints")));
      if (now.outgoing == 0)
        continue;
      log_.warning(fmt::format("{} could not be published, because {}", counted(now.outgoing, "hint", "hints"),
                     now.trouble ? "the bus fails: " + now.trouble->sentence() : "the server does not answer"),
        now.trouble ? now.trouble->facts() : std::vector<error::fact>{});
    }
    buses_.clear();
  }

  std::optional<announce_options> announcing(const sink_config& one) const {
    if (!one.announce)
      return std::nullopt;
    return announce_options{buses_.at(one.announce->where).link, one.announce->topic, one.announce->per};
  }

  void tell_beginning(const config& read, const std::optional<position>& confirmed) {
    std::vector<std::pair<std::string, std::string>> facts{{"source", described_source(read)}};
    if (read.stream.log)
      facts.emplace_back("stream", described_stream(read));
    for (const auto& one : read.sinks)
      facts.emplace_back("sink." + one.name, described_sink(one));
    facts.emplace_back("from", confirmed ? to_string(*confirmed) : "the beginning");
    log_.info(fmt::format("the pipeline {} begins", read.name), std::move(facts));
  }

  /// Waits for the end, and meanwhile shows how it goes and passes a signal on.
  result<void> watch(pipeline& running, const stream& lanes, scoreboard& score, steady::time_point begun) {
    display shown{screen_, log_, given_};
    for (;;) {
      auto ended = running.wait_for(tick);
      for (auto& event : score.take_events())
        log_.write(std::move(event));
      if (ended) {
        shown.end();
        if (auto failure = score.final_failure())
          return std::move(*failure);
        return *std::move(ended);
      }
      if (score.final_failure())
        running.abort();
      tell_trouble("the stream's log", lanes.trouble(), log_fails_);
      for (auto& [place, one] : buses_)
        tell_trouble("the bus that is announced on", one.link.stats().trouble, one.fails);
      if (const auto number = signal_.load(); number != 0 && !drains_) {
        drains_ = true;
        log_.info(
          fmt::format("{}: reading no further, finishing what is under way; once more ends at once", name_of_signal(number)));
        running.request_stop();
      }
      shown.show(score.now(since(begun), lanes.figures()));
    }
  }

  /// When something begins to fail, and when it goes on.
  void tell_trouble(std::string_view what, const std::optional<error>& now, bool& fails) {
    if (now.has_value() == fails)
      return;
    fails = now.has_value();
    if (now)
      log_.warning(fmt::format("{} fails, and is tried again: {}", what, now->sentence()), now->facts());
    else
      log_.info(fmt::format("{} goes on", what));
  }

  void tell() {
    for (const auto& one : told_.mistakes)
      log_mistake(one);
    if (told_.failure)
      log_.failure(*told_.failure);
    if (told_.outcome == run_summary::outcomes::done)
      log_.info("done", facts_of(told_));
    else if (told_.outcome == run_summary::outcomes::drained)
      log_.info("drained", facts_of(told_));
    if (given_.json && summary_to_stderr_)
      write_all(STDERR_FILENO, to_json(told_) + "\n");
    else if (given_.json)
      told_.code = print(to_json(told_) + "\n", told_.code);
  }

  /// As `weir check` prints it, or as an entry of the log where that is JSON.
  void log_mistake(const config_error& one) {
    if (given_.json)
      log_.write({{}, severity::error, to_string(one, told_.file), {{"key", one.key}}});
    else
      screen_.line(to_string(one, told_.file));
  }

  const arguments& given_;
  console screen_;
  log log_;
  run_summary told_;
  std::atomic<int> signal_{0};
  bool drains_ = false;
  bool log_fails_ = false;
  bool summary_to_stderr_ = false;

  struct watched_bus {
    bus link;
    bool fails = false;
  };
  std::map<bus_place, watched_bus> buses_;
};

} // namespace

exit_code run_pipeline(const arguments& given) {
  return run{given}.execute();
}

} // namespace weir::cli
