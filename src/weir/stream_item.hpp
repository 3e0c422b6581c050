#pragma once

#include <weir/batch.hpp>
#include <weir/error.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace weir {

/// What a durable stream keeps in one entry of its log.
struct stored_item {
  std::vector<lane_id> lanes = {}; ///< which lanes it is for; none: all that there are
  lane_item item = {};
};

/// Whether an item can be kept; to be asked before encode_item, which writes any and lets decode_item refuse it. Fails with
/// position_missing, position_unexpected, request_missing (what a lane refuses, too), source_failed (check_parts).
result<void> check_item(const lane_item& item);

/// Appends the message weir.stream.v1.Item of src/stream_item.proto, serialised as protobuf. The same item always gives the
/// same bytes. Takes time and memory for one copy of the item's bytes.
void encode_item(std::string& out, const std::vector<lane_id>& lanes, const lane_item& item);

/// Reads what encode_item wrote, and nothing else: what can be read gives the same bytes when it is written again. Fails with
/// newer_format (the facts: its version, the known one) or corrupt (no such message, written in another way, cut short, longer,
/// or an item that check_item refuses; the facts say what and where).
result<stored_item> decode_item(std::string_view bytes);

/// Whether an item is for that lane. Reads no more than which lanes there are, and allocates nothing. Says true also where that
/// can't be read, so that nobody passes over an item without decode_item having said what is wrong with it.
bool is_for(std::string_view bytes, const lane_id& lane) noexcept;

} // namespace weir
