#include <weir/channel.hpp>
#include <weir/detail/stream_state.hpp>

namespace weir::channel {

result<stream> open(caf::actor_system& system, options wanted) {
  if (auto fault = detail::find_fault({wanted.lanes, wanted.bound, wanted.budget, wanted.max_attempts}))
    return std::move(*fault);
  auto state = std::make_shared<detail::stream_state>(
    system, detail::stream_settings{lane_policy{wanted.bound, wanted.max_attempts, wanted.dead_letters}, wanted.budget,
              std::move(wanted.collections), wanted.wiring ? std::move(wanted.wiring) : std::make_shared<shared_wiring>()});
  for (const auto& id : wanted.lanes)
    if (auto added = state->add_lane(id, wanted.floor); !added)
      return std::move(added).error();
  return stream{std::move(state)};
}

} // namespace weir::channel
