#include <weir/cli/log_arguments.hpp>
#include <weir/cli/plain_text.hpp>
#include <weir/cli/units.hpp>
#include <weir/topic_name.hpp>

#include "command_line.hpp"
#include "log_command_table.hpp"

#include <boost/outcome/try.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>

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

/// A command's options as they were given, flags included.
class given_options {
public:
  void add(std::string_view name, std::string value) { values_.emplace(name, std::move(value)); }

  bool has(std::string_view name) const { return values_.contains(name); }

  std::optional<std::string> text(std::string_view name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? std::nullopt : std::optional{found->second};
  }

  result<std::optional<std::uint64_t>> number(std::string_view name, std::uint64_t least, std::uint64_t most) const {
    const auto given = text(name);
    if (!given)
      return std::optional<std::uint64_t>{};
    std::uint64_t number = 0;
    const auto [end, failure] = std::from_chars(given->data(), given->data() + given->size(), number);
    if (failure == std::errc{} && end == given->data() + given->size() && number >= least && number <= most)
      return std::optional{number};
    return mistake("{} takes a whole number from {} to {}; {} is none", name, least, most, in_quotes(*given));
  }

  result<std::optional<std::uint64_t>> size(std::string_view name) const {
    const auto given = text(name);
    const auto bytes = given ? parse_size(*given) : std::nullopt;
    if (given && !bytes)
      return mistake("{} takes a number of bytes, as in 4096, 64KiB, 16MiB or 2GiB; {} is none", name, in_quotes(*given));
    return bytes;
  }

  result<std::optional<std::chrono::nanoseconds>> duration(std::string_view name) const {
    const auto given = text(name);
    const auto time = given ? parse_duration(*given) : std::nullopt;
    if (given && (!time || *time > longest_duration))
      return mistake("{} takes a time of at most 876000h, as in 30s, 10min or 48h; {} is none", name, in_quotes(*given));
    return time ? std::optional{std::chrono::nanoseconds{*time}} : std::nullopt;
  }

  /// What an option that needs another one, or excludes one, is told.
  template <class... Args>
  static error mistake(fmt::format_string<Args...> sentence, Args&&... args) {
    return error{errc::invalid_argument, fmt::format(sentence, std::forward<Args>(args)...)};
  }

private:
  static constexpr std::chrono::hours longest_duration{876'000}; // a century: nothing overflows within

  std::map<std::string_view, std::string> values_;
};

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

/// The commands' names, or one command's options, --help included.
template <class Rows>
std::vector<std::string_view> names_of(const Rows& rows) {
  std::vector<std::string_view> names;
  for (const auto& one : rows)
    names.push_back(one.name);
  return names;
}

std::vector<std::string_view> options_of(const log_table::command& row) {
  auto names = names_of(row.options);
  names.push_back("--help");
  return names;
}

/// One command's line.
class log_command_line {
public:
  explicit log_command_line(const log_table::command& row)
    : row_{row},
      prefix_{fmt::format("weir log {}", row.name)},
      app_{std::string{row.text}, prefix_} {
    app_.get_formatter()->column_width(26);
    app_.footer(std::string{row.footer});
    app_.allow_extras();
    app_.add_option("FILE", file_, "The log's file")->required()->type_name("");
    for (const auto& one : row.options)
      add(one);
  }

  std::variant<log_arguments, early_end> parse(std::span<const std::string> given) {
    if (auto fault = valued_flag(given))
      return misused(prefix_, *fault);
    try {
      auto reversed = without_mark(given);
      std::ranges::reverse(reversed);
      app_.parse(std::move(reversed));
    } catch (const CLI::RequiredError&) {
      return unexpected().value_or(misused(prefix_, fmt::format("the log's FILE is missing, as in \"{} events.db\"", prefix_)));
    } catch (const CLI::ArgumentMismatch& fault) {
      // An option takes whatever follows it, so that only the last argument can be one that lacks its value.
      if (const auto* option = given.empty() ? nullptr : find(given.back()))
        return misused(prefix_, fmt::format("{} needs a value: {} {}", option->name, option->name, option->value));
      return ended(app_, fault, prefix_);
    } catch (const CLI::ParseError& ending) {
      return ended(app_, ending, prefix_);
    }
    if (auto fault = unexpected())
      return std::move(*fault);
    return read();
  }

private:
  void add(const log_table::option& one) {
    const std::string name{one.name};
    const std::string text{one.text};
    if (one.value.empty()) {
      app_.add_flag(name, text);
      return;
    }
    auto* option = app_.add_option(name, text);
    option->type_name(std::string{one.value});
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    option->allow_extra_args(false);
  }

  const log_table::option* find(std::string_view name) const {
    const auto found = std::ranges::find(row_.options, name, &log_table::option::name);
    return found == row_.options.end() ? nullptr : &*found;
  }

  /// A flag that was given a value.
  std::optional<std::string> valued_flag(std::span<const std::string> given) const {
    for (const auto& one : given) {
      if (one == "--")
        break;
      const auto equals = one.find('=');
      const auto* option = equals == one.npos ? nullptr : find(std::string_view{one}.substr(0, equals));
      if (option != nullptr && option->value.empty())
        return fmt::format("{} takes no value", option->name);
    }
    return std::nullopt;
  }

  /// What is not known, and what is too much.
  std::optional<early_end> unexpected() const {
    const auto extras = app_.remaining();
    const auto is_option = [](const std::string& one) { return one.starts_with('-') && one.size() > 1; };
    if (const auto option = std::ranges::find_if(extras, is_option); option != extras.end())
      return unknown(prefix_, "option", option->substr(0, option->find('=')), options_of(row_));
    if (!extras.empty())
      return misused(prefix_, fmt::format("{} is one argument too many", in_quotes(extras.front())));
    return std::nullopt;
  }

  std::variant<log_arguments, early_end> read() const {
    given_options options;
    for (const auto& one : row_.options) {
      const auto& values = app_.get_option(std::string{one.name})->results();
      if (values.size() > 1 && !one.value.empty())
        return misused(prefix_, fmt::format("{} is given twice", one.name));
      if (!values.empty())
        options.add(one.name, values.front());
    }
    if (file_.empty())
      return misused(prefix_, fmt::format("the log's FILE is missing, as in \"{} events.db\"", prefix_));
    log_arguments asked{std::string{row_.name}, file_, options.text("--topic"), options.has("--json"), {}};
    if (asked.topic)
      if (const auto valid = check_topic_name(*asked.topic); !valid)
        return misused(prefix_, fmt::format("--topic {}: {}", in_quotes(*asked.topic), valid.error().sentence()));
    auto what = read_request(row_.name, options);
    if (!what)
      return misused(prefix_, what.error().sentence());
    asked.what = std::move(what).value();
    return asked;
  }

  const log_table::command& row_;
  std::string prefix_;
  std::string file_;
  CLI::App app_;
};

/// `weir log` without one of its commands.
early_end without_command(std::span<const std::string> given) {
  CLI::App app{description, "weir log"};
  app.get_formatter()->column_width(24);
  app.footer(footer);
  for (const auto& one : log_table::commands)
    app.add_subcommand(std::string{one.name}, std::string{one.text});
  if (given.empty())
    return {exit_code::usage, {}, app.help()};
  if (given.front() == "--help" || given.front() == "-h")
    return {exit_code::done, app.help(), {}};
  if (given.front().starts_with('-'))
    return misused(
      "weir log", fmt::format("the command comes first, then its options: {} stands before it", in_quotes(given.front())));
  return unknown("weir log", "command", given.front(), names_of(log_table::commands));
}

} // namespace

std::variant<log_arguments, early_end> parse_log_arguments(std::span<const std::string> given) {
  if (!given.empty()) {
    const auto found = std::ranges::find(log_table::commands, std::string_view{given.front()}, &log_table::command::name);
    if (found != log_table::commands.end())
      return log_command_line{*found}.parse(given.subspan(1));
  }
  return without_command(given);
}

} // namespace weir::cli
