#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstdint>
#include <optional>

namespace weir {

/// Something that a timer wheel can expire: embedded in whoever waits. Leaves its wheel when it is destroyed.
class timer_entry {
public:
  timer_entry() noexcept = default;
  ~timer_entry() { unlink(); }
  timer_entry(const timer_entry&) = delete;
  timer_entry& operator=(const timer_entry&) = delete;

  bool is_scheduled() const noexcept { return next_ != nullptr; }

  /// Leaves the wheel without expiring. Constant time.
  void unlink() noexcept {
    if (next_ == nullptr)
      return;
    next_->previous_ = previous_;
    previous_->next_ = next_;
    next_ = previous_ = nullptr;
  }

private:
  friend class timer_wheel;
  timer_entry* next_ = nullptr;
  timer_entry* previous_ = nullptr;
  std::uint64_t due_ = 0;
};

/// A hierarchical timer wheel (Varghese and Lauck, 1987): eight levels of 64 slots, of which each holds entries of one stretch
/// of ticks. Scheduling and leaving take constant time; an entry moves down at most seven levels before it expires. What a
/// tick is, and when one has passed, is the caller's affair.
class timer_wheel {
public:
  explicit timer_wheel(std::uint64_t now = 0) noexcept : now_{now} {
    for (auto& level : slots_)
      for (auto& slot : level)
        slot.next_ = slot.previous_ = &slot;
  }

  ~timer_wheel() {
    for (auto& level : slots_)
      for (auto& slot : level) {
        while (slot.next_ != &slot)
          slot.next_->unlink();
        slot.next_ = slot.previous_ = nullptr;
      }
  }

  timer_wheel(const timer_wheel&) = delete;
  timer_wheel& operator=(const timer_wheel&) = delete;

  /// Expires the entry once `due` is reached; one that lies behind expires at the next advance. Moves it if it was scheduled.
  void schedule(timer_entry& entry, std::uint64_t due) noexcept {
    entry.unlink();
    entry.due_ = due > now_ ? due : now_ + 1;
    insert(entry);
  }

  std::uint64_t now() const noexcept { return now_; }

  /// Moves time on and calls `expired(entry)` for each entry that is due, earlier ones first; each has left the wheel then, and
  /// the callback may schedule and unlink at will. Time spent is proportional to what expires and moves, not to what passes.
  template <class F>
  void advance(std::uint64_t to, F&& expired) {
    while (now_ < to) {
      const auto next = next_event();
      if (!next || *next > to) {
        now_ = to;
        return;
      }
      now_ = *next;
      for (std::size_t level = levels - 1; level > 0; --level)
        if ((now_ & (span_of(level) - 1)) == 0)
          move_down(slots_[level][index_of(now_, level)]);
      auto& due = slots_[0][index_of(now_, 0)];
      while (due.next_ != &due) {
        auto& entry = *due.next_;
        entry.unlink();
        expired(entry);
      }
    }
  }

  /// The tick by which advance() must be called next: never later than the earliest entry's, and earlier only where an entry
  /// has to move down. Nothing when the wheel is empty.
  std::optional<std::uint64_t> next_event() const noexcept {
    std::optional<std::uint64_t> earliest;
    for (std::size_t level = 0; level < levels; ++level) {
      const auto span = span_of(level);
      const auto base = now_ & ~(span - 1);
      for (std::uint64_t step = 1; step <= slots_per_level; ++step) {
        const auto& slot = slots_[level][index_of(base + step * span, level)];
        if (slot.next_ == &slot)
          continue;
        const auto at = base + step * span;
        if (!earliest || at < *earliest)
          earliest = at;
        break;
      }
    }
    return earliest;
  }

private:
  static constexpr std::size_t levels = 8;
  static constexpr std::uint64_t bits = 6;
  static constexpr std::uint64_t slots_per_level = 1u << bits;

  static constexpr std::uint64_t span_of(std::size_t level) noexcept { return std::uint64_t{1} << (bits * level); }
  static constexpr std::size_t index_of(std::uint64_t tick, std::size_t level) noexcept {
    return static_cast<std::size_t>((tick >> (bits * level)) & (slots_per_level - 1));
  }

  void insert(timer_entry& entry) noexcept {
    std::size_t level = 0;
    while (level + 1 < levels && (entry.due_ >> (bits * level)) - (now_ >> (bits * level)) >= slots_per_level)
      ++level;
    auto due = entry.due_;
    const auto farthest = ((now_ >> (bits * level)) + slots_per_level - 1) << (bits * level);
    if (due > farthest && level + 1 == levels)
      due = farthest; // beyond the wheel: it comes around again
    auto& slot = slots_[level][index_of(due, level)];
    entry.previous_ = slot.previous_;
    entry.next_ = &slot;
    slot.previous_->next_ = &entry;
    slot.previous_ = &entry;
  }

  void move_down(timer_entry& slot) noexcept {
    timer_entry* one = slot.next_;
    slot.next_ = slot.previous_ = &slot;
    while (one != &slot) {
      timer_entry* following = one->next_;
      if (one->due_ <= now_) {
        // Due in this very tick: into the slot that advance() empties next.
        one->due_ = now_;
        insert_at_now(*one);
      } else {
        insert(*one);
      }
      one = following;
    }
  }

  void insert_at_now(timer_entry& entry) noexcept {
    auto& slot = slots_[0][index_of(now_, 0)];
    entry.previous_ = slot.previous_;
    entry.next_ = &slot;
    slot.previous_->next_ = &entry;
    slot.previous_ = &entry;
  }

  std::uint64_t now_;
  std::array<std::array<timer_entry, slots_per_level>, levels> slots_;
};

} // namespace weir
