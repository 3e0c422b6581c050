#include <weir/cli/bus_report.hpp>
#include <weir/cli/files.hpp>
#include <weir/cli/print.hpp>
#include <weir/cli/units.hpp>
#include <weir/spawn.hpp>

#include "../jsonl/line_buffer.hpp"
#include "../jsonl/line_input.hpp"
#include "bus_commands.hpp"
#include "buses.hpp"

#include <boost/outcome/try.hpp>
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace weir::cli {

namespace {

using namespace std::chrono_literals;

/// No line that is a hint is longer; what is not much longer is told its size.
constexpr std::size_t longest_line = 64U << 10U;
constexpr std::size_t lines_at_once = 512;
constexpr auto time_between_tries = 5ms;

/// The hint is in the outbox, and what became of it.
task<> publish_and_wait(
  self me, bus to, std::string topic, std::string line, std::string key, std::shared_ptr<result<void>> into) {
  auto publishing = to.publish_committed(me, std::move(topic), std::move(line), std::move(key));
  auto published = co_await std::move(publishing);
  *into = std::move(published);
}

error was_not_waited_for() {
  return error{errc::cancelled, "ended before the server had everything"};
}

/// The lines of standard input. One thread at a time, but for stop().
class lines_in {
public:
  lines_in() { (void)input_.open(); } // standard input is open

  /// Waits for more. False: nothing will come.
  result<bool> fill() {
    auto came = line_input::outcome::nothing_yet;
    while (came == line_input::outcome::nothing_yet && !is_stopped_) {
      BOOST_OUTCOME_TRY(came, input_.fill(buffer_, -1ms));
    }
    is_at_end_ = came == line_input::outcome::ended;
    return came == line_input::outcome::filled;
  }

  /// The next ones that are there. Fails at one that is no hint, when all before it were taken.
  result<std::vector<std::string>> take(std::string_view key) {
    std::vector<std::string> taken;
    while (taken.size() < lines_at_once && !fault_) {
      auto line = buffer_.next();
      if (!line && is_at_end_)
        line = buffer_.rest();
      if (!line)
        break;
      ++number_;
      if (line->is_too_long)
        fault_ = error{errc::too_large, fmt::format("line {} has more than {}", number_, exact_size(longest_line))};
      else if (const auto fits = check_hint_size(key, line->text); !fits)
        fault_ = error{fits.error().code(), fmt::format("line {}: {}", number_, fits.error().sentence()), fits.error().facts()};
      else
        taken.emplace_back(line->text);
    }
    if (taken.empty() && fault_)
      return *fault_;
    return taken;
  }

  void stop() noexcept {
    is_stopped_ = true;
    input_.stop();
  }

private:
  line_buffer buffer_{longest_line};
  line_input input_{"-", false, STDIN_FILENO};
  std::atomic<bool> is_stopped_{false};
  bool is_at_end_ = false;
  std::uint64_t number_ = 0;
  std::optional<error> fault_;
};

/// One run of the command.
class publishing {
public:
  publishing(const bus_publish& asked, caf::actor_system& system, bus to, stop_switch& stop)
    : asked_{asked},
      system_{system},
      to_{std::move(to)},
      stop_{stop} {}

  publish_report run() {
    publish_report report;
    stop_.attach([this] { in_.stop(); });
    if (auto copied = copy(); !copied)
      report.failure = std::move(copied).error();
    const auto figures = to_.stats();
    report.published = figures.published;
    report.unconfirmed = report.failure ? given_up_ + figures.published - settled_ : figures.unconfirmed;
    stop_.attach({});
    return report;
  }

private:
  result<void> copy() {
    for (bool goes_on = true; goes_on;) {
      BOOST_OUTCOME_TRY(goes_on, in_.fill());
      for (;;) {
        BOOST_OUTCOME_TRY(const auto lines, in_.take(asked_.key));
        if (lines.empty())
          break;
        BOOST_OUTCOME_TRY(publish(lines));
      }
    }
    return success();
  }

  /// The last one is waited for, and with it all the others. Where that fails, nobody knows of any of them.
  result<void> publish(const std::vector<std::string>& lines) {
    for (std::size_t one = 0; one + 1 < lines.size(); ++one) {
      BOOST_OUTCOME_TRY(with_room([&] { return to_.publish(asked_.topic, lines[one], asked_.key); }));
    }
    BOOST_OUTCOME_TRY(with_room([&] { return publish_last(lines.back()); }));
    const auto figures = to_.stats();
    settled_ = figures.published;
    given_up_ = figures.unconfirmed;
    return success();
  }

  result<void> publish_last(const std::string& line) {
    const auto outcome = std::make_shared<result<void>>(was_not_waited_for());
    const auto waiting = spawn(system_, publish_and_wait, to_, asked_.topic, line, asked_.key, outcome);
    stop_.attach([this, waiting] {
      in_.stop();
      waiting.request_stop();
    });
    (void)waiting.wait();
    stop_.attach([this] { in_.stop(); });
    if (*outcome || outcome->error() == errc::outcome_unknown) // the bus counts those that nobody knows of
      return success();
    if (outcome->error() == errc::cancelled)
      return was_not_waited_for();
    return *outcome;
  }

  /// Waits while the outbox is full, which it stays where the server is gone.
  template <class F>
  result<void> with_room(F publish) {
    for (;;) {
      auto published = publish();
      if (published || published.error() != errc::bus_full)
        return published;
      if (stop_.is_requested())
        return was_not_waited_for();
      std::this_thread::sleep_for(time_between_tries);
    }
  }

  const bus_publish& asked_;
  caf::actor_system& system_;
  bus to_;
  stop_switch& stop_;
  lines_in in_;
  std::uint64_t settled_ = 0;  // of the hints that were accepted, those …
  std::uint64_t given_up_ = 0; // … of which the server has all but these
};

} // namespace

exit_code run_command(const bus_arguments& given, const bus_publish& asked, const std::shared_ptr<stop_switch>& stop) {
  command_system system;
  auto opened = open_bus(system.get(), given.where, false);
  if (!opened)
    return tell_failure(given, opened.error());
  const trouble_teller trouble{given.command, opened.value()};
  const auto report = publishing{asked, system.get(), opened.value(), *stop}.run();
  if (report.failure)
    write_all(STDERR_FILENO, bus_failure_text(given.command, *report.failure));
  const auto code = report.failure || report.unconfirmed > 0 ? exit_code::failed : exit_code::done;
  return print(given.json ? published_json(report) : published_text(report), code);
}

} // namespace weir::cli
