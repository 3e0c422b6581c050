#pragma once

#include <weir/hint.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace weir {

/// What becomes of a hint for which there is no room.
enum class drop_policy : std::uint8_t {
  drop_newest, ///< it is lost
  drop_oldest, ///< the oldest one is
  conflate,    ///< the buffer is one hint, the newest
  last_by_key, ///< it takes the place of the one with the same key and publisher; otherwise the oldest one is lost
  end,         ///< the subscription ends
};

std::string_view name_of(drop_policy policy) noexcept;

/// A subscription's buffer: bounded, and every hint that is not in it any more is told at the place where it would have stood.
/// Losses at one place are one record, so that there is at most one more of them than hints. Pure.
class hint_buffer {
public:
  /// `limit` counts hints, and what else a subscription yields but for losses; at least 1. With `conflate` it is 1.
  hint_buffer(std::size_t limit, drop_policy policy);

  void push(const hint& one);
  void push(const lost& missing);

  /// With `last_by_key`, which voids what waits of that publisher; otherwise without effect.
  void push(gone who);

  /// The next record; absent where there is none.
  std::optional<bus_record> pop();

  bool empty() const noexcept { return live_ == 0 && !trailing_; }

  /// The policy has ended the subscription. What is in the buffer can be read still; nothing comes any more.
  bool is_evicted() const noexcept { return is_evicted_; }

  std::size_t size() const noexcept { return live_; }

private:
  using key = std::pair<bus_id, std::string>;

  struct slot {
    std::optional<lost> before;
    std::variant<std::monostate, hint, gone> what; // nothing: a hole, never the front
  };

  void append(std::variant<std::monostate, hint, gone> what);
  void take_out(std::uint64_t number, loss_cause cause);
  void drop_oldest();
  void settle_front();
  void close_holes();

  std::size_t limit_;
  drop_policy policy_;
  std::deque<slot> slots_;
  std::uint64_t first_ = 0;             // the number of the front slot
  std::size_t live_ = 0;                // slots that hold something
  std::optional<lost> trailing_;        // behind all of them
  std::map<key, std::uint64_t> newest_; // with last_by_key: the slot of each key
  bool is_evicted_ = false;
};

} // namespace weir
