#pragma once

#include <weir/lane_machine.hpp>
#include <weir/position.hpp>

#include <cstdint>
#include <map>
#include <optional>

namespace weir {

/// The floors of a stream's lanes, and the minimum of them. For a given set of lanes it never goes back; a lane that is added
/// may lower it (it states its starting floor), one that is retired leaves the minimum at once.
class watermark_table {
public:
  using lane_key = std::uint64_t;

  /// False when the lane is there already.
  bool add(lane_key lane, lane_floor start);
  bool retire(lane_key lane);

  /// A floor behind the lane's last one, or of an older epoch, changes nothing. False for an unknown lane.
  bool move(lane_key lane, const lane_floor& floor);

  /// The minimum over all lanes; nothing while any lane has no floor, and nothing without lanes.
  std::optional<position> watermark() const;

  /// The last position at or below the watermark that ends a transaction, as far as every lane knows: what the source may
  /// forget.
  std::optional<position> confirmable() const;

  std::size_t lanes() const noexcept { return floors_.size(); }

private:
  std::map<lane_key, lane_floor> floors_;
};

} // namespace weir
