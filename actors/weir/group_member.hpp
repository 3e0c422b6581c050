#pragma once

#include <weir/feed.hpp>
#include <weir/group_table.hpp>
#include <weir/log.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weir {

namespace detail {
struct group_state;
} // namespace detail

/// Where a group begins that the topic does not know yet.
enum class group_start : std::uint8_t {
  earliest, ///< with what is retained
  head,     ///< with what is appended from then on
};

struct group_options {
  std::string group = {}; ///< names the topic's checkpoint that the group is, as a consumer's name
  group_start start = group_start::earliest;

  /// How long the others wait for a sign of this member before they take its shards, by their own clocks; 100 ms to 1 h. It
  /// writes at least four times as often, and delivers nothing once it could not for three quarters of it.
  std::chrono::milliseconds lease{10'000};

  /// How long a shard that is to go to another member waits for what is in flight of it. What is not acknowledged by then is
  /// delivered again there.
  std::chrono::milliseconds patience{30'000};

  feed_options read = {}; ///< of what it delivers; its shards and its mode are the group's
};

/// What a member knows of its group, as of its last write.
struct group_view {
  std::uint64_t member = 0; ///< its own id
  group_table table{0};
};

/// One member of a consumer group: reads the shards of a topic that are its own, while other members, in other processes, read
/// the others. Shards come and go (see docs/groups.md); in each, order holds through that, and what the group has committed is
/// not delivered again. Belongs to the actor that made it join, in which a coroutine of its own writes in time; one next() at a
/// time.
class group_member {
public:
  /// Becomes a member. Fails with invalid_argument (a name, a time), unsupported (more than 2048 shards), wrong_owner (the
  /// checkpoint of that name is no group's), group_full, newer_format, and with whatever the store can't do now.
  static task<result<group_member>> join(self me, std::shared_ptr<log_topic> topic, group_options how);

  /// Does not leave: the others take its shards when its lease is over.
  ~group_member();
  group_member(group_member&&) noexcept;
  group_member& operator=(group_member&&) noexcept;

  /// As feed::grant().
  credit grant(std::uint64_t entries, std::uint64_t bytes = feed_machine::most_credit);

  /// The next entry of one of its shards; waits for it, for credit, for a shard, and for the store. Cancellation point. Fails
  /// as feed::next() does, with fenced when the group has taken it for dead, and with closed when it has left.
  task<result<feed_entry>> next(self me, deadline until = deadline::never());

  /// As feed's. Fails with fenced where the shard is not its own any more: somebody else has it, and gets the entry again.
  result<acknowledged> acknowledge(std::uint32_t shard, std::int64_t offset);
  result<acknowledged> acknowledge_through(std::uint32_t shard, std::int64_t offset);

  /// Stores now what is acknowledged, as otherwise each beat does. Fails with fenced, closed, and with whatever the store can't
  /// do.
  task<result<void>> commit(self me);

  /// Commits and goes: its shards are free at once. Fails as commit() does; it is a member no more in any case.
  task<result<void>> leave(self me);

  /// Those that it may be given entries of, by number.
  std::vector<std::uint32_t> shards() const;

  group_view view() const;

  /// What was missed since it was last asked for (feed_options::skip_expired).
  std::vector<feed_gap> take_gaps();

private:
  explicit group_member(std::shared_ptr<detail::group_state> state) noexcept;

  std::shared_ptr<detail::group_state> state_;
};

} // namespace weir
