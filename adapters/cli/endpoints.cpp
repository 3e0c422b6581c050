#include <weir/cli/endpoints.hpp>
#include <weir/cli/plain_text.hpp>

#include "buses.hpp"
#include "cross_check.hpp"
#include "log_ports.hpp"
#include "shared_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <system_error>

namespace weir::cli {

namespace {

template <class... F>
struct overloaded : F... {
  using F::operator()...;
};

std::string real_path(const std::filesystem::path& path) {
  std::error_code failure;
  auto real = std::filesystem::weakly_canonical(path, failure);
  return failure ? path.native() : real.native();
}

/// The sentence, with the reason that the operating system or a child process gave.
std::string sentence_of(const error& why) {
  auto sentence = why.sentence();
  for (const auto* fact : {"reason", "stderr", "said"})
    if (const auto said = why.fact_of(fact); !said.empty() && sentence.find(said) == std::string::npos)
      sentence.append(": ").append(said);
  return sentence;
}

config_error at_key(const config& from, std::string key, const error& why, std::string expected) {
  const auto where = from.where(key);
  return {where, std::move(key), sentence_of(why), std::move(expected)};
}

/// Which key of [source] names what is wrong, and what should stand there.
config_error source_error(const config& from, const error& why) {
  if (std::holds_alternative<jsonl_source_options>(from.source.from))
    return at_key(from, "source.path", why, "a file that can be read");
  if (std::holds_alternative<log_source_config>(from.source.from))
    return why == errc::unknown_topic || why == errc::layout_mismatch
             ? at_key(from, from.places.contains("source.topic") ? "source.topic" : "source.path", why,
                 "a topic of one shard that is there")
             : at_key(from, "source.path", why, "a log that can be read and written");
  if (!why.fact_of("program").empty())
    return at_key(from, "source.type", why, "the program git in PATH");
  if (!why.fact_of("ref").empty() || why.fact_of("option") == "ref")
    return at_key(from, from.places.contains("source.ref") ? "source.ref" : "source.repository", why,
      "a branch, a tag or another name of a commit that is there");
  return at_key(from, "source.repository", why, "the path of a Git repository that can be read");
}

/// Which key of [stream] names what is wrong, and what should stand there.
config_error stream_error(const config& from, const error& why) {
  if (why == errc::corrupt_entry)
    return at_key(from, "stream.log.path", why, "a log without damage, or one in which \"weir log repair\" gave that up");
  const auto names_topic = !why.fact_of("topic").empty() || why.fact_of("option") == "topic";
  if (names_topic && from.places.contains("stream.log.topic"))
    return at_key(from, "stream.log.topic", why, "a topic that is this pipeline's alone, or none yet");
  return at_key(from, "stream.log.path", why, "a log that this pipeline may create and write");
}

config_error sink_error(const config& from, std::size_t index, const error& why) {
  if (!why.fact_of("collection").empty() && from.places.contains("source.collection")) {
    const auto expected = why.fact_of("expected");
    return at_key(from, "source.collection", why, expected.empty() ? "a name that every sink can take" : std::string{expected});
  }
  return at_key(from, path_of_sink(index) + ".path", why, "a file that this pipeline may create and write");
}

jsonl_sink_options complete(jsonl_sink_options options, const config& from) {
  options.pipeline = from.name;
  return options;
}

sqlite_sink_options complete(sqlite_sink_options options, const config& from, const sink_config& one) {
  options.pipeline = from.name;
  options.lane = one.name;
  options.collections = collections_of(from);
  return options;
}

#if WEIR_HAS_SQLITE
result<sink_state> check_sqlite(const sqlite_sink_options& options) {
  return check(options);
}
std::unique_ptr<sink> make_sqlite(sqlite_sink_options options) {
  return std::make_unique<sqlite_sink>(std::move(options));
}
#else
result<sink_state> check_sqlite(const sqlite_sink_options&) {
  return error{errc::unsupported, "this program was built without SQLite"};
}
std::unique_ptr<sink> make_sqlite(const sqlite_sink_options&) {
  return nullptr; // never comes here: the check has refused it
}
#endif

result<sink_state> look_at_sink(const config& from, const sink_config& one) {
  return std::visit(overloaded{
                      [&](const sqlite_sink_options& options) { return check_sqlite(complete(options, from, one)); },
                      [&](const jsonl_sink_options& options) { return check(complete(options, from)); },
                      [](const stdout_sink_options&) -> result<sink_state> { return sink_state{}; },
                      [&](const log_sink_config& log) { return check_log_sink(log, from.name); },
                    },
    one.to);
}

/// Whatever is removed must be what nobody else needs: a log that counts as the floor has what sinks still lack.
std::string advice(const config& from, const position& lacked) {
  auto text = "what it held at " + to_string(lacked);
  if (from.stream.log && from.stream.log->floors == lane_floors::log)
    return text;
  text += "; or no " + in_quotes((from.state / "position.json").native());
  if (from.stream.log)
    text += " and no " + in_quotes(from.stream.log->path.native());
  return text + ", so that everything is read again";
}

std::optional<config_error> check_sink(const config& from, std::size_t index, const std::optional<position>& confirmed) {
  const auto& one = from.sinks[index];
  const auto looked = look_at_sink(from, one);
  if (!looked)
    return sink_error(from, index, looked.error());
  const bool is_filled_anew = std::holds_alternative<sqlite_sink_options>(one.to) && !collections_of(from).empty();
  if (is_filled_anew || !looked.value().lacks(confirmed))
    return std::nullopt;
  const auto& held = looked.value().committed;
  const auto key = path_of_sink(index) + ".path";
  return config_error{from.where(key), key,
    fmt::format("{} holds {}, less than was confirmed to the source, and the rest will not come again", described_sink(one),
      held ? "everything up to " + to_string(*held) : "nothing"),
    advice(from, *confirmed)};
}

/// A server that can't be reached is none that is wrong: hints wait for it, for a while.
void check_buses(const config& from, config_errors& into) {
  std::map<bus_place, result<void>> known;
  for (std::size_t index = 0; index < from.sinks.size(); ++index) {
    const auto& announce = from.sinks[index].announce;
    if (!announce)
      continue;
    auto found = known.find(announce->where);
    if (found == known.end())
      found = known.emplace(announce->where, check_bus(announce->where, true)).first;
    if (!found->second)
      into.push_back(at_key(
        from, path_of_sink(index) + ".announce.bus", found->second.error(), "a PostgreSQL 13 or later that carries a bus"));
  }
}

/// What a sink will not get any more: up to where its lane begins, or where it has none, what was confirmed.
std::optional<position> gone_for(
  const durable::seen& stream, const std::string& sink, const std::optional<position>& confirmed) {
  const auto lane = std::ranges::find(stream.lanes, lane_id{sink}, &durable::opened_lane::id);
  return lane == stream.lanes.end() ? confirmed : lane->floor;
}

} // namespace

result<std::unique_ptr<source>> make_source(const config& from) {
  return std::visit(
    overloaded{
      [](const git_options& options) -> result<std::unique_ptr<source>> {
        auto made = git_source::make(options);
        if (!made)
          return std::move(made).error();
        return std::unique_ptr<source>{std::move(made).value()};
      },
      [](const jsonl_source_options& options) -> result<std::unique_ptr<source>> {
        return std::unique_ptr<source>{std::make_unique<jsonl_source>(options)};
      },
      [&](const log_source_config& log) -> result<std::unique_ptr<source>> { return make_log_source(log, from.name); },
    },
    from.source.from);
}

std::unique_ptr<sink> make_sink(const config& from, const sink_config& one) {
  return std::visit(
    overloaded{
      [&](const sqlite_sink_options& options) { return make_sqlite(complete(options, from, one)); },
      [&](const jsonl_sink_options& options) -> std::unique_ptr<sink> {
        return std::make_unique<jsonl_sink>(complete(options, from));
      },
      [](const stdout_sink_options& options) -> std::unique_ptr<sink> { return std::make_unique<stdout_sink>(options); },
      [&](const log_sink_config& log) { return make_log_sink(log, from.name); },
    },
    one.to);
}

std::vector<std::string> collections_of(const config& from) {
  if (const auto* git = std::get_if<git_options>(&from.source.from))
    return {git->collection};
  return {};
}

state_owner owner_of(const config& from) {
  state_owner owner{from.name, {}};
  if (const auto* git = std::get_if<git_options>(&from.source.from))
    owner.source = {
      {"type", "git"}, {"repository", real_path(git->repository)}, {"ref", git->ref}, {"collection", git->collection}};
  else if (const auto* jsonl = std::get_if<jsonl_source_options>(&from.source.from))
    owner.source = {{"type", "jsonl"}, {"path", jsonl->path == "-" ? "-" : real_path(jsonl->path)}};
  else if (const auto* log = std::get_if<log_source_config>(&from.source.from))
    owner.source = {{"type", "log"}, {"path", real_path(log->path)}, {"topic", log->topic}};
  return owner;
}

config_errors check_source(const config& from) {
  const auto checked = std::visit(overloaded{
                                    [](const auto& options) { return check(options); },
                                    [](const log_source_config& log) { return check_log_source(log); },
                                  },
    from.source.from);
  return checked ? config_errors{} : config_errors{source_error(from, checked.error())};
}

config_errors check_endpoints(const config& from, const std::optional<position>& confirmed) {
  auto errors = check_source(from);
  auto shared = compare_files(from);
  std::optional<durable::seen> stream = durable::seen{};
  if (from.stream.log && std::ranges::find(shared, "stream.log.path", &config_error::key) == shared.end()) {
    auto looked = look_at_stream_log(from, confirmed);
    if (!looked)
      errors.push_back(stream_error(from, looked.error()));
    stream = looked ? std::optional{std::move(looked).value()} : std::nullopt;
  }
  for (std::size_t index = 0; index < from.sinks.size(); ++index) {
    if (std::ranges::find(shared, path_of_sink(index) + ".path", &config_error::key) != shared.end())
      continue; // whatever that file is, it is not this sink's
    if (auto wrong = check_sink(from, index, stream ? gone_for(*stream, from.sinks[index].name, confirmed) : std::nullopt))
      errors.push_back(std::move(*wrong));
  }
  std::ranges::move(shared, std::back_inserter(errors));
  check_buses(from, errors);
  return in_order(std::move(errors));
}

std::string described_source(const config& from) {
  return std::visit(
    overloaded{
      [](const git_options& options) { return fmt::format("git {} at {}", options.repository, options.ref); },
      [](const jsonl_source_options& options) {
        return "jsonl " + (options.path == "-" ? "from standard input" : options.path.native());
      },
      [](const log_source_config& log) { return fmt::format("log {}, topic {}", log.path.native(), log.topic); },
    },
    from.source.from);
}

std::string described_stream(const config& from) {
  if (!from.stream.log)
    return "channel";
  return fmt::format("durable in {}, topic {}", from.stream.log->path.native(), from.topic_of_stream());
}

std::string described_sink(const sink_config& one) {
  auto text =
    std::visit(overloaded{
                 [](const sqlite_sink_options& options) { return "sqlite " + options.path.native(); },
                 [](const jsonl_sink_options& options) { return "jsonl " + options.path.native(); },
                 [](const stdout_sink_options&) { return std::string{"stdout"}; },
                 [](const log_sink_config& log) { return fmt::format("log {}, topic {}", log.path.native(), log.topic); },
               },
      one.to);
  if (one.announce)
    text += ", announced on " + one.announce->topic;
  return text;
}

} // namespace weir::cli
