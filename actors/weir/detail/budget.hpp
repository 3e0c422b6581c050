#pragma once

#include <weir/actor_ref.hpp>
#include <weir/byte_budget.hpp>
#include <weir/detail/protocol.hpp>
#include <weir/envelope.hpp>

#include <map>
#include <memory>
#include <mutex>

namespace weir::detail {

/// A stream's byte budget, shared by all who publish to it on whatever thread. A block is charged at most once and carries its
/// charge as an attachment, so that the bytes come free with the block's last copy, wherever that is.
class shared_budget : public std::enable_shared_from_this<shared_budget> {
public:
  explicit shared_budget(std::uint64_t limit) : machine_{limit} {}

  /// Charges the block unless it is charged or there is no room. True when it may be published.
  bool try_charge(const block& charged);

  /// Joins the line for the block; the endpoint is woken when its charge is taken. Then call admitted().
  byte_budget::ticket wait(const block& charged, actor_ref waiting, endpoint_address endpoint);

  /// True when the ticket's charge was taken: it is attached to the block.
  bool admitted(byte_budget::ticket waiter, const block& charged);

  /// Leaves the line, or gives back a charge that was taken and not fetched.
  void leave(byte_budget::ticket waiter, std::uint64_t bytes);

  std::uint64_t used() const;
  std::uint64_t limit() const noexcept { return machine_.limit(); }

private:
  class charge;
  void release(std::uint64_t bytes);
  void attach(const block& charged);

  struct waiting_publisher {
    actor_ref actor;
    endpoint_address endpoint;
  };

  mutable std::mutex mutex_;
  byte_budget machine_;
  std::map<byte_budget::ticket, waiting_publisher> waiting_;
};

} // namespace weir::detail
