#pragma once

#include <weir/bus.hpp>
#include <weir/cli/bus_arguments.hpp>
#include <weir/cli/exit_code.hpp>
#include <weir/cli/stop_switch.hpp>

#include "command_system.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

/// Each command of `weir bus`. Each says what went wrong, and returns how the program ends.
namespace weir::cli {

exit_code run_command(const bus_arguments& given, const bus_publish& asked, const std::shared_ptr<stop_switch>& stop);
exit_code run_command(const bus_arguments& given, const bus_subscribe& asked, const std::shared_ptr<stop_switch>& stop);
exit_code run_command(const bus_arguments& given, const bus_stat& asked, const std::shared_ptr<stop_switch>& stop);

/// Says on standard error what went wrong; returns how the program ends by it.
exit_code tell_failure(const bus_arguments& given, const error& why);

/// Says on standard error, on a thread of its own, when the server can't be reached any more, and when it can.
class trouble_teller {
public:
  trouble_teller(std::string command, bus watched);
  ~trouble_teller();
  trouble_teller(const trouble_teller&) = delete;
  trouble_teller& operator=(const trouble_teller&) = delete;

private:
  void run();

  std::string command_;
  bus watched_;
  std::mutex mutex_;
  std::condition_variable ending_;
  bool ends_ = false;
  std::thread thread_; // last: it uses the others
};

} // namespace weir::cli
