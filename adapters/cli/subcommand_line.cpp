#include "subcommand_line.hpp"

#include <weir/cli/plain_text.hpp>
#include <weir/cli/units.hpp>

#include "command_line.hpp"

#include <algorithm>
#include <charconv>

namespace weir::cli {

namespace {

constexpr std::chrono::hours longest_duration{876'000}; // a century: nothing overflows within

/// The commands' names, or one command's options.
template <class Rows>
std::vector<std::string_view> names_of(const Rows& rows) {
  std::vector<std::string_view> names;
  for (const auto& one : rows)
    names.push_back(one.name);
  return names;
}

/// One command's line.
class subcommand_line {
public:
  subcommand_line(const command_family& family, const command_row& row)
    : family_{family},
      row_{row},
      prefix_{fmt::format("{} {}", family.name, row.name)},
      app_{std::string{row.text}, prefix_} {
    app_.get_formatter()->column_width(26);
    app_.footer(std::string{row.footer});
    app_.allow_extras();
    if (row.has_operand)
      app_.add_option(std::string{family.operand}, operand_, std::string{family.operand_text})->required()->type_name("");
    for (const auto& one : row.options)
      add(one);
  }

  std::variant<given_command, early_end> parse(std::span<const std::string> given) {
    if (auto fault = valued_flag(given))
      return misused(prefix_, *fault);
    try {
      auto reversed = without_mark(given);
      std::ranges::reverse(reversed);
      app_.parse(std::move(reversed));
      for (auto at = std::ranges::find(given, "--"); at != given.end(); ++at)
        if (!family_.operand_is_file && operand_ == "./" + *at)
          operand_ = *at;
    } catch (const CLI::RequiredError&) {
      return unexpected().value_or(missing_operand());
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
  void add(const option_row& one) {
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

  const option_row* find(std::string_view name) const {
    const auto found = std::ranges::find(row_.options, name, &option_row::name);
    return found == row_.options.end() ? nullptr : &*found;
  }

  early_end missing_operand() const { return misused(prefix_, fmt::format(fmt::runtime(family_.missing), prefix_)); }

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
    if (const auto option = std::ranges::find_if(extras, is_option); option != extras.end()) {
      auto names = names_of(row_.options);
      names.push_back("--help");
      return unknown(prefix_, "option", option->substr(0, option->find('=')), names);
    }
    if (!extras.empty())
      return misused(prefix_, fmt::format("{} is one argument too many", in_quotes(extras.front())));
    return std::nullopt;
  }

  std::variant<given_command, early_end> read() const {
    given_command read{&row_, operand_, {}};
    for (const auto& one : row_.options) {
      const auto& values = app_.get_option(std::string{one.name})->results();
      if (values.size() > 1 && !one.value.empty())
        return misused(prefix_, fmt::format("{} is given twice", one.name));
      if (!values.empty())
        read.options.add(one.name, values.front());
    }
    if (row_.has_operand && operand_.empty())
      return missing_operand();
    return read;
  }

  const command_family& family_;
  const command_row& row_;
  std::string prefix_;
  std::string operand_;
  CLI::App app_;
};

/// A family without one of its commands.
early_end without_command(const command_family& family, std::span<const std::string> given) {
  const std::string name{family.name};
  CLI::App app{std::string{family.text}, name};
  app.get_formatter()->column_width(24);
  app.footer(std::string{family.footer});
  for (const auto& one : family.commands)
    app.add_subcommand(std::string{one.name}, std::string{one.text});
  if (given.empty())
    return {exit_code::usage, {}, app.help()};
  if (given.front() == "--help" || given.front() == "-h")
    return {exit_code::done, app.help(), {}};
  if (given.front().starts_with('-'))
    return misused(
      name, fmt::format("the command comes first, then its options: {} stands before it", in_quotes(given.front())));
  return unknown(name, "command", given.front(), names_of(family.commands));
}

} // namespace

std::optional<std::string> given_options::text(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::nullopt : std::optional{found->second};
}

result<std::optional<std::uint64_t>> given_options::number(
  std::string_view name, std::uint64_t least, std::uint64_t most) const {
  const auto given = text(name);
  if (!given)
    return std::optional<std::uint64_t>{};
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(given->data(), given->data() + given->size(), number);
  if (failure == std::errc{} && end == given->data() + given->size() && number >= least && number <= most)
    return std::optional{number};
  return mistake("{} takes a whole number from {} to {}; {} is none", name, least, most, in_quotes(*given));
}

result<std::optional<std::uint64_t>> given_options::size(std::string_view name) const {
  const auto given = text(name);
  const auto bytes = given ? parse_size(*given) : std::nullopt;
  if (given && !bytes)
    return mistake("{} takes a number of bytes, as in 4096, 64KiB, 16MiB or 2GiB; {} is none", name, in_quotes(*given));
  return bytes;
}

result<std::optional<std::chrono::nanoseconds>> given_options::duration(std::string_view name) const {
  const auto given = text(name);
  const auto time = given ? parse_duration(*given) : std::nullopt;
  if (given && (!time || *time > longest_duration))
    return mistake("{} takes a time of at most 876000h, as in 30s, 10min or 48h; {} is none", name, in_quotes(*given));
  return time ? std::optional{std::chrono::nanoseconds{*time}} : std::nullopt;
}

std::variant<given_command, early_end> parse_subcommand(const command_family& family, std::span<const std::string> given) {
  if (!given.empty()) {
    const auto found = std::ranges::find(family.commands, std::string_view{given.front()}, &command_row::name);
    if (found != family.commands.end())
      return subcommand_line{family, *found}.parse(given.subspan(1));
  }
  return without_command(family, given);
}

} // namespace weir::cli
