#pragma once

#include <cassert>
#include <cstdint>
#include <optional>

namespace weir {

/// An amount of credit, or a running total of it since a generation began: items and bytes are granted and spent together.
struct credit {
  std::uint64_t items = 0;
  std::uint64_t bytes = 0;

  friend bool operator==(const credit&, const credit&) = default;
};

/// The sender's side of the credit protocol: what it may still send. Grants are absolute totals, so that a grant that comes
/// twice, late or after a newer one changes nothing. Conserved at every step: granted = spent + available (an item larger than
/// the whole byte bound overdraws the bytes, and is alone until it is done).
class sending_credit {
public:
  sending_credit() noexcept = default;

  /// `bound` is the receiver's whole window, `granted` what it has granted so far, `spent` what earlier senders used of it.
  sending_credit(credit bound, credit granted, credit spent = {}) noexcept : bound_{bound}, granted_{granted}, spent_{spent} {}

  void on_grant(credit up_to) noexcept {
    granted_.items = up_to.items > granted_.items ? up_to.items : granted_.items;
    granted_.bytes = up_to.bytes > granted_.bytes ? up_to.bytes : granted_.bytes;
  }

  bool may_send(std::uint64_t bytes) const noexcept {
    if (spent_.items >= granted_.items)
      return false;
    return spent_.bytes + bytes <= granted_.bytes || (bytes > bound_.bytes && receiver_holds_nothing());
  }

  void spend(std::uint64_t bytes) noexcept {
    assert(may_send(bytes));
    ++spent_.items;
    spent_.bytes += bytes;
  }

  /// Total that would let an item of so many bytes go: what a starved sender asks for.
  credit wanted_for(std::uint64_t bytes) const noexcept {
    const auto alone = bytes > bound_.bytes;
    return {spent_.items + 1, spent_.bytes + (alone ? bound_.bytes : bytes)};
  }

  credit granted() const noexcept { return granted_; }
  credit spent() const noexcept { return spent_; }
  std::uint64_t available_items() const noexcept { return granted_.items - spent_.items; }

private:
  bool receiver_holds_nothing() const noexcept { return granted_.bytes == spent_.bytes + bound_.bytes; }

  credit bound_;
  credit granted_;
  credit spent_;
};

/// The receiver's side: what it has promised to hold. It grants again after completion, not when it takes an item out of a
/// queue, and only when half the window is free or somebody waits for it; so what is received and not done never exceeds the
/// bound (but for one item that alone is larger).
class receiving_credit {
public:
  explicit receiving_credit(credit bound) noexcept : bound_{bound}, granted_{bound} {
    assert(bound.items > 0 && bound.bytes > 0);
  }

  /// False when the sender had no credit for it: the caller counts a violation of the bound.
  bool on_received(std::uint64_t items, std::uint64_t bytes) noexcept {
    const auto held = received_.bytes - done_.bytes;
    received_.items += items;
    received_.bytes += bytes;
    return received_.items <= granted_.items && (received_.bytes <= granted_.bytes || (held == 0 && items == 1));
  }

  void on_done(std::uint64_t items, std::uint64_t bytes) noexcept {
    done_.items += items;
    done_.bytes += bytes;
    assert(done_.items <= received_.items && done_.bytes <= received_.bytes);
  }

  /// A starved sender says what it waits for.
  void on_probe(credit wanted) noexcept { wanted_ = wanted; }

  /// The grant that is due now, if any; asking commits to sending it. `at_once`: whatever is free, because nothing else would
  /// make the sender go on.
  std::optional<credit> take_grant(bool at_once = false) noexcept {
    const credit up_to{done_.items + bound_.items, done_.bytes + bound_.bytes};
    const bool half_free =
      (up_to.items - granted_.items) * 2 >= bound_.items || (up_to.bytes - granted_.bytes) * 2 >= bound_.bytes;
    const bool asked_for = wanted_ && up_to.items >= wanted_->items && up_to.bytes >= wanted_->bytes;
    if (!asked_for && (!(half_free || at_once) || up_to == granted_))
      return std::nullopt;
    if (asked_for)
      wanted_.reset();
    granted_ = up_to;
    return granted_;
  }

  /// Everything that was granted is used, and something is free that was not granted.
  bool is_sender_starved() const noexcept {
    return received_.items == granted_.items && done_.items + bound_.items > granted_.items;
  }

  credit bound() const noexcept { return bound_; }
  credit granted() const noexcept { return granted_; }
  credit received() const noexcept { return received_; }
  credit done() const noexcept { return done_; }
  credit held() const noexcept { return {received_.items - done_.items, received_.bytes - done_.bytes}; }

private:
  credit bound_;
  credit granted_;
  credit received_;
  credit done_;
  std::optional<credit> wanted_;
};

} // namespace weir
