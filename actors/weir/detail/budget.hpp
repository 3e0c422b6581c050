#pragma once

#include <weir/actor_ref.hpp>
#include <weir/byte_budget.hpp>
#include <weir/detail/protocol.hpp>
#include <weir/envelope.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace weir::detail {

/// A stream's byte budget, shared by all who publish to it on whatever thread. A block is charged at most once and carries its
/// charge as an attachment, so that the bytes come free with the block's last copy, wherever that is.
class shared_budget : public std::enable_shared_from_this<shared_budget> {
public:
  explicit shared_budget(std::uint64_t limit) : machine_{limit} {}

  bool has_charged(const block& carried) const noexcept { return carried.has_attachment_of(this); }

  /// Charges the block unless it is charged or there is no room. True when it may be published.
  bool try_charge(const block_ptr& charged);

  /// Joins the line for the block's charge, which all who wait for the same block share. The endpoint is woken when it is
  /// taken.
  byte_budget::ticket wait(const block_ptr& charged, actor_ref waiting, endpoint_address endpoint);

  /// True when the block that the ticket waited for is charged.
  bool admitted(byte_budget::ticket waiter) const;

  /// Leaves the line. A charge that was taken goes with its block.
  void leave(byte_budget::ticket waiter);

  std::uint64_t used() const;
  std::uint64_t limit() const noexcept { return machine_.limit(); }

private:
  class charge;

  struct waiting_publisher {
    block_ptr wanted;
    actor_ref actor;
    endpoint_address endpoint;
  };
  using line = std::map<byte_budget::ticket, waiting_publisher>;

  void release(std::uint64_t bytes);
  void admit();
  void attach(const block_ptr& charged);
  std::vector<waiting_publisher> take_out(const block_ptr& charged);

  mutable std::mutex mutex_;
  byte_budget machine_;
  line waiting_;
};

} // namespace weir::detail
