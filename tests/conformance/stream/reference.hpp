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
};

/// The reference: a list for each lane and the set of what is acknowledged, without credit, leases, messages or generations.
class reference_lane {
public:
  explicit reference_lane(std::optional<weir::position> floor) : start_{floor} {}

  void offer(std::uint64_t id, const weir::lane_item& item) {
    const auto* at = position_of(item);
    items_[id].at = at != nullptr ? std::optional{*at} : std::nullopt;
  }
  void on_published(std::uint64_t id, bool surely) { raise(items_.at(id).published, surely); }
  void on_acknowledged(std::uint64_t id, bool surely) { raise(items_.at(id).acknowledged, surely); }

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
