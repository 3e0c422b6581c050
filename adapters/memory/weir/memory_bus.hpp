#pragma once

#include <weir/bus.hpp>

#include <memory>

namespace caf {
class actor_system;
} // namespace caf

namespace weir::detail {
class bus_topics;
} // namespace weir::detail

/// Buses of one process, on a hub that they share.
namespace weir::memory {

/// A handle: copies are the same hub. It, its buses and their subscriptions end before the actor system does.
class hub {
public:
  explicit hub(caf::actor_system& system);

  /// One more bus on this hub. What it publishes is with its subscribers before anything else can be lost than in their
  /// buffers.
  bus open();

private:
  std::shared_ptr<detail::bus_topics> topics_;
};

} // namespace weir::memory
