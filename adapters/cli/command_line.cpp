#include "command_line.hpp"

#include <weir/cli/nearest_name.hpp>
#include <weir/cli/plain_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>

namespace weir::cli {

std::vector<std::string> without_mark(std::span<const std::string> given) {
  const auto mark = std::ranges::find(given, "--");
  std::vector<std::string> plain{given.begin(), mark};
  for (auto at = mark; at != given.end(); ++at)
    if (at != mark)
      plain.push_back(at->starts_with('-') ? "./" + *at : *at);
  return plain;
}

early_end ended(const CLI::App& app, const CLI::ParseError& ending, std::string_view prefix) {
  if (ending.get_exit_code() != 0)
    return misused(prefix, ending.what());
  std::ostringstream output;
  app.exit(ending, output, output);
  auto text = output.str();
  if (!text.ends_with('\n'))
    text += '\n';
  return {exit_code::done, std::move(text), {}};
}

early_end misused(std::string_view prefix, std::string_view sentence) {
  return {exit_code::usage, {}, fmt::format("{}: {}\nTry \"{} --help\".\n", prefix, sentence, prefix)};
}

early_end unknown(
  std::string_view prefix, std::string_view kind, std::string_view given, std::span<const std::string_view> valid) {
  const auto nearest = nearest_name(given, valid);
  const auto guess = nearest ? fmt::format("did you mean {}?", in_quotes(*nearest)) : fmt::format("expected {}", one_of(valid));
  return misused(prefix, fmt::format("there is no {} {}; {}", kind, in_quotes(given), guess));
}

} // namespace weir::cli
