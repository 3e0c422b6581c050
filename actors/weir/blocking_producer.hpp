#pragma once

#include <weir/lane.hpp>

#include <chrono>
#include <memory>

namespace caf {
class actor_system;
} // namespace caf

namespace weir {

namespace detail {
class outside_line;
}

/// A lane's sending end for plain threads. Any number of them may use it at once; each waits for its own item alone, first come
/// first published. The credit protocol runs in an actor of its own, so no thread of the actor system is ever blocked; and no
/// such thread may call this, because what it would wait for might be itself.
class blocking_producer {
public:
  /// Starts the actor, which attaches with the first item. Ends with its stream: then every call fails with closed.
  static blocking_producer start(caf::actor_system& system, producer<lane_item> to);

  blocking_producer(blocking_producer&&) noexcept;
  blocking_producer& operator=(blocking_producer&&) noexcept;

  /// Waits for the calls that are running, then lets go of the end; what was published is still delivered.
  ~blocking_producer();

  /// Blocks the calling thread until the lane has the item, at most so long. On success `item` is moved from; on failure it is
  /// as it was, and the lane does not have it. Fails with timed_out, with what is wrong with the item or the lane as
  /// producer::publish() does, and with actor_stopped where the actor system ends.
  result<void> publish_for(lane_item& item, std::chrono::milliseconds timeout);

  /// As publish_for(), without waiting for room: would_wait when there is none.
  result<void> try_publish(lane_item& item);

private:
  explicit blocking_producer(std::shared_ptr<detail::outside_line> line) noexcept;
  std::shared_ptr<detail::outside_line> line_;
};

} // namespace weir
