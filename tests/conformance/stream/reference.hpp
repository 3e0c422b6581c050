#pragma once

#include "conformance/stream/ends.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stream_suite {

/// How sure the reference is of something: while an end is taken over or killed, what was under way may or may not arrive.
enum class certainty { no, maybe, yes };

/// An item of one lane, as whoever keeps the list sees it. Ids grow with every item that is offered, so they are the order.
struct known_item {
  std::optional<weir::position> at;
  certainty published = certainty::no;
  certainty acknowledged = certainty::no;
  bool was_delivered = false;
  std::size_t bytes = 0;
  bool is_enqueued = false; // published to a lane that nobody has taken over since
  bool is_acking = false;   // somebody has begun to acknowledge it
};

/// The reference: a list for each lane and the set of what is acknowledged, without credit, leases, messages or generations.
class reference_lane {
public:
  explicit reference_lane(std::optional<weir::position> floor) : start_{floor} {}

  void offer(std::uint64_t id, const weir::lane_item& item) {
    const auto* at = position_of(item);
    auto& known = items_[id];
    known.at = at != nullptr ? std::optional{*at} : std::nullopt;
    known.bytes = size_in_bytes(item);
  }
  void on_published(std::uint64_t id, bool surely) { raise(items_.at(id).published, surely); }
  void on_acknowledged(std::uint64_t id, bool surely) { raise(items_.at(id).acknowledged, surely); }

  // What can be said while things are under way.
  void on_enqueued(std::uint64_t id) { items_.at(id).is_enqueued = true; }
  void on_acking(std::uint64_t id) { items_.at(id).is_acking = true; }
  void on_taken_over(); // what was enqueued may be dropped on its way
  std::size_t bytes_of(std::uint64_t id) const { return items_.at(id).bytes; }

  /// The floor can't be above this, whatever has arrived of what is under way.
  std::optional<weir::position> highest_floor() const;

  /// Something came out of the lane: it must be in, and not done.
  void on_delivered(std::uint64_t id);

  /// What a consumer that was given everything got is what is not done: nothing else can be, and nothing is missing.
  void settle(const numbers& there);

  std::optional<weir::position> floor() const;
  std::optional<weir::position> confirmable() const;
  bool is_empty() const;

private:
  static void raise(certainty& known, bool surely) {
    if (known != certainty::yes)
      known = surely ? certainty::yes : certainty::maybe;
  }

  std::optional<weir::position> start_;
  std::map<std::uint64_t, known_item> items_;
};

} // namespace stream_suite
