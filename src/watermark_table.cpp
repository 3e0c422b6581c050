#include <weir/watermark_table.hpp>

namespace weir {

namespace {

std::optional<position> minimum(
  const std::map<std::uint64_t, lane_floor>& floors, std::optional<position> lane_floor::* which) {
  std::optional<position> least;
  for (const auto& [lane, floor] : floors) {
    const auto& own = floor.*which;
    if (!own)
      return std::nullopt;
    least = least ? lesser(*least, *own) : *own;
  }
  return least;
}

bool advance(std::optional<position>& from, const std::optional<position>& to) {
  if (!to || (from && covers(*from, *to)))
    return false;
  from = to;
  return true;
}

} // namespace

bool watermark_table::add(lane_key lane, lane_floor start) {
  return floors_.emplace(lane, start).second;
}

bool watermark_table::retire(lane_key lane) {
  return floors_.erase(lane) == 1;
}

bool watermark_table::move(lane_key lane, const lane_floor& floor) {
  const auto found = floors_.find(lane);
  if (found == floors_.end())
    return false;
  advance(found->second.reached, floor.reached);
  advance(found->second.confirmable, floor.confirmable);
  return true;
}

std::optional<position> watermark_table::watermark() const {
  return minimum(floors_, &lane_floor::reached);
}

std::optional<position> watermark_table::confirmable() const {
  return minimum(floors_, &lane_floor::confirmable);
}

} // namespace weir
