#pragma once

#include <weir/cli/config_error.hpp>
#include <weir/cli/exit_code.hpp>
#include <weir/error.hpp>
#include <weir/position.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::cli {

/// How a run went, told when it is over.
struct run_summary {
  enum class outcomes {
    done,    ///< the source has ended, and everything is acknowledged
    drained, ///< a signal came, and everything that was read is acknowledged
    failed,  ///< something gave up
    refused, ///< nothing was begun
  };

  std::string file;     ///< the configuration's
  std::string pipeline; ///< empty where the configuration could not be read
  outcomes outcome = outcomes::done;
  exit_code code = exit_code::done;
  std::chrono::milliseconds elapsed{0};
  std::uint64_t changes = 0; ///< read from the source
  std::optional<position> confirmed;
  std::vector<std::pair<std::string, std::uint64_t>>
    written; ///< by each sink, changes; more than were read where some came again
  std::uint64_t dead_letters = 0;
  std::optional<error> failure;
  config_errors mistakes; ///< of the configuration
};

/// One line of JSON without its end: {"file","pipeline","outcome","exit_code","seconds","changes","confirmed","sinks",
/// "dead_letters","error","mistakes"}; what there is none of is left out.
std::string to_json(const run_summary& told);

/// {"file","ok","pipeline","mistakes"}, one line without its end: what `weir check --json` prints.
std::string check_to_json(const std::string& file, const std::string& pipeline, const config_errors& mistakes);

/// The figures as names and values, for the log.
std::vector<std::pair<std::string, std::string>> facts_of(const run_summary& told);

} // namespace weir::cli
