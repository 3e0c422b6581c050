#pragma once

#include <weir/shared_wiring.hpp>
#include <weir/stream.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace caf {
class actor_system;
} // namespace caf

/// The in-process stream: lanes in memory. Keeps nothing across a process: after a crash the source replays from its confirmed
/// position, and sinks see duplicates, never gaps.
namespace weir::channel {

struct options {
  std::vector<lane_id> lanes = {};
  std::optional<position> floor = {};             ///< where all of these lanes start: what the source had confirmed
  lane_bound bound = {};                          ///< of each lane: items and bytes published and not yet acknowledged
  std::uint64_t budget = 64u << 20;               ///< bytes that all lanes together may hold, each block counted once
  std::vector<std::string> collections = {};      ///< for refusing requests; empty: any
  std::optional<std::uint32_t> max_attempts = {}; ///< returns before an item is a dead letter; absent: never
  dead_letter_policy dead_letters = dead_letter_policy::stop_lane;
  std::shared_ptr<shared_wiring> wiring = {}; ///< shared by streams that feed each other; absent: the stream's own
};

/// Starts the stream's actors in that system. Fails with invalid_argument (a bound of zero or beyond 2^40, an empty name) and
/// duplicate_lane; then nothing was started. The system must outlive the stream.
result<stream> open(caf::actor_system& system, options wanted);

} // namespace weir::channel
