#pragma once

#include <weir/error.hpp>

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace weir {

/// At most 64 opaque bytes by which a source finds a position again: a commit id, a log sequence number. Held inline, so that
/// positions move without allocating; a copy costs what is in it.
class stamp {
public:
  static constexpr std::size_t max_size = 64;

  constexpr stamp() noexcept {} // NOLINT(modernize-use-equals-default): leaves the bytes as they are
  constexpr stamp(const stamp& other) noexcept { *this = other; }
  constexpr stamp& operator=(const stamp& other) noexcept {
    size_ = other.size_;
    for (std::size_t begin = 0; begin < size_; begin += step) // in whole steps: their length is known
      std::copy_n(other.bytes_.data() + begin, step, bytes_.data() + begin);
    return *this;
  }

  /// Refuses more than 64 bytes with stamp_too_long.
  static result<stamp> from(std::string_view bytes);

  std::string_view bytes() const noexcept { return {bytes_.data(), size_}; }
  bool empty() const noexcept { return size_ == 0; }

  friend bool operator==(const stamp& left, const stamp& right) noexcept { return left.bytes() == right.bytes(); }

private:
  static constexpr std::size_t step = 16;

  std::uint8_t size_ = 0;
  std::array<char, max_size> bytes_; ///< nothing in them behind the last step of `size_` bytes
};

/// A place in a source's order of changes. Ordered by (epoch, seq) alone: the stamp, the time and the flag say more about the
/// same place.
struct position {
  std::uint64_t epoch = 0;      ///< opened anew when a source restarts its numbering; an older epoch never moves anything
  std::uint64_t seq = 0;        ///< grows within an epoch
  weir::stamp stamp = {};       ///< how the source finds this place again
  std::int64_t time = 0;        ///< commit time at the source, nanoseconds since the Unix epoch, UTC
  bool ends_transaction = true; ///< false where a batch boundary cuts a transaction

  friend std::strong_ordering operator<=>(const position& left, const position& right) noexcept {
    if (auto by_epoch = left.epoch <=> right.epoch; by_epoch != 0)
      return by_epoch;
    return left.seq <=> right.seq;
  }
  friend bool operator==(const position& left, const position& right) noexcept {
    return left.epoch == right.epoch && left.seq == right.seq;
  }
};

/// Whether a lane may carry `next` after `last`: above it, or a further part of the transaction that `last` left open.
/// (A transaction that is cut keeps its seq in every part; only its last part ends it.)
inline bool may_follow(const position& last, const position& next) noexcept {
  return next > last || (next == last && !last.ends_transaction);
}

/// Whether everything up to `wanted` is behind `reached`: an open part of a transaction does not cover its end.
inline bool covers(const position& reached, const position& wanted) noexcept {
  if (reached == wanted)
    return reached.ends_transaction || !wanted.ends_transaction;
  return reached > wanted;
}

/// The one that covers less; the first of two that cover the same.
inline const position& lesser(const position& left, const position& right) noexcept {
  return covers(right, left) ? left : right;
}

/// "epoch:seq", for people.
std::string to_string(const position& at);

} // namespace weir
