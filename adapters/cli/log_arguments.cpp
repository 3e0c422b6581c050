#include <weir/cli/log_arguments.hpp>
#include <weir/cli/plain_text.hpp>
#include <weir/topic_name.hpp>

#include "command_line.hpp"
#include "log_command_table.hpp"

#include <boost/outcome/try.hpp>
#include <fmt/format.h>

#include <limits>

namespace weir::cli {

namespace {

constexpr auto description = "Creates, writes, reads and looks after a log in one SQLite file.";

constexpr auto footer = R"(Example:
  weir log create events.db
  echo hello | weir log append events.db
  weir log read events.db

Exit codes:
  0    done
  1    failed while running: a full disk, a line that is no entry, a damaged entry, a trim that nothing covers
  2    the command line is wrong, or names something that is not there or is not what it should be
  130  ended on the spot by a second Ctrl-C (143 by a second SIGTERM))";

constexpr std::uint64_t most_entries = std::uint64_t{1} << 62; // as many as offsets

result<std::optional<std::uint32_t>> shard_of(const given_options& given) {
  BOOST_OUTCOME_TRY(const auto number, given.number("--shard", 0, 4095));
  return number ? std::optional{static_cast<std::uint32_t>(*number)} : std::nullopt;
}

result<log_request> read_create(const given_options& given) {
  BOOST_OUTCOME_TRY(const auto shards, given.number("--shards", 1, 4096));
  BOOST_OUTCOME_TRY(const auto horizon, given.number("--dedupe-horizon", 1, std::uint64_t{1} << 40));
  return log_create{static_cast<std::uint32_t>(shards.value_or(1)), horizon};
}

result<log_request> read_append(const given_options& given) {
  BOOST_OUTCOME_TRY(const auto shard, shard_of(given));
  const auto key = given.text("--key");
  if (key && key->empty())
    return given_options::mistake("--key takes a key of one byte or more; leave it out for entries without one");
  return log_append{key.value_or(""), shard, given.has("--jsonl"), given.has("--offsets")};
}

result<log_request> read_reading(const given_options& given, bool follows) {
  BOOST_OUTCOME_TRY(const auto limit, given.number("--limit", 1, most_entries));
  BOOST_OUTCOME_TRY(const auto shard, shard_of(given));
  return log_read{given.text("--after"), limit, shard, follows};
}

result<log_request> read_trim(const given_options& given) {
  log_trim read{given.text("--through").value_or(""), given.has("--force"), {}};
  if (read.through.empty())
    return given_options::mistake("--through CURSOR is missing: it says which entries are to go");
  BOOST_OUTCOME_TRY(read.budget.entries, given.number("--hold-entries", 0, most_entries));
  BOOST_OUTCOME_TRY(read.budget.bytes, given.size("--hold-bytes"));
  BOOST_OUTCOME_TRY(read.budget.age, given.duration("--hold-age"));
  return read;
}

/// At most one of the options, which mean different actions.
result<void> exclude(const given_options& given, std::span<const std::string_view> options) {
  std::optional<std::string_view> first;
  for (const auto one : options)
    if (given.has(one)) {
      if (first)
        return given_options::mistake("{} and {} exclude each other", *first, one);
      first = one;
    }
  return success();
}

result<log_request> read_snapshot(const given_options& given) {
  constexpr std::array<std::string_view, 3> actions{"--at", "--list", "--read"};
  BOOST_OUTCOME_TRY(exclude(given, actions));
  BOOST_OUTCOME_TRY(const auto id, given.number("--read", 1, std::numeric_limits<std::int64_t>::max()));
  if (id)
    return log_snapshot_read{*id};
  if (given.has("--list"))
    return log_snapshot_list{};
  return log_snapshot{given.text("--at")};
}

result<log_request> read_checkpoints(const given_options& given) {
  constexpr std::array<std::string_view, 2> actions{"--drop", "--set"};
  BOOST_OUTCOME_TRY(exclude(given, actions));
  if (given.has("--set") != given.has("--to"))
    return given_options::mistake("--set CONSUMER and --to CURSOR belong together");
  if (auto consumer = given.text("--drop"))
    return log_checkpoint_drop{std::move(*consumer)};
  if (auto consumer = given.text("--set"))
    return log_checkpoint_set{std::move(*consumer), *given.text("--to")};
  return log_checkpoint_list{};
}

result<log_request> read_request(std::string_view command, const given_options& given) {
  if (command == "create")
    return read_create(given);
  if (command == "append")
    return read_append(given);
  if (command == "read" || command == "tail")
    return read_reading(given, command == "tail");
  if (command == "head")
    return log_head{};
  if (command == "trim")
    return read_trim(given);
  if (command == "snapshot")
    return read_snapshot(given);
  if (command == "checkpoints")
    return read_checkpoints(given);
  return log_scrub{command == "repair"};
}

constexpr command_family family{"weir log", description, footer, log_table::commands, "FILE", "The log's file",
  "the log's FILE is missing, as in \"{} events.db\""};

early_end misused(const given_command& given, const std::string& sentence) {
  return cli::misused(fmt::format("{} {}", family.name, given.row->name), sentence);
}

} // namespace

std::variant<log_arguments, early_end> parse_log_arguments(std::span<const std::string> given) {
  auto parsed = parse_subcommand(family, given);
  if (auto* end = std::get_if<early_end>(&parsed))
    return std::move(*end);
  const auto& read = std::get<given_command>(parsed);
  const auto& options = read.options;
  log_arguments asked{std::string{read.row->name}, read.operand, options.text("--topic"), options.has("--json"), {}};
  if (asked.topic)
    if (const auto valid = check_topic_name(*asked.topic); !valid)
      return misused(read, fmt::format("--topic {}: {}", in_quotes(*asked.topic), valid.error().sentence()));
  auto what = read_request(read.row->name, options);
  if (!what)
    return misused(read, what.error().sentence());
  asked.what = std::move(what).value();
  return asked;
}

} // namespace weir::cli
