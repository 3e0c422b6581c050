#pragma once

#include <weir/envelope.hpp>
#include <weir/position.hpp>

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace weir {

/// Names one backfill, unique among all that its sink ever asks for: echoed by the snapshot's batches and its marker.
struct request_id {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  friend auto operator<=>(const request_id&, const request_id&) = default;
};

/// 32 hexadecimal digits.
std::string to_string(const request_id& id);
std::optional<request_id> parse_request_id(std::string_view text) noexcept;

/// What travels together. A live batch has a position (that of the last change it covers) and no request; a snapshot batch has
/// a request, how far the snapshot has walked, and no position.
struct batch {
  std::optional<position> at = {};
  std::uint64_t changes = 0; ///< changes at the source that it covers; may exceed the envelopes (filtered, empty)
  block_ptr envelopes = {};  ///< null means none
  std::optional<request_id> request = {};
  std::optional<std::string> walked = {}; ///< the last key that the snapshot has walked past: a backfill resumes after it

  bool is_snapshot() const noexcept { return request.has_value(); }
  std::size_t size_in_bytes() const noexcept {
    return sizeof(batch) + (envelopes ? envelopes->size_in_bytes() : 0) + (walked ? walked->size() : 0);
  }
};

/// Follows the last snapshot batch of its request on the same lane: from here on the collections are complete.
struct snapshot_complete {
  request_id request = {};
  std::vector<std::string> collections = {};

  std::size_t size_in_bytes() const noexcept;
};

/// What a lane carries.
using lane_item = std::variant<batch, snapshot_complete>;

inline std::size_t size_in_bytes(const lane_item& item) noexcept {
  const auto* carried = std::get_if<batch>(&item);
  return carried != nullptr ? carried->size_in_bytes() : std::get_if<snapshot_complete>(&item)->size_in_bytes();
}

/// The item's position; null for snapshot batches and markers.
inline const position* position_of(const lane_item& item) noexcept {
  const auto* carried = std::get_if<batch>(&item);
  return carried != nullptr && carried->at ? &*carried->at : nullptr;
}

/// Names a lane: one per sink (default), or one per sink and collection.
struct lane_id {
  std::string sink;
  std::optional<std::string> collection;

  lane_id(std::string sink_name) : sink{std::move(sink_name)} {} // NOLINT(google-explicit-constructor): a name is an id
  lane_id(const char* sink_name) : sink{sink_name} {}            // NOLINT(google-explicit-constructor)
  lane_id(std::string sink_name, std::string collection_name)
    : sink{std::move(sink_name)},
      collection{std::move(collection_name)} {}

  friend auto operator<=>(const lane_id&, const lane_id&) = default;
};

/// "sink" or "sink/collection".
std::string to_string(const lane_id& id);

/// A sink asks for a backfill of collections.
struct request {
  request_id id = {};
  std::string sink = {};
  std::vector<std::string> collections = {};
  std::optional<std::string> after = {};   ///< resume behind this key; absent: from the start
  std::optional<position> not_before = {}; ///< serve it as of this position or a later one: what the sink has already committed
};

} // namespace weir
