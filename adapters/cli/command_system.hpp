#pragma once

#include <weir/configure.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

namespace weir::cli {

/// The actors' system of a command that does one thing. One actor works at a time, and waits for a disk or a server: what
/// counts is that it wakes soon.
class command_system {
public:
  caf::actor_system& get() noexcept { return system_; }

private:
  struct settings : caf::actor_system_config {
    settings() { configure(*this, {.policy = scheduler_policy::sharing, .threads = 2}); }
  };
  settings config_;
  caf::actor_system system_{config_};
};

} // namespace weir::cli
