#pragma once

#include <weir/cli/exit_code.hpp>
#include <weir/cli/signals.hpp>
#include <weir/cli/stop_switch.hpp>

#include <memory>
#include <unistd.h>
#include <utility>

namespace weir::cli {

/// The first signal that asks the program to end stops a command; the second ends the program on the spot. See signal_watch.
class ending_signals {
public:
  explicit ending_signals(std::shared_ptr<stop_switch> stop)
    : watch_{[stop = std::move(stop)](int number, int count) {
        if (count > 1)
          ::_exit(number_of(exit_code::interrupted) + number);
        stop->request();
      }} {}

private:
  signal_watch watch_;
};

} // namespace weir::cli
