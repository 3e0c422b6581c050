#include <weir/cli/arguments.hpp>
#include <weir/cli/nearest_name.hpp>
#include <weir/cli/plain_text.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace weir::cli {

namespace {

using std::string_view_literals::operator""sv;

constexpr std::array command_names{"run"sv, "check"sv, "version"sv};

constexpr auto exit_codes = R"(Exit codes:
  0    done: the source has ended and everything is acknowledged, or a signal came and all was drained
  1    failed while running
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
    for (auto* command : {run_, check_, version_})
      command->allow_extras();
  }

  std::variant<arguments, early_end> parse(std::span<const std::string> given) {
    try {
      // CLI11 takes its arguments from the back.
      auto reversed = without_mark(given);
      std::ranges::reverse(reversed);
      app_.parse(std::move(reversed));
    } catch (const CLI::ParseError& ending) {
      return end(ending);
    }
    for (auto* command : {run_, check_, version_})
      if (command->parsed())
        return chosen(*command);
    return without_command();
  }

private:
  /// What follows "--" is a file, whatever it begins with.
  static std::vector<std::string> without_mark(std::span<const std::string> given) {
    const auto mark = std::ranges::find(given, "--");
    std::vector<std::string> plain{given.begin(), mark};
    for (auto at = mark; at != given.end(); ++at)
      if (at != mark)
        plain.push_back(at->starts_with('-') ? "./" + *at : *at);
    return plain;
  }

  static void describe(CLI::App* command, const std::string& option, const char* text) {
    command->get_option(option)->description(text);
  }

  early_end end(const CLI::ParseError& ending) {
    if (ending.get_exit_code() == 0) {
      std::ostringstream output;
      app_.exit(ending, output, output);
      auto text = output.str();
      if (!text.ends_with('\n'))
        text += '\n';
      return {exit_code::done, std::move(text), {}};
    }
    return wrong("weir", ending.what());
  }

  static early_end wrong(std::string_view prefix, std::string_view sentence) {
    return {exit_code::usage, {}, fmt::format("{}: {}\nTry \"{} --help\".\n", prefix, sentence, prefix)};
  }

  /// Says what was most likely meant by an argument that is not known.
  static std::string guess(std::string_view given, std::span<const std::string_view> valid) {
    const auto nearest = nearest_name(given, valid);
    return nearest ? fmt::format("; did you mean {}?", in_quotes(*nearest)) : fmt::format("; expected {}", one_of(valid));
  }

  static std::span<const std::string_view> options_of(const CLI::App& command) {
    if (command.get_name() == "version")
      return version_options;
    return options;
  }

  static early_end unknown(std::string_view prefix, std::string_view given, std::span<const std::string_view> valid) {
    return wrong(prefix, fmt::format("there is no option {}{}", in_quotes(given), guess(given, valid)));
  }

  std::variant<arguments, early_end> chosen(const CLI::App& command) {
    const auto prefix = "weir " + command.get_name();
    for (const auto& extra : command.remaining()) {
      if (extra.starts_with('-') && extra.size() > 1)
        return unknown(prefix, extra, options_of(command));
      return wrong(prefix, fmt::format("{} is one argument too many", in_quotes(extra)));
    }
    const auto found = std::ranges::find(command_names, std::string_view{command.get_name()});
    arguments read;
    read.what = static_cast<enum command>(found - command_names.begin());
    if (read.what == command::version)
      return read;
    if (file_.empty())
      return wrong(prefix, fmt::format("the configuration FILE is missing, as in \"{} pipeline.toml\"", prefix));
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
      return unknown("weir", extras.front(), program_options);
    return wrong(
      "weir", fmt::format("there is no command {}{}", in_quotes(extras.front()), guess(extras.front(), command_names)));
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
  CLI::App* version_ = app_.add_subcommand("version", "Print the version");
};

} // namespace

std::variant<arguments, early_end> parse_arguments(std::span<const std::string> given) {
  return command_line{}.parse(given);
}

std::string version_text() {
  return "weir " WEIR_VERSION;
}

} // namespace weir::cli
