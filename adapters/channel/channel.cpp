#include <weir/channel.hpp>
#include <weir/detail/stream_state.hpp>

#include <set>

namespace weir::channel {

namespace {

constexpr std::uint64_t absurd = std::uint64_t{1} << 40;

std::optional<error> find_fault(const options& wanted) {
  const auto refuse = [](const char* what, std::uint64_t given) {
    return error{
      errc::invalid_argument, "a bound lies between 1 and 2^40", {{"option", what}, {"given", std::to_string(given)}}};
  };
  if (wanted.bound.items == 0 || wanted.bound.items > absurd)
    return refuse("bound.items", wanted.bound.items);
  if (wanted.bound.bytes == 0 || wanted.bound.bytes > absurd)
    return refuse("bound.bytes", wanted.bound.bytes);
  if (wanted.budget == 0 || wanted.budget > absurd)
    return refuse("budget", wanted.budget);
  if (wanted.max_attempts == 0U)
    return error{errc::invalid_argument, "an item is delivered at least once", {{"option", "max_attempts"}, {"given", "0"}}};
  std::set<lane_id> seen;
  for (const auto& id : wanted.lanes) {
    if (id.sink.empty() || (id.collection && id.collection->empty()))
      return error{errc::invalid_argument, "a lane's name is not empty", {{"option", "lanes"}}};
    if (!seen.insert(id).second)
      return error{errc::duplicate_lane, "two lanes have the same name", {{"lane", to_string(id)}}};
  }
  return std::nullopt;
}

} // namespace

result<stream> open(caf::actor_system& system, options wanted) {
  if (auto fault = find_fault(wanted))
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
