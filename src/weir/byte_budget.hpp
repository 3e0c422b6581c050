#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace weir {

/// Bytes that a whole stream may hold. A charge is taken once for a block, however many lanes carry it, and given back when
/// the block's last copy is gone. Who finds no room waits in line: first come, first admitted; one charge larger than the
/// whole budget is admitted alone.
class byte_budget {
public:
  using ticket = std::uint64_t;

  explicit byte_budget(std::uint64_t limit) noexcept : limit_{limit} {}

  /// Takes the charge if there is room and nobody waits.
  bool try_charge(std::uint64_t bytes) noexcept {
    if (!waiting_.empty() || !fits(bytes))
      return false;
    used_ += bytes;
    return true;
  }

  /// Joins the line; the charge is taken when admit() names the ticket.
  ticket wait(std::uint64_t bytes) { return waiting_.emplace_hint(waiting_.end(), next_ticket_, bytes), next_ticket_++; }

  /// Leaves the line. False when it was admitted before: then the charge is held.
  bool leave(ticket waiter) { return waiting_.erase(waiter) == 1; }

  void release(std::uint64_t bytes) noexcept { used_ -= bytes; }

  /// Admits the first in line if there is room: its charge is taken. Call until it has no more to say.
  std::optional<ticket> admit() {
    if (waiting_.empty() || !fits(waiting_.begin()->second))
      return std::nullopt;
    const auto first = *waiting_.begin();
    waiting_.erase(waiting_.begin());
    used_ += first.second;
    return first.first;
  }

  std::uint64_t used() const noexcept { return used_; }
  std::uint64_t limit() const noexcept { return limit_; }
  std::size_t waiting() const noexcept { return waiting_.size(); }

private:
  bool fits(std::uint64_t bytes) const noexcept { return used_ == 0 || used_ + bytes <= limit_; }

  std::uint64_t limit_;
  std::uint64_t used_ = 0;
  ticket next_ticket_ = 1;
  std::map<ticket, std::uint64_t> waiting_;
};

} // namespace weir
