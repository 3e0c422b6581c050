#pragma once

#include <weir/error.hpp>
#include <weir/lane_machine.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir {

/// What a durable lane keeps as its checkpoint's metadata, beside the offset up to which everything is acknowledged.
struct lane_checkpoint {
  lane_floor floor = {};

  /// Runs of offsets behind the checkpoint's own that are acknowledged: the first and the last of each, from 0, each run behind
  /// the one before.
  std::vector<std::pair<std::int64_t, std::int64_t>> acknowledged = {};

  /// Everything with a position at an offset below this one is acknowledged, from 0: `floor.reached` may lie beyond the
  /// checkpoint's own offset, because what has no position holds it up no more than it moves it.
  std::int64_t settled_below = 0;

  /// An entry that the lane had not acknowledged was given up: it lacks what will not come again.
  bool has_lost = false;
};

/// The message weir.stream.v1.LaneCheckpoint of src/stream_item.proto, serialised as protobuf: at most max_checkpoint_metadata
/// bytes. Where the runs do not fit, the furthest ones are left out, which only means that they are delivered again; about 1900
/// that are near each other do.
std::string encode_lane_checkpoint(const lane_checkpoint& given);

/// Reads what encode_lane_checkpoint wrote, and nothing else: what can be read gives the same bytes when it is written again.
/// Fails with newer_format (the facts: its version, the known one) or corrupt (no such message, written in another way, cut
/// short, longer, runs that are no runs, a floor that no lane has; the facts say what and where).
result<lane_checkpoint> decode_lane_checkpoint(std::string_view bytes);

} // namespace weir
