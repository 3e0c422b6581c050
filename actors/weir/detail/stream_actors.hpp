#pragma once

#include <weir/actor_ref.hpp>
#include <weir/detail/protocol.hpp>
#include <weir/lane_machine.hpp>

#include <cstdint>
#include <memory>

namespace caf {
class actor_system;
} // namespace caf

namespace weir::detail {

struct lane_settings {
  lane_id id;
  std::uint64_t key = 0; ///< names the lane to the watermark actor
  lane_policy policy;
  lane_floor start;
  actor_ref watermark;
  std::shared_ptr<lane_gauge> gauge;
};

/// Starts the actors of a stream in memory. Each ends with stop_host.
actor_ref spawn_lane(caf::actor_system& system, lane_settings settings);
actor_ref spawn_watermark(caf::actor_system& system);
actor_ref spawn_requests(caf::actor_system& system, std::shared_ptr<lane_gauge> gauge);

} // namespace weir::detail
