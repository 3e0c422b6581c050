#pragma once

#include "conformance/log/log_caller.hpp"
#include "conformance/log/performer.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace log_suite {

/// An actor that reads one feed, and perhaps a bootstrap before it, when a test says so. Every call but those that begin
/// something blocks the test until it is done.
class feed_caller {
public:
  using entries = weir::result<std::vector<weir::feed_entry>>;

  feed_caller(log_caller& in, std::shared_ptr<weir::log_topic> from, weir::cursor at, weir::feed_options how = {});
  /// Behind the whole topic's beginning.
  feed_caller(log_caller& in, const topic_caller& from, weir::feed_options how = {});
  feed_caller(log_caller& in, weir::feed made);

  weir::credit grant(std::uint64_t entries, std::uint64_t bytes = weir::feed_machine::most_credit);
  weir::credit revoke();
  weir::result<void> ready(weir::deadline until = weir::deadline::never());
  entries pull();
  weir::result<weir::feed_entry> next(weir::deadline until = weir::deadline::never());
  weir::result<weir::acknowledged> acknowledge(std::int64_t offset, std::uint32_t shard = 0);
  weir::result<weir::acknowledged> acknowledge_through(std::int64_t offset, std::uint32_t shard = 0);
  void rewind();
  weir::result<weir::cursor> at();
  weir::feed_phase phase();
  std::vector<weir::feed_gap> take_gaps();
  weir::result<weir::feed_stats> stats();
  weir::result<void> close();

  /// Destroys the feed; the actor lives on.
  void drop();

  /// Grants as much, and pulls: the payloads. Must succeed.
  texts payloads(std::uint64_t count);
  /// The offsets of what is pulled. Must succeed.
  offsets pull_offsets();
  /// The offset acknowledged in the shard.
  std::int64_t acked(std::uint32_t shard = 0);

  // Only begun.
  pending<weir::result<void>> begin_ready(weir::deadline until = weir::deadline::never());
  pending<weir::result<weir::feed_entry>> begin_next(weir::deadline until = weir::deadline::never());
  pending<entries> begin_pull();

  /// What can go on in the feed's actor has gone on.
  void settle() { performer_.settle(); }
  void request_stop() { performer_.request_stop(); }
  void kill() { performer_.kill(); }

private:
  struct belongings;
  feed_caller(log_caller& in, std::shared_ptr<belongings> mine);

  belongings* mine_; // the actor's
  performer performer_;
};

/// An actor that goes through a bootstrap, and then through its feed.
class bootstrap_caller {
public:
  bootstrap_caller(log_caller& in, std::shared_ptr<weir::log_topic> from, std::optional<weir::cursor> through = {},
    std::chrono::seconds pin_for = std::chrono::hours{1});

  weir::result<weir::snapshot_info> open();
  weir::result<std::optional<std::string>> next_chunk();
  /// All that are left; must succeed.
  texts chunks();
  weir::result<weir::feed> take_feed(weir::feed_options how = {});
  weir::result<void> close();

private:
  struct belongings;
  bootstrap_caller(log_caller& in, std::shared_ptr<belongings> mine);

  belongings* mine_;
  performer performer_;
};

texts payloads_of(const std::vector<weir::feed_entry>& all);
offsets offsets_of(const std::vector<weir::feed_entry>& all);

} // namespace log_suite
