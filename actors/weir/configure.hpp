#pragma once

namespace caf {
class actor_system_config;
} // namespace caf

namespace weir {

/// How the scheduler hands out work. Stealing is about three times as fast when all cores are busy, but an idle worker notices
/// new work after milliseconds; sharing wakes it in tens of microseconds.
enum class scheduler_policy { stealing, sharing };

struct scheduler_settings {
  scheduler_policy policy = scheduler_policy::stealing;
  unsigned threads = 0; ///< 0: as many as there are cores, at least 2
};

/// Prepares a configuration for Weir's actors; call it before the actor_system is made. Sets the scheduler's policy and
/// threads, at most 64 messages for an actor's turn (CAF's default is unlimited: two busy actors would starve the others), and
/// short sleeps for idle workers under stealing.
void configure(caf::actor_system_config& config, scheduler_settings settings = {});

} // namespace weir
