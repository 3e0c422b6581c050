#include <weir/cli/commands.hpp>
#include <weir/cli/endpoints.hpp>
#include <weir/cli/files.hpp>
#include <weir/cli/plain_text.hpp>
#include <weir/cli/print.hpp>
#include <weir/cli/summary.hpp>

#include "configured.hpp"

#include <fmt/format.h>

#include <unistd.h>

namespace weir::cli {

namespace {

std::string expected_instead_of(const configured& found) {
  if (!found.read)
    return "a TOML file of at most 64 KiB that can be read";
  switch (found.failure->code()) {
  case errc::wrong_owner: return "a directory that is this pipeline's alone";
  case errc::corrupt:
  case errc::unsupported: return "what this version of weir has written, or nothing yet";
  default: return "a directory that can be read and written, or created";
  }
}

/// A failure that has no place in the file, as a mistake, so that there is one kind of list.
config_error placeless(const configured& found) {
  config_error one{{}, {}, found.failure->sentence(), expected_instead_of(found)};
  if (found.read) {
    one.where = found.read->where("state");
    one.key = "state";
  }
  return one;
}

std::string description(const std::string& file, const config& read, bool has_state) {
  auto text = fmt::format("{}: the pipeline {} can be run\n", file, read.name);
  text += fmt::format("  source  {}\n", described_source(read));
  if (read.stream.log)
    text += fmt::format("  stream  {}\n", described_stream(read));
  for (const auto& one : read.sinks)
    text += fmt::format("  sink    {}: {}\n", one.name, described_sink(one));
  text += fmt::format("  state   {}{}\n", read.state.native(), has_state ? ", goes on from there" : ", nothing there yet");
  return text;
}

} // namespace

exit_code check_pipeline(const arguments& given) {
  const auto file = given.file.native();
  auto found = configure_from(given.file, false);
  auto mistakes = std::move(found.mistakes);
  if (found.failure)
    mistakes.push_back(placeless(found));
  if (given.json)
    return print(check_to_json(file, found.read ? found.read->name : std::string{}, mistakes) + "\n", found.code);
  if (!mistakes.empty() && !found.read && found.failure)
    write_all(
      STDERR_FILENO, fmt::format("weir: {}; expected {}\n", printable(found.failure->sentence()), expected_instead_of(found)));
  else if (!mistakes.empty())
    write_all(STDERR_FILENO, to_string(mistakes, file));
  else if (!given.quiet)
    return print(description(file, *found.read, found.has_state), found.code);
  return found.code;
}

} // namespace weir::cli
