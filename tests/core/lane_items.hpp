#pragma once

#include <weir/batch.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace core_tests {

inline weir::position position_at(std::uint64_t epoch, std::uint64_t seq, bool ends_transaction = true) {
  return {.epoch = epoch, .seq = seq, .stamp = {}, .time = 0, .ends_transaction = ends_transaction};
}

/// A live batch without envelopes.
inline weir::lane_item live(std::uint64_t epoch, std::uint64_t seq, bool ends_transaction = true) {
  weir::batch made;
  made.at = position_at(epoch, seq, ends_transaction);
  return made;
}

/// A live batch whose block weighs so many bytes more than an empty one.
inline weir::lane_item live_with(const weir::position& at, std::size_t payload) {
  weir::batch made;
  made.at = at;
  made.changes = 1;
  weir::envelope change;
  change.payload = std::string(payload, 'x');
  made.envelopes = weir::make_block({std::move(change)});
  return made;
}

inline weir::lane_item snapshot(std::size_t walked = 0) {
  weir::batch made;
  made.request = weir::request_id{1, 2};
  made.walked = std::string(walked, 'w');
  return made;
}

inline weir::lane_item marker() {
  return weir::snapshot_complete{{1, 2}, {"files"}};
}

/// What an empty batch weighs on a lane.
inline std::uint64_t empty_bytes() {
  return size_in_bytes(live(1, 1));
}

} // namespace core_tests
