#include "bus_commands.hpp"

#include <weir/cli/bus_commands.hpp>
#include <weir/cli/bus_report.hpp>
#include <weir/cli/files.hpp>
#include <weir/cli/print.hpp>

#include "buses.hpp"
#include "ending_signals.hpp"

#include <fmt/format.h>

#include <chrono>
#include <unistd.h>

namespace weir::cli {

namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

constexpr auto time_between_looks = 200ms;

/// Waits, at most so long, until the switch asks for the end.
void wait_for_stop(stop_switch& stop, std::chrono::milliseconds longest) {
  std::mutex mutex;
  std::condition_variable asked;
  bool is_asked = false;
  stop.attach([&] {
    const std::lock_guard lock{mutex};
    is_asked = true;
    asked.notify_all();
  });
  {
    std::unique_lock lock{mutex};
    asked.wait_for(lock, longest, [&] { return is_asked; });
  }
  stop.attach({});
}

} // namespace

exit_code tell_failure(const bus_arguments& given, const error& why) {
  write_all(STDERR_FILENO, bus_failure_text(given.command, why));
  return code_of_bus(why);
}

trouble_teller::trouble_teller(std::string command, bus watched)
  : command_{std::move(command)},
    watched_{std::move(watched)},
    thread_{[this] { run(); }} {}

trouble_teller::~trouble_teller() {
  {
    const std::lock_guard lock{mutex_};
    ends_ = true;
  }
  ending_.notify_all();
  thread_.join();
}

void trouble_teller::run() {
  bool is_troubled = false;
  std::unique_lock lock{mutex_};
  while (!ending_.wait_for(lock, time_between_looks, [this] { return ends_; })) {
    const auto why = watched_.stats().trouble;
    if (why.has_value() == is_troubled)
      continue;
    is_troubled = why.has_value();
    write_all(STDERR_FILENO, why
                               ? bus_failure_text(command_,
                                   error{why->code(), "the link is down, and is tried again: " + why->sentence(), why->facts()})
                               : fmt::format("weir bus {}: the link is up again\n", command_));
  }
}

exit_code run_command(const bus_arguments& given, const bus_stat& asked, const std::shared_ptr<stop_switch>& stop) {
  if (!can_print())
    return exit_code::failed;
  command_system system;
  auto opened = open_bus(system.get(), given.where, false);
  if (!opened)
    return tell_failure(given, opened.error());
  const auto begun = steady::now();
  wait_for_stop(*stop, asked.time);
  const auto heard = opened.value().stats();
  if (heard.trouble)
    return tell_failure(given, *heard.trouble);
  const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(steady::now() - begun);
  const auto own = opened.value().id();
  return print(given.json ? stat_json(heard, own, time) : stat_text(heard, own, time), exit_code::done);
}

exit_code run_bus_command(const bus_arguments& given) {
  const auto stop = std::make_shared<stop_switch>();
  const ending_signals signals{stop};
  return std::visit([&](const auto& asked) { return run_command(given, asked, stop); }, given.what);
}

} // namespace weir::cli
