#include <weir/cli/arguments.hpp>
#include <weir/cli/plain_text.hpp>

#include "command_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace weir::cli {

namespace {

using std::string_view_literals::operator""sv;

constexpr std::array command_names{"run"sv, "check"sv, "log"sv, "bus"sv, "version"sv};

constexpr auto exit_codes = R"(Exit codes:
  0    done: the source has ended and everything is acknowledged, or a signal came and all was drained
  1    failed while running, or what was looked at is damaged
  2    the command line or the configuration is wrong, or names something that is not there
  3    the state directory is in use, belongs to another pipeline, or can't be read or written
  130  ended on the spot by a second Ctrl-C (143 by a second SIGTERM))";

constexpr auto program_example = R"(Example:
  weir check pipeline.toml && weir run pipeline.toml)";

constexpr auto run_example = R"(Example:
  weir run pipeline.toml
  weir run --json pipeline.toml 2>log.jsonl >summary.json

Ctrl-C or SIGTERM reads no further, finishes what is under way and ends with code 0; a second one ends on the spot.)";

constexpr auto check_example = R"(Example:
  weir check pipeline.toml

Writes nothing, starts nothing. Every mistake is one line, FILE:LINE:COLUMN: KEY: what is wrong; expected what.)";

constexpr auto version_example = R"(Example:
  weir version)";

/// A command line that is being read. CLI11 reads; what is missing or too much is found here, where it can be said better.
class command_line {
public:
  command_line() {
    app_.set_version_flag("-V,--version", version_text(), "Print the version and exit");
    app_.footer(fmt::format("{}\n\n{}", program_example, exit_codes));
    app_.get_formatter()->column_width(24);
    app_.allow_extras();
    app_.require_subcommand(0, 1);
    for (auto* command : {run_, check_}) {
      command->add_option("FILE", file_, "The pipeline's configuration (TOML)");
      command->add_flag("-q,--quiet", quiet_);
      command->add_flag("--json", json_);
    }
    describe(run_, "--quiet", "Print warnings and errors only");
    describe(run_, "--json", "Log JSON lines to standard error, and a summary object to standard output");
    describe(check_, "--quiet", "Print mistakes only");
    describe(check_, "--json", "Print one JSON object to standard output instead of text");
    run_->footer(run_example);
    check_->footer(check_example);
    version_->footer(version_example);
    for (auto* command : {run_, check_, log_, bus_, version_})
      command->allow_extras();
  }

  parsed_arguments parse(std::span<const std::string> given) {
    try {
      // CLI11 takes its arguments from the back.
      auto reversed = without_mark(given);
      std::ranges::reverse(reversed);
      app_.parse(std::move(reversed));
    } catch (const CLI::ParseError& ending) {
      return ended(app_, ending, "weir");
    }
    for (auto* command : {run_, check_, version_})
      if (command->parsed())
        return chosen(*command);
    return without_command();
  }

private:
  static void describe(CLI::App* command, const std::string& option, const char* text) {
    command->get_option(option)->description(text);
  }

  static std::span<const std::string_view> options_of(const CLI::App& command) {
    if (command.get_name() == "version")
      return version_options;
    return options;
  }

  parsed_arguments chosen(const CLI::App& command) {
    const auto prefix = "weir " + command.get_name();
    for (const auto& extra : command.remaining()) {
      if (extra.starts_with('-') && extra.size() > 1)
        return unknown(prefix, "option", extra, options_of(command));
      return misused(prefix, fmt::format("{} is one argument too many", in_quotes(extra)));
    }
    arguments read;
    read.what = &command == run_ ? command::run : &command == check_ ? command::check : command::version;
    if (read.what == command::version)
      return read;
    if (file_.empty())
      return misused(prefix, fmt::format("the configuration FILE is missing, as in \"{} pipeline.toml\"", prefix));
    read.file = file_;
    read.quiet = quiet_;
    read.json = json_;
    return read;
  }

  early_end without_command() {
    const auto extras = app_.remaining();
    if (extras.empty())
      return {exit_code::usage, {}, app_.help()};
    if (extras.front().starts_with('-'))
      return unknown("weir", "option", extras.front(), program_options);
    return unknown("weir", "command", extras.front(), command_names);
  }

  static constexpr std::array program_options{"--help"sv, "--version"sv};
  static constexpr std::array options{"--help"sv, "--quiet"sv, "--json"sv};
  static constexpr std::array version_options{"--help"sv};

  std::string file_;
  bool quiet_ = false;
  bool json_ = false;
  CLI::App app_{"Moves changes from one source to many destinations: ordered, acknowledged, bounded, resumable.", "weir"};
  CLI::App* run_ = app_.add_subcommand("run", "Run a pipeline until its source ends or a signal comes");
  CLI::App* check_ = app_.add_subcommand("check", "Say everything that is wrong with a configuration, without running it");
  CLI::App* log_ = app_.add_subcommand("log", "Create, write, read and look after a log: \"weir log --help\" says how");
  CLI::App* bus_ = app_.add_subcommand("bus", "Publish and print hints on a bus: \"weir bus --help\" says how");
  CLI::App* version_ = app_.add_subcommand("version", "Print the version");
};

} // namespace

parsed_arguments parse_arguments(std::span<const std::string> given) {
  const auto widened = [](auto parsed) {
    return std::visit([](auto& one) { return parsed_arguments{std::move(one)}; }, parsed);
  };
  if (!given.empty() && given.front() == "log")
    return widened(parse_log_arguments(given.subspan(1)));
  if (!given.empty() && given.front() == "bus")
    return widened(parse_bus_arguments(given.subspan(1)));
  return command_line{}.parse(given);
}

std::string version_text() {
  return "weir " WEIR_VERSION;
}

} // namespace weir::cli
