#pragma once

#include <weir/cli/console.hpp>
#include <weir/error.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::cli {

enum class severity { info, warning, error };

/// One thing that happened.
struct log_entry {
  std::chrono::system_clock::time_point time;
  severity level = severity::info;
  std::string message;
  std::vector<std::pair<std::string, std::string>> facts;
};

/// "sentence (name=value, …)" on one line. Values that hold spaces or anything that a terminal would act on are quoted.
std::string with_facts(std::string_view sentence, const std::vector<std::pair<std::string, std::string>>& facts);

/// "2026-01-02T03:04:05.678Z info    message (name=value, …)", one line without its end; UTC.
std::string to_text(const log_entry& entry);

/// {"time":…,"level":…,"message":…,"facts":{…}}, one line without its end.
std::string to_json(const log_entry& entry);

/// An error as an entry: its sentence, its facts, and its code's name as the fact `code`.
log_entry entry_of(severity level, const error& what);

/// Where entries go. Any thread.
class log {
public:
  struct options {
    bool json = false;
    bool quiet = false; ///< warnings and errors only
  };

  /// The console must outlive the log.
  log(console& to, options chosen) : to_{to}, chosen_{chosen} {}

  void info(std::string message, std::vector<std::pair<std::string, std::string>> facts = {});
  void warning(std::string message, std::vector<std::pair<std::string, std::string>> facts = {});
  void failure(const error& what);

  /// Stamps the entry with the time, where it has none.
  void write(log_entry entry);

private:
  console& to_;
  options chosen_;
};

} // namespace weir::cli
