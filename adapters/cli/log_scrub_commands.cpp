#include <weir/cli/console.hpp>
#include <weir/cli/log_report.hpp>
#include <weir/cli/print.hpp>
#include <weir/cli/scrub_text.hpp>
#include <weir/sqlite_log.hpp>

#include "log_commands.hpp"
#include "log_session.hpp"

#include <chrono>
#include <unistd.h>

namespace weir::cli {

namespace {

using opening = sqlite::log_options::opening;

/// Draws how far a scrub is, where a person looks on.
class scrub_display {
public:
  scrub_display() : screen_{STDERR_FILENO} {}
  ~scrub_display() { screen_.status({}); }
  scrub_display(const scrub_display&) = delete;
  scrub_display& operator=(const scrub_display&) = delete;

  void show(std::uint64_t done, std::uint64_t total) {
    const auto width = screen_.width();
    const auto now = std::chrono::steady_clock::now();
    if (!width || (now - shown_ < time_between && done < total))
      return;
    shown_ = now;
    screen_.status(progress_bar(done, total, *width));
  }

private:
  static constexpr std::chrono::milliseconds time_between{100};

  console screen_;
  std::chrono::steady_clock::time_point shown_{};
};

result<sqlite::scrub_report> scrub(const log_arguments& given, const log_scrub& asked) {
  scrub_display display;
  const auto progress = [&](std::uint64_t done, std::uint64_t total) { display.show(done, total); };
  if (asked.repairs)
    return sqlite::repair_log({.path = given.file, .how = opening::must_exist}, progress);
  return read_somehow([&](opening how) { return sqlite::scrub_log({.path = given.file, .how = how}, progress); });
}

} // namespace

exit_code run_command(const log_arguments& given, const log_scrub& asked) {
  const auto found = scrub(given, asked);
  if (!found)
    return tell_failure(given, found.error());
  const auto& report = found.value();
  const bool is_sound = report.is_sound();
  const auto text =
    given.json ? scrub_json(report, given.file.native(), is_sound) : scrub_text(report, given.file.native(), is_sound);
  return print(text, is_sound ? exit_code::done : exit_code::failed);
}

} // namespace weir::cli
