#pragma once

#include <weir/error.hpp>
#include <weir/spawn.hpp>

#include "core/seeds.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace caf {
class actor_system;
} // namespace caf

namespace actor_tests {

/// An actor system in which nothing happens by itself: one message is handled at a time, by an actor that the seed picks, and
/// time is a number. The same seed gives the same run. Single-threaded: worker threads and detached actors don't fit in.
///
/// Its destructor reports actors that are still there, as a failed check, when everything was let go of.
class simulation {
public:
  explicit simulation(std::uint64_t seed);
  ~simulation();
  simulation(const simulation&) = delete;
  simulation& operator=(const simulation&) = delete;

  caf::actor_system& system() noexcept;
  core_tests::random_source& random() noexcept;

  /// Lets one runnable actor handle one message. False when none can run.
  bool step();

  /// Until no actor can run; time stands still.
  void settle();

  /// Moves time on, timer by timer, and settles after each.
  void advance(std::chrono::milliseconds by);

  /// Moves time on and sends what is due, but lets nobody run.
  void pass_time(std::chrono::milliseconds by);

  /// Moves time to the next timer, fires it, and settles. False when no timer is set.
  bool advance_to_next_timer();

  /// Keeps an actor from running: whatever is sent to it waits in its mailbox.
  void hold(const weir::actor_ref& actor);
  void let_go(const weir::actor_ref& actor);

  /// Messages of all kinds that wait in its mailbox; 0 as well when it has ended.
  std::size_t mailbox_depth(const weir::actor_ref& actor) const;

  /// How many data messages its mailbox holds, and the most it ever held, as the actor itself counts them.
  const weir::detail::meter& mailbox_meter(const weir::actor_ref& actor) const;

  /// Messages handled so far.
  std::size_t steps() const noexcept;

  /// Timeouts that CAF holds for actors.
  std::size_t pending_timeouts() const;

  /// Actors that have not ended.
  std::size_t running_actors() const;

  std::chrono::steady_clock::time_point now() const;

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

/// Runs `body(simulation&)` once for each seed; a failure says how to run that seed again.
template <class F>
void for_each_seed(std::uint64_t count, F body) {
  for (const auto seed : core_tests::seeds(count)) {
    INFO(core_tests::replay(seed));
    simulation world{seed};
    body(world);
  }
}

/// Sends a data message that no endpoint of the actor knows.
void send_data_from_outside(const weir::actor_ref& actor);

/// Wakes the endpoint from outside of its actor.
void wake_from_outside(const weir::actor_ref& actor, weir::detail::endpoint_address to);

} // namespace actor_tests
