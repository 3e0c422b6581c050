#include "configured.hpp"

#include <weir/cli/endpoints.hpp>
#include <weir/cli/state_directory.hpp>

#include <system_error>

namespace weir::cli {

namespace {

configured refused(configured made, exit_code code, error failure) {
  made.code = code;
  made.failure = std::move(failure);
  return made;
}

configured refused(configured made, config_errors mistakes) {
  made.code = exit_code::usage;
  made.mistakes = std::move(mistakes);
  return made;
}

} // namespace

configured configure_from(const std::filesystem::path& file, bool to_run) {
  configured made;
  auto text = read_config_file(file);
  if (!text)
    return refused(std::move(made), exit_code::usage, std::move(text).error());
  std::error_code failure;
  const auto whole = std::filesystem::absolute(file, failure);
  if (failure)
    return refused(std::move(made), exit_code::usage, system_failure(failure.value(), "find", file));
  auto parsed = parse_config(text.value(), whole.parent_path());
  if (!parsed)
    return refused(std::move(made), std::move(parsed).error());
  made.read = std::move(parsed).value();
  // The state before the endpoints: where another process runs this very pipeline, it also holds the sinks.
  const auto seen = glance_at_state(made.read->state, owner_of(*made.read));
  if (!seen)
    return refused(std::move(made), exit_code::state, seen.error());
  made.has_state = seen.value().confirmed.has_value();
  if (seen.value().holder && to_run) {
    auto why = in_use(made.read->state, *seen.value().holder);
    return refused(std::move(made), exit_code::state, std::move(why));
  }
  if (auto mistakes = seen.value().holder ? check_source(*made.read) : check_endpoints(*made.read, seen.value().confirmed);
    !mistakes.empty())
    return refused(std::move(made), std::move(mistakes));
  return made;
}

} // namespace weir::cli
