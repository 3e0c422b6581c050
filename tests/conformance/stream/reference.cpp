#include "conformance/stream/reference.hpp"

#include <algorithm>

namespace stream_suite {

void reference_lane::on_delivered(std::uint64_t id) {
  CAPTURE(id);
  const auto found = items_.find(id);
  REQUIRE_MESSAGE(found != items_.end(), "an item that nobody offered to this lane");
  CHECK_MESSAGE(found->second.acknowledged != certainty::yes, "an item that was acknowledged came again");
  found->second.was_delivered = true;
}

void reference_lane::on_taken_over() {
  for (auto& [id, item] : items_)
    item.is_enqueued = false;
}

std::optional<weir::position> reference_lane::highest_floor() const {
  auto reached = start_;
  for (const auto& [id, item] : items_) {
    const bool is_in = item.is_enqueued || item.published == certainty::yes;
    if (!item.at || (!is_in && item.acknowledged == certainty::no && !item.is_acking))
      continue;
    if (item.acknowledged == certainty::no && !item.is_acking)
      break;
    reached = item.at;
  }
  return reached;
}

void reference_lane::settle(const numbers& there) {
  CHECK_MESSAGE(std::ranges::is_sorted(there), "not in publish order");
  for (auto& [id, item] : items_) {
    CAPTURE(id);
    const bool is_there = std::ranges::binary_search(there, id);
    item.is_acking = false;
    if (is_there) {
      CHECK_MESSAGE(item.acknowledged != certainty::yes, "acknowledged, and there again");
      item.published = certainty::yes;
      item.acknowledged = certainty::no;
      continue;
    }
    if (item.was_delivered)
      item.published = certainty::yes;
    if (item.published == certainty::yes)
      CHECK_MESSAGE(item.acknowledged != certainty::no, "published, not acknowledged, and gone");
    item.published = item.acknowledged = item.published == certainty::yes ? certainty::yes : certainty::no;
  }
}

std::optional<weir::position> reference_lane::floor() const {
  auto reached = start_;
  for (const auto& [id, item] : items_) {
    if (!item.at || item.published == certainty::no)
      continue;
    if (item.acknowledged != certainty::yes)
      break;
    reached = item.at;
  }
  return reached;
}

std::optional<weir::position> reference_lane::confirmable() const {
  auto reached = start_ && start_->ends_transaction ? start_ : std::nullopt;
  for (const auto& [id, item] : items_) {
    if (!item.at || item.published == certainty::no)
      continue;
    if (item.acknowledged != certainty::yes)
      break;
    if (item.at->ends_transaction)
      reached = item.at;
  }
  return reached;
}

bool reference_lane::is_empty() const {
  return std::ranges::none_of(items_,
    [](const auto& one) { return one.second.published == certainty::yes && one.second.acknowledged != certainty::yes; });
}

} // namespace stream_suite
