#include "config_tables.hpp"

#include <weir/cli/plain_text.hpp>
#include <weir/cli/units.hpp>
#include <weir/topic_name.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace weir::cli {

namespace {

using std::string_view_literals::operator""sv;

constexpr std::uint64_t kib = 1U << 10U;
constexpr std::uint64_t gib = 1U << 30U;

constexpr std::array source_types{"git"sv, "jsonl"sv, "log"sv};
constexpr std::array sink_types{"sqlite"sv, "jsonl"sv, "stdout"sv, "log"sv};
constexpr std::array stream_types{"channel"sv, "durable"sv};
constexpr std::array stream_logs{"sqlite"sv};
constexpr std::array floors{"sink"sv, "log"sv};
constexpr std::array log_formats{"changes"sv, "entries"sv};
constexpr std::array policies{"stop"sv, "dead-letter"sv};
constexpr std::array announced_per{"key"sv, "batch"sv};
constexpr std::array pipe_policies{"refuse"sv, "new-epoch"sv, "skip-confirmed"sv};
constexpr std::array scheduling_policies{"stealing"sv, "sharing"sv};

/// Letters, digits and "._-", the first a letter or a digit: what a lane, a table and a file can all be called.
bool is_plain_name(std::string_view name) noexcept {
  const auto plain = [](unsigned char one) {
    return (one >= 'a' && one <= 'z') || (one >= 'A' && one <= 'Z') || (one >= '0' && one <= '9');
  };
  return !name.empty() && name.size() <= 64 && plain(static_cast<unsigned char>(name[0]))
         && std::ranges::all_of(name, [&](unsigned char one) { return plain(one) || one == '.' || one == '_' || one == '-'; });
}

git_options read_git_source(table_reader& reader, const std::filesystem::path& directory) {
  git_options git;
  constexpr auto expected_repository = "the path of a Git repository"sv;
  reader.require("repository", expected_repository);
  if (auto given = read_path(reader, "repository", expected_repository, directory))
    git.repository = given->native();
  constexpr auto expected_ref = "a branch, a tag or another name of a commit, such as \"main\" or \"HEAD\""sv;
  if (auto given = reader.text("ref", expected_ref)) {
    if (given->starts_with("-"))
      reader.fail("ref", in_quotes(*given) + " begins with \"-\"", std::string{expected_ref});
    git.ref = std::move(*given);
  }
  constexpr auto expected_collection = "up to 64 letters, digits and \"._-\", such as \"files\""sv;
  if (auto given = reader.text("collection", expected_collection)) {
    if (!is_plain_name(*given))
      reader.fail("collection", in_quotes(*given) + " is not a collection's name", std::string{expected_collection});
    git.collection = std::move(*given);
  }
  return git;
}

jsonl_source_options read_jsonl_source(table_reader& reader, const std::filesystem::path& directory) {
  jsonl_source_options jsonl;
  constexpr auto expected_path = "the path of a file of JSON lines, or \"-\" for standard input"sv;
  reader.require("path", expected_path);
  if (!reader.is("path", "-"))
    jsonl.path = read_path(reader, "path", expected_path, directory).value_or("");
  if (reader.choice("on_bad_record", policies) == "dead-letter")
    jsonl.on_bad = bad_record_policy::dead_letter;
  if (const auto given = reader.choice("on_restart", pipe_policies)) {
    if (*given == "new-epoch")
      jsonl.on_restart = pipe_restart::new_epoch;
    else if (*given == "skip-confirmed")
      jsonl.on_restart = pipe_restart::skip_confirmed;
  }
  if (const auto given = reader.size("max_line", kib, gib))
    jsonl.max_line = *given;
  return jsonl;
}

constexpr auto expected_log = "the path of a log, which is a SQLite file"sv;

/// A topic's or a consumer's name, where it is given.
void read_log_name(table_reader& reader, std::string_view key, std::string& name) {
  constexpr auto expected = "1 to 249 bytes of UTF-8 without NUL"sv;
  auto given = reader.text(key, expected);
  if (!given)
    return;
  if (!check_topic_name(*given))
    reader.fail(key, in_quotes(*given) + " is not a name", std::string{expected});
  name = std::move(*given);
}

log_source_config read_log_source(table_reader& reader, const std::filesystem::path& directory) {
  log_source_config log;
  reader.require("path", expected_log);
  log.path = read_path(reader, "path", expected_log, directory).value_or("");
  read_log_name(reader, "topic", log.topic);
  read_log_name(reader, "consumer", log.consumer);
  if (reader.choice("format", log_formats) == "entries")
    log.format = log_format::entries;
  constexpr auto expected_collection = "up to 64 letters, digits and \"._-\", such as \"entries\""sv;
  if (auto given = reader.text("collection", expected_collection)) {
    if (!is_plain_name(*given))
      reader.fail("collection", in_quotes(*given) + " is not a collection's name", std::string{expected_collection});
    else if (log.format == log_format::changes)
      reader.fail("collection", "has no effect where entries are changes, which name their collections",
        "format = \"entries\" in the same table, or no collection");
    log.collection = std::move(*given);
  }
  if (const auto given = reader.choice("on_bad_record", policies)) {
    if (log.format == log_format::entries)
      reader.fail("on_bad_record", "has no effect where every entry is taken as it is",
        "format = \"changes\" in the same table, or no on_bad_record");
    else if (*given == "dead-letter")
      log.on_bad = bad_record_policy::dead_letter;
  }
  return log;
}

durable_config read_durable(table_reader& reader, const std::filesystem::path& directory, reading_notes& notes) {
  durable_config durable;
  reader.require("log", "a table such as {type = \"sqlite\", path = \"lanes.db\"}");
  if (const auto* table = reader.table("log")) {
    table_reader log{*table, "stream.log", "stream.log", notes};
    log.require("type", one_of(stream_logs));
    log.choice("type", stream_logs); // for the check alone: there is one kind so far
    log.require("path", expected_log);
    durable.path = read_path(log, "path", expected_log, directory).value_or("");
    read_log_name(log, "topic", durable.topic);
    log.refuse_unknown_keys(std::nullopt);
  }
  if (reader.choice("floor", floors) == "log")
    durable.floors = lane_floors::log;
  durable.retention.bytes = reader.size("retain_bytes", 1U << 20U, 1024 * 1024 * gib);
  durable.retention.age = reader.duration("retain_age", std::chrono::seconds{1}, std::chrono::days{3650});
  return durable;
}

void read_policy(table_reader& reader, sink_policy& policy) {
  const auto on_failure = reader.choice("on_failure", policies);
  if (on_failure == "dead-letter")
    policy.on_failure = failure_policy::dead_letter;
  if (const auto given = reader.number("dead_letter_after", 1, 1'000'000)) {
    policy.failures_before_dead_letter = static_cast<std::uint32_t>(*given);
    if (on_failure == "stop" || !reader.has("on_failure"))
      reader.fail("dead_letter_after", "has no effect without on_failure = \"dead-letter\"",
        "on_failure = \"dead-letter\" in the same table, or no dead_letter_after");
  }
  constexpr auto shortest = std::chrono::milliseconds{1};
  constexpr auto longest = std::chrono::milliseconds{std::chrono::hours{24}};
  const auto least = reader.duration("backoff_min", shortest, longest);
  const auto most = reader.duration("backoff_max", shortest, longest);
  // One that is not given makes room for the other.
  policy.first_pause = least.value_or(std::min(policy.first_pause, most.value_or(longest)));
  policy.longest_pause = most.value_or(std::max(policy.longest_pause, policy.first_pause));
  if (policy.first_pause > policy.longest_pause)
    reader.fail("backoff_min", fmt::format("{} is longer than backoff_max", in_quotes(exact_duration(policy.first_pause))),
      fmt::format("at most {}", in_quotes(exact_duration(policy.longest_pause))));
}

announce_config read_announce(table_reader& reader) {
  announce_config read;
  constexpr auto expected_bus = "a URL such as \"postgres://localhost/app\""sv;
  reader.require("bus", expected_bus);
  if (auto given = reader.text("bus", expected_bus)) {
    if (const auto valid = check_bus_url(*given); !valid)
      reader.fail("bus", valid.error().sentence(), std::string{expected_bus});
    read.where.url = std::move(*given);
  }
  constexpr auto expected_topic = "1 to 256 bytes of UTF-8 without NUL, such as \"changed/{collection}\""sv;
  reader.require("topic", expected_topic);
  if (auto given = reader.text("topic", expected_topic)) {
    if (const auto valid = check_announced_topic(*given); !valid)
      reader.fail("topic", valid.error().sentence(), std::string{expected_topic});
    read.topic = std::move(*given);
  }
  if (reader.choice("per", announced_per) == "batch")
    read.per = announce_per::batch;
  constexpr auto expected_channel = "1 to 63 bytes of UTF-8 without NUL"sv;
  if (auto given = reader.text("channel", expected_channel)) {
    if (!check_bus_channel(*given))
      reader.fail("channel", in_quotes(*given) + " is not a channel's name", std::string{expected_channel});
    read.where.channel = std::move(*given);
  }
  reader.refuse_unknown_keys(std::nullopt);
  return read;
}

} // namespace

std::optional<std::string> read_name(table_reader& reader, std::string_view example) {
  const auto expected =
    fmt::format("up to 64 letters, digits and \"._-\", beginning with a letter or a digit, such as {}", in_quotes(example));
  reader.require("name", expected);
  auto given = reader.text("name", expected);
  if (given && !is_plain_name(*given)) {
    reader.fail("name", in_quotes(*given) + " is not a name", expected);
    return std::nullopt;
  }
  return given;
}

std::optional<std::filesystem::path> read_path(
  table_reader& reader, std::string_view key, std::string_view expected, const std::filesystem::path& directory) {
  const auto given = reader.text(key, expected);
  if (!given)
    return std::nullopt;
  if (given->starts_with("~")) {
    reader.fail(key, in_quotes(*given) + " begins with \"~\", which is not expanded",
      fmt::format("{}, absolute or relative to the configuration file", expected));
    return std::nullopt;
  }
  if (given->find("://") != std::string::npos) {
    reader.fail(key, in_quotes(*given) + " is a URL", fmt::format("{} on this machine", expected));
    return std::nullopt;
  }
  auto path = (directory / *given).lexically_normal();
  // "x/" and "x/." are x.
  return path.has_filename() || !path.has_relative_path() ? path : path.parent_path();
}

void read_source(table_reader& reader, const std::filesystem::path& directory, source_config& source) {
  reader.require("type", one_of(source_types));
  const auto type = reader.choice("type", source_types);
  const auto follow = reader.flag("follow").value_or(false);
  if (const auto given = reader.number("max_changes", 1, 65'536))
    source.max_changes = *given;
  if (const auto given = reader.size("max_bytes", kib, gib))
    source.max_bytes = *given;
  if (type == "git") {
    auto git = read_git_source(reader, directory);
    git.follow = follow;
    source.from = std::move(git);
  } else if (type == "jsonl") {
    auto jsonl = read_jsonl_source(reader, directory);
    jsonl.follow = follow;
    source.from = std::move(jsonl);
  } else if (type == "log") {
    auto log = read_log_source(reader, directory);
    log.follow = follow;
    source.from = std::move(log);
  }
  reader.refuse_unknown_keys(type);
}

void read_stream(table_reader& reader, const std::filesystem::path& directory, reading_notes& notes, stream_config& stream) {
  const auto type = reader.choice("type", stream_types);
  if (type == "durable")
    stream.log = read_durable(reader, directory, notes);
  if (const auto given = reader.number("items", 1, 1'048'576))
    stream.items = *given;
  if (const auto given = reader.size("bytes", 4 * kib, 64 * gib))
    stream.bytes = *given;
  if (const auto given = reader.size("budget", 4 * kib, 64 * gib))
    stream.budget = *given;
  reader.refuse_unknown_keys(reader.has("type") ? type : "channel");
}

sink_config read_sink(table_reader& reader, const std::filesystem::path& directory, reading_notes& notes) {
  sink_config sink;
  if (auto given = read_name(reader, "audit"))
    sink.name = std::move(*given);
  reader.require("type", one_of(sink_types));
  const auto type = reader.choice("type", sink_types);
  if (type == "sqlite") {
    constexpr auto expected = "the path of a SQLite database"sv;
    reader.require("path", expected);
    sink.to = sqlite_sink_options{read_path(reader, "path", expected, directory).value_or("")};
  } else if (type == "jsonl") {
    constexpr auto expected = "the path of a file to append JSON lines to"sv;
    reader.require("path", expected);
    sink.to = jsonl_sink_options{read_path(reader, "path", expected, directory).value_or("")};
  } else if (type == "stdout") {
    sink.to = stdout_sink_options{};
  } else if (type == "log") {
    log_sink_config log;
    reader.require("path", expected_log);
    log.path = read_path(reader, "path", expected_log, directory).value_or("");
    read_log_name(reader, "topic", log.topic);
    sink.to = std::move(log);
  }
  read_policy(reader, sink.policy);
  if (const auto* table = reader.table("announce")) {
    table_reader announce{*table, "sink.announce", reader.path_of("announce"), notes};
    sink.announce = read_announce(announce);
  }
  reader.refuse_unknown_keys(type);
  return sink;
}

void read_scheduler(table_reader& reader, scheduler_settings& scheduler) {
  if (const auto given = reader.number("threads", 1, 256))
    scheduler.threads = static_cast<unsigned>(*given);
  if (const auto given = reader.choice("policy", scheduling_policies))
    scheduler.policy = *given == "sharing" ? scheduler_policy::sharing : scheduler_policy::stealing;
  reader.refuse_unknown_keys(std::nullopt);
}

} // namespace weir::cli
