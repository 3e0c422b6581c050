#pragma once

#include <weir/actor_ref.hpp>
#include <weir/detail/protocol.hpp>
#include <weir/lane_machine.hpp>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

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

  /// Of a durable stream: its log actor, which is told how far the lane is, and tells the watermark and the gauge.
  actor_ref log = {};
  endpoint_address inlet = {};
};

/// An actor of a stream's, which is stopped with this.
class owned_actor {
public:
  explicit owned_actor(actor_ref owned) noexcept : ref_{std::move(owned)} {}
  ~owned_actor();
  owned_actor(const owned_actor&) = delete;
  owned_actor& operator=(const owned_actor&) = delete;

  const actor_ref& ref() const noexcept { return ref_; }

private:
  actor_ref ref_;
};

struct request_settings {
  std::shared_ptr<lane_gauge> gauge;
  std::vector<request> waiting = {}; ///< from before

  /// Of a durable stream: its log actor, which is told what is asked and not served.
  actor_ref log = {};
  endpoint_address inlet = {};
};

/// Starts the actors of a stream in memory. Each ends with stop_host.
actor_ref spawn_lane(caf::actor_system& system, lane_settings settings);
actor_ref spawn_watermark(caf::actor_system& system);
actor_ref spawn_requests(caf::actor_system& system, request_settings settings);

} // namespace weir::detail
