#pragma once

#include <weir/feed_machine.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

/// Feeds that get one thing wrong. The model must find each of them.
namespace core_tests::mutants {

using weir::credit;
using weir::feed_machine;

/// Loses credit: it is not available any more, and nothing was delivered for it.
struct losing_feed : feed_machine {
  using feed_machine::feed_machine;
  void lose(credit gone) noexcept {
    const auto left = revoke();
    grant({left.items - std::min(left.items, gone.items), left.bytes - std::min(left.bytes, gone.bytes)});
  }
};

/// What stands in line is paid for, whether it is ever delivered or not.
struct charged_at_read : losing_feed {
  using losing_feed::losing_feed;
  read_was on_read(const read_order& asked, const weir::shard_bounds& bounds, const std::vector<read_entry>& entries) {
    const auto was = feed_machine::on_read(asked, bounds, entries);
    if (was == read_was::taken)
      for (const auto& one : entries)
        if (one.matches)
          reserved_ = {reserved_.items + 1, reserved_.bytes + one.bytes};
    return was;
  }
  handed_out deliver() {
    reserved_ = {reserved_.items - 1, reserved_.bytes - next_bytes()};
    return feed_machine::deliver();
  }
  void rewind() noexcept {
    lose(std::exchange(reserved_, {}));
    feed_machine::rewind();
  }
  credit reserved_;
};

struct lost_on_short_read : losing_feed {
  using losing_feed::losing_feed;
  read_was on_read(const read_order& asked, const weir::shard_bounds& bounds, const std::vector<read_entry>& entries) {
    const auto was = feed_machine::on_read(asked, bounds, entries);
    if (was == read_was::taken)
      lose({asked.limits.entries - entries.size(), 0});
    return was;
  }
};

struct filtered_charged : losing_feed {
  using losing_feed::losing_feed;
  read_was on_read(const read_order& asked, const weir::shard_bounds& bounds, const std::vector<read_entry>& entries) {
    const auto was = feed_machine::on_read(asked, bounds, entries);
    if (was == read_was::taken)
      for (const auto& one : entries)
        if (!one.matches)
          lose({1, 0});
    return was;
  }
};

struct lost_on_rewind : losing_feed {
  using losing_feed::losing_feed;
  void rewind() noexcept {
    feed_machine::rewind();
    revoke();
  }
};

struct grant_forgets_the_rest : feed_machine {
  using feed_machine::feed_machine;
  credit grant(credit more) noexcept {
    revoke();
    return feed_machine::grant(more);
  }
};

struct asks_beyond_credit : feed_machine {
  asks_beyond_credit(std::vector<shard_start> shards, settings how) : feed_machine{std::move(shards), how}, limits_{how.read} {}
  std::optional<read_order> next_read() noexcept {
    auto order = feed_machine::next_read();
    if (order)
      order->limits = limits_;
    return order;
  }
  weir::entry_limits limits_;
};

/// The cursor is the largest offset that was acknowledged.
struct highest_is_floor : feed_machine {
  using feed_machine::feed_machine;
  weir::result<weir::acknowledged> acknowledge(std::uint32_t shard, std::int64_t offset) {
    return acknowledge_through(shard, offset);
  }
};

/// Acknowledges the first in flight and nothing else.
struct out_of_order_forgotten : feed_machine {
  using feed_machine::feed_machine;
  weir::result<weir::acknowledged> acknowledge(std::uint32_t shard, std::int64_t offset) {
    const auto first = in_flight_.lower_bound({shard, 0});
    if (in_flight_.contains({shard, offset}) && *first != std::pair{shard, offset})
      return weir::acknowledged::kept;
    in_flight_.erase({shard, offset});
    return feed_machine::acknowledge(shard, offset);
  }
  weir::result<weir::acknowledged> acknowledge_through(std::uint32_t shard, std::int64_t offset) {
    auto answer = feed_machine::acknowledge_through(shard, offset);
    if (answer.has_value())
      std::erase_if(in_flight_, [&](const auto& one) { return one.first == shard && one.second <= offset; });
    return answer;
  }
  handed_out deliver() {
    const auto one = feed_machine::deliver();
    in_flight_.emplace(one.shard, one.offset);
    return one;
  }
  void rewind() noexcept {
    feed_machine::rewind();
    in_flight_.clear();
  }
  std::set<std::pair<std::uint32_t, std::int64_t>> in_flight_;
};

struct rewind_to_delivered : feed_machine {
  using feed_machine::feed_machine;
  void rewind() {
    for (const auto& one : progress())
      (void)acknowledge_through(one.shard, one.delivered);
    feed_machine::rewind();
  }
};

/// Does not go back while somebody stands in line.
struct rewind_waits_for_the_line : feed_machine {
  using feed_machine::feed_machine;
  void rewind() noexcept {
    if (next() == next_is::absent)
      feed_machine::rewind();
  }
};

/// Only an acknowledgement moves the cursor.
struct filter_keeps_the_floor : feed_machine {
  using feed_machine::feed_machine;
  handed_out deliver() {
    const auto one = feed_machine::deliver();
    offsets_[one.shard].insert(one.offset);
    return one;
  }
  std::vector<weir::shard_progress> progress() const {
    auto all = feed_machine::progress();
    for (auto& one : all) {
      const auto of = offsets_.find(one.shard);
      const auto above = of == offsets_.end() ? of_none_.end() : of->second.upper_bound(one.acked);
      if (of == offsets_.end() || above == of->second.begin())
        one.acked = -1;
      else
        one.acked = *std::prev(above);
    }
    return all;
  }
  std::map<std::uint32_t, std::set<std::int64_t>> offsets_;
  std::set<std::int64_t> of_none_;
};

/// An empty read says nothing about what lies between the offset and the head.
struct holes_keep_the_floor : feed_machine {
  using feed_machine::feed_machine;
  read_was on_read(const read_order& asked, const weir::shard_bounds& bounds, const std::vector<read_entry>& entries) {
    return feed_machine::on_read(asked, {bounds.earliest, entries.empty() ? asked.after + 1 : bounds.head}, entries);
  }
};

/// Takes the answer of a read that was superseded for that of the one that is under way.
struct late_read_taken : feed_machine {
  using feed_machine::feed_machine;
  std::optional<read_order> next_read() noexcept {
    const auto order = feed_machine::next_read();
    if (order)
      last_ = *order;
    return order;
  }
  read_was on_read(const read_order& asked, const weir::shard_bounds& bounds, const std::vector<read_entry>& entries) {
    return feed_machine::on_read(asked.shard == last_.shard ? last_ : asked, bounds, entries);
  }
  read_order last_;
};

struct skips_silently : feed_machine {
  using feed_machine::feed_machine;
  std::optional<std::pair<std::int64_t, std::int64_t>> skip_to(std::uint32_t shard, std::int64_t earliest) noexcept {
    feed_machine::skip_to(shard, earliest);
    return std::nullopt;
  }
};

/// What was read and is trimmed meanwhile is not delivered.
struct skip_clears_the_line : feed_machine {
  using feed_machine::feed_machine;
  std::optional<std::pair<std::int64_t, std::int64_t>> skip_to(std::uint32_t shard, std::int64_t earliest) {
    const auto missed = feed_machine::skip_to(shard, earliest);
    if (missed && next() != next_is::absent)
      rewind();
    return missed;
  }
};

struct head_forgotten : feed_machine {
  using feed_machine::feed_machine;
  void on_head(std::uint32_t, std::int64_t) noexcept {}
};

struct oversize_always_delivered : feed_machine {
  oversize_always_delivered(std::vector<shard_start> shards, settings how) : feed_machine{std::move(shards), opted_in(how)} {}
  static settings opted_in(settings how) {
    how.deliver_oversize = true;
    return how;
  }
};

struct window_ignored : feed_machine {
  window_ignored(std::vector<shard_start> shards, settings how) : feed_machine{std::move(shards), without_window(how)} {}
  static settings without_window(settings how) {
    how.window_bytes = 0;
    return how;
  }
};

} // namespace core_tests::mutants
