#pragma once

#include <weir/feed_machine.hpp>

#include "feed_log.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace core_tests {

using offsets = std::vector<std::int64_t>;

inline constexpr auto lowest = std::numeric_limits<std::int64_t>::min();
inline constexpr auto highest = std::numeric_limits<std::int64_t>::max();
inline constexpr weir::credit wide{1000, 1u << 20};

/// A feed, and a store of a few shards that answers its reads.
struct feed_with_store {
  explicit feed_with_store(
    weir::feed_machine::settings how = {}, std::vector<weir::feed_machine::shard_start> shards = {{0, -1}})
    : feed{std::move(shards), how} {}

  /// Appends so many entries of the same size behind a hole.
  void append(int count, std::uint64_t bytes = 10, std::int64_t hole = 0, std::uint32_t shard = 0) {
    auto& to = logs[shard];
    to.leave_hole(hole);
    for (; count > 0; --count)
      to.append(bytes);
    feed.on_head(shard, to.bounds.head);
  }

  void append_filtered(int count) {
    for (; count > 0; --count)
      logs[0].append(1000, false);
    feed.on_head(0, logs[0].bounds.head);
  }

  weir::feed_machine::read_was answer(const weir::feed_machine::read_order& order) {
    const auto found = logs[order.shard].read(order.after, order.limits).value();
    return feed.on_read(order, found.bounds, found.entries);
  }

  /// Reads and delivers as long as anything comes: the offsets, of whatever shards.
  offsets pull() {
    offsets all;
    while (true) {
      for (auto order = feed.next_read(); order; order = feed.next_read())
        REQUIRE(answer(*order) == weir::feed_machine::read_was::taken);
      if (feed.next() != weir::feed_machine::next_is::deliverable)
        return all;
      all.push_back(feed.deliver().offset);
    }
  }

  weir::acknowledged acknowledge(std::int64_t offset, std::uint32_t shard = 0) {
    return feed.acknowledge(shard, offset).value();
  }
  weir::acknowledged acknowledge_through(std::int64_t offset) { return feed.acknowledge_through(0, offset).value(); }

  weir::shard_progress progress(std::size_t index = 0) const { return feed.progress().at(index); }
  std::int64_t acked() const { return progress().acked; }
  std::int64_t delivered() const { return progress().delivered; }

  bool is_conserved() const {
    const auto charged = feed.charged();
    const auto available = feed.available();
    const auto revoked = feed.revoked();
    return feed.granted()
           == weir::credit{charged.items + available.items + revoked.items, charged.bytes + available.bytes + revoked.bytes};
  }

  weir::feed_machine feed;
  std::map<std::uint32_t, feed_log> logs;
};

} // namespace core_tests
