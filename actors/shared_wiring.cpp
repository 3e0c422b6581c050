#include <weir/shared_wiring.hpp>

namespace weir {

result<void> shared_wiring::attach(const void* lane, const std::string& name, end which, const std::string& actor) {
  const std::lock_guard lock{mutex_};
  auto& known = lanes_[lane];
  auto wanted = known;
  wanted[which] = actor;
  if (known.is_edge())
    edges_.disconnect(known.producer, known.consumer);
  if (wanted.is_edge())
    if (auto connected = edges_.connect(wanted.producer, wanted.consumer); !connected) {
      if (known.is_edge())
        (void)edges_.connect(known.producer, known.consumer); // it was there before, so it closes no circle
      return std::move(connected).error().with("lane", name);
    }
  known = std::move(wanted);
  return success();
}

void shared_wiring::detach(const void* lane, end which, const std::string& actor) noexcept {
  const std::lock_guard lock{mutex_};
  const auto found = lanes_.find(lane);
  if (found == lanes_.end() || found->second[which] != actor)
    return;
  if (found->second.is_edge())
    edges_.disconnect(found->second.producer, found->second.consumer);
  found->second[which].clear();
  if (found->second.producer.empty() && found->second.consumer.empty())
    lanes_.erase(found);
}

} // namespace weir
