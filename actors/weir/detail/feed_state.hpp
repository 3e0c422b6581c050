#pragma once

#include <weir/backoff.hpp>
#include <weir/condition.hpp>
#include <weir/feed.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace weir::detail {

/// What a feed knows; shared with the coroutines that use it.
struct feed_state : std::enable_shared_from_this<feed_state> {
  feed_state(std::shared_ptr<log_topic> topic, std::optional<cursor> start, feed_options options);

  std::shared_ptr<log_topic> from;
  feed_options how;
  std::optional<cursor> begun; // absent: at the head
  std::optional<feed_machine> machine;
  std::deque<entry> line; // as the machine has it
  feed_phase phase = feed_phase::attaching;
  bool is_attached = false;
  std::optional<error> refusal;
  std::optional<error> last_error;
  std::vector<feed_gap> gaps;
  std::uint64_t missed_entries = 0;
  std::optional<std::uint64_t> pin; // of the bootstrap that it comes from
  bool unpin_wanted = false;        // let_go() has something to do
  backoff pauses;
  condition changed;               // credit, and what interrupts
  std::uint64_t interruptions = 0; // whoever waits for the store looks again

  bool is_closed() const noexcept { return phase == feed_phase::closed; }
  bool has_credit() const noexcept { return machine->available().items > 0 && machine->available().bytes > 0; }

  task<result<void>> attach(self me);
  task<result<void>> look(self me);
  task<result<bool>> read_once(self me);
  task<result<void>> wait_for_more(self me, deadline until);
  task<result<void>> pause(self me, deadline until);
  task<result<void>> let_go(self me);
  feed_entry hand_out();
  error stand_at_oversize();
  void stand_at(const error& why);
  void on_acknowledged(const result<acknowledged>& done);
  void rewind();
  void close();

  // Of a group's member, whose shards come and go.
  void read_no_shards();
  void add(std::uint32_t shard, std::int64_t acked);
  void remove(std::uint32_t shard);
  void stop(std::uint32_t shard, bool is_stopped);

private:
  void begin_at(const std::vector<std::int64_t>& offsets);
  void begin_at_heads(const std::vector<shard_bounds>& there);
  task<result<void>> check_cursor(self me, std::vector<shard_bounds> there);
  result<void> take(const feed_machine::read_order& asked, log_reading reading);
  task<result<bool>> skip(self me, std::uint32_t shard);
  void miss(std::uint32_t shard, std::int64_t earliest);
  void interrupt();
  void on_other_shards();
  void be_live();
  std::vector<std::int64_t> read_up_to() const;
};

error feed_closed();

} // namespace weir::detail
