#pragma once

#include <weir/error.hpp>
#include <weir/feed.hpp>
#include <weir/log.hpp>
#include <weir/self.hpp>
#include <weir/task.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace weir {

/// Fills a new consumer: the newest snapshot of a topic, in chunks, and then one feed that goes on at its edge; nothing twice,
/// nothing missing. Retention is pinned before the snapshot is chosen, so neither it nor what follows it is trimmed meanwhile.
/// Belongs to the actor that first uses it; one call at a time. Holds no more than one chunk.
///
/// The pin ends when the feed first acknowledges something, with close(), or after `pin_for`: whoever lets go of a bootstrap
/// without close() holds retention for that long.
class bootstrap {
public:
  /// `through`: no snapshot behind this cursor is taken; absent: the newest.
  explicit bootstrap(
    std::shared_ptr<log_topic> from, std::optional<cursor> through = {}, std::chrono::seconds pin_for = std::chrono::hours{1});

  /// Pins, and chooses. Fails with no_snapshot (none at or below `through`), ahead_of_head (`through` is), wrong_source,
  /// stale_epoch and invalid_argument.
  task<result<snapshot_info>> open(self me);

  /// The next chunk, verified; absent behind the last. Fails with snapshot_corrupt and snapshot_trimmed (the pin's time was
  /// over).
  task<result<std::optional<std::string>>> next_chunk(self me);

  /// The feed behind the snapshot, once its last chunk was read, and once; it takes the pin over. Fails with invalid_argument
  /// before.
  result<feed> take_feed(feed_options how = {});

  /// Lets go of the pin.
  task<result<void>> close(self me);

private:
  std::shared_ptr<log_topic> from_;
  std::optional<cursor> through_;
  std::chrono::seconds pin_for_;
  std::optional<std::uint64_t> pin_;
  std::optional<snapshot_info> chosen_;
  std::uint64_t next_chunk_ = 0;
  chain_digest digest_;
};

} // namespace weir
