#include "log_ports.hpp"

#include <weir/cli/endpoints.hpp>
#include <weir/configure.hpp>
#include <weir/log_rules.hpp>
#include <weir/spawn.hpp>

#if WEIR_HAS_SQLITE
#include <weir/sqlite_log.hpp>
#endif

#include <boost/outcome/try.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <utility>

namespace weir::cli {

namespace {

enum class opening { to_read, to_write, to_look };

#if WEIR_HAS_SQLITE
log_opener opener_of(const std::filesystem::path& path, opening how) {
  using ways = sqlite::log_options::opening;
  const auto way = how == opening::to_look   ? ways::look_first
                   : how == opening::to_read ? ways::must_exist
                                             : ways::create_if_missing;
  return [path, way] { return sqlite::open_log({.path = path, .how = way}); };
}
#else
log_opener opener_of(const std::filesystem::path&, opening) {
  return []() -> result<std::shared_ptr<log_store>> {
    return error{errc::unsupported, "this program was built without SQLite, in which logs are kept"};
  };
}
#endif

log_sink_options options_of(const log_sink_config& log, const std::string& pipeline, opening how) {
  return {opener_of(log.path, how), log.topic, pipeline};
}

task<result<void>> look_at_topic(self me, std::shared_ptr<log_store> store, std::string name) {
  auto finding = store->find_topic(me, std::move(name));
  auto found = co_await std::move(finding);
  result<void> fits = success();
  if (!found)
    fits = std::move(found).error();
  else if (const auto& known = found.value()->description(); known.shards != 1)
    fits = error{errc::layout_mismatch, "the topic " + known.name + " has " + std::to_string(known.shards) + " shards",
      {{"topic", known.name}}};
  co_return fits;
}

/// Runs a coroutine to its end, without a pipeline around it.
template <class F, class... Args>
auto run_alone(F function, Args... args) {
  caf::actor_system_config config;
  configure(config, {.policy = scheduler_policy::sharing, .threads = 2});
  caf::actor_system system{config};
  return sync_wait(system, function, std::move(args)...);
}

} // namespace

result<std::unique_ptr<source>> make_log_source(const log_source_config& log, const std::string& pipeline) {
  return std::unique_ptr<source>{std::make_unique<log_source>(log_source_options{opener_of(log.path, opening::to_read),
    log.topic, log.consumer.empty() ? pipeline : log.consumer, log.follow, log.format, log.collection, log.on_bad})};
}

std::unique_ptr<sink> make_log_sink(const log_sink_config& log, const std::string& pipeline) {
  return std::make_unique<log_sink>(options_of(log, pipeline, opening::to_write));
}

#if WEIR_HAS_SQLITE
result<std::shared_ptr<log_store>> open_stream_log(const durable_config& durable) {
  // As large a batch as there may be: what a source has read can't be refused any more.
  return sqlite::open_log({.path = durable.path, .largest_entry = sqlite::largest_entry_limit});
}
#else
result<std::shared_ptr<log_store>> open_stream_log(const durable_config& durable) {
  return opener_of(durable.path, opening::to_write)();
}
#endif

durable::options options_of_stream(const config& from, const std::optional<position>& confirmed) {
  durable::options wanted;
  for (const auto& one : from.sinks)
    wanted.lanes.emplace_back(one.name);
  wanted.floor = confirmed;
  wanted.bound = {from.stream.items, from.stream.bytes};
  wanted.collections = collections_of(from);
  wanted.log.topic = from.topic_of_stream();
  wanted.log.owner = from.name;
  wanted.log.floors = from.stream.log->floors;
  wanted.log.budget = from.stream.budget;
  wanted.log.retention = from.stream.log->retention;
  return wanted;
}

error behind_confirmed(const config& from, const position& confirmed, const std::optional<position>& stored) {
  const auto held = stored ? "everything up to " + to_string(*stored) : std::string{"nothing"};
  return error{errc::corrupt,
    "the stream's log holds " + held + ", less than was confirmed to the source, " + to_string(confirmed)
      + "; put back a newer one, or begin anew without it",
    {{"log", from.stream.log->path.native()}}};
}

result<durable::seen> look_at_stream_log(const config& from, const std::optional<position>& confirmed) {
  auto opened = opener_of(from.stream.log->path, opening::to_look)();
  if (!opened && !log_rules::is_nothing_yet(opened.error()))
    return std::move(opened).error();
  auto log = opened ? std::move(opened).value() : nullptr;
  BOOST_OUTCOME_TRY(auto seen, run_alone(durable::look, std::move(log), options_of_stream(from, confirmed)));
  if (lacks(seen.resume, confirmed))
    return behind_confirmed(from, *confirmed, seen.resume);
  return seen;
}

result<void> check_log_source(const log_source_config& log) {
  auto store = opener_of(log.path, opening::to_look)();
  if (!store)
    return std::move(store).error();
  return run_alone(look_at_topic, std::move(store).value(), log.topic);
}

result<sink_state> check_log_sink(const log_sink_config& log, const std::string& pipeline) {
  return run_alone(look_at_log_sink, options_of(log, pipeline, opening::to_look));
}

} // namespace weir::cli
