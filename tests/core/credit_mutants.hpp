#pragma once

#include "credit_model.hpp"

#include <optional>

/// Versions of the credit protocol that get one thing wrong. The model must find each of them.
namespace core_tests::mutants {

struct grant_at_dequeue : credit_protocol {
  static constexpr bool done_when_dequeued = true;
};

struct shared_counter : credit_protocol {
  static constexpr bool window_is_shared = true;
};

struct close_charged : credit_protocol {
  static constexpr bool close_costs_credit = true;
};

struct control_charged : credit_protocol {
  static constexpr bool probe_costs_credit = true;
};

struct waiter_not_counted : credit_protocol {
  static constexpr bool waiters_are_free = true;
};

struct waiter_forgotten : credit_protocol {
  static constexpr bool waiters_are_forgotten = true;
};

struct slot_let_go_early : credit_protocol {
  static constexpr bool slot_ends_when_dequeued = true;
};

struct close_before_waiters : credit_protocol {
  static constexpr bool close_overtakes_waiters = true;
};

/// Grants say how much more, not up to where.
struct relative_grant : credit_protocol {
  struct sending : weir::sending_credit {
    sending(credit bound, credit granted) noexcept : sending_credit{bound, granted}, bound_{bound} {}
    void on_grant(credit more) noexcept {
      const auto before = granted();
      static_cast<sending_credit&>(*this) = {bound_, {before.items + more.items, before.bytes + more.bytes}, spent()};
    }
    credit bound_;
  };
  struct receiving : weir::receiving_credit {
    using receiving_credit::receiving_credit;
    std::optional<credit> take_grant(bool at_once = false) noexcept {
      const auto before = granted();
      const auto up_to = receiving_credit::take_grant(at_once);
      return up_to ? std::optional{credit{up_to->items - before.items, up_to->bytes - before.bytes}} : std::nullopt;
    }
  };
  static credit overwrite(credit older, credit newer) noexcept {
    return {older.items + newer.items, older.bytes + newer.bytes};
  }
};

/// The sender believes the grant that came last.
struct last_grant_wins : credit_protocol {
  struct sending : weir::sending_credit {
    sending(credit bound, credit granted) noexcept : sending_credit{bound, granted}, bound_{bound} {}
    void on_grant(credit up_to) noexcept { static_cast<sending_credit&>(*this) = {bound_, up_to, spent()}; }
    credit bound_;
  };
};

/// The receiver only answers probes.
struct no_grant_when_half_free : credit_protocol {
  struct receiving : weir::receiving_credit {
    using receiving_credit::receiving_credit;
    void on_probe(credit wanted) noexcept {
      wanted_ = wanted;
      receiving_credit::on_probe(wanted);
    }
    std::optional<credit> take_grant(bool at_once = false) noexcept {
      const credit most{done().items + bound().items, done().bytes + bound().bytes};
      if (!wanted_ || most.items < wanted_->items || most.bytes < wanted_->bytes)
        return std::nullopt;
      wanted_.reset();
      return receiving_credit::take_grant(at_once);
    }
    std::optional<credit> wanted_;
  };
};

struct probe_ignored : credit_protocol {
  struct receiving : weir::receiving_credit {
    using receiving_credit::receiving_credit;
    void on_probe(credit) noexcept {}
  };
};

/// The receiver answers a probe only when it has something new to say, so that a lost grant stays lost.
struct grant_not_repeated : credit_protocol {
  struct receiving : weir::receiving_credit {
    using receiving_credit::receiving_credit;
    std::optional<credit> take_grant(bool at_once = false) noexcept {
      const auto before = granted();
      const auto up_to = receiving_credit::take_grant(at_once);
      return up_to == before ? std::nullopt : up_to;
    }
  };
};

struct large_item_never_admitted : credit_protocol {
  struct sending : weir::sending_credit {
    using sending_credit::sending_credit;
    bool may_send(std::uint64_t bytes) const noexcept {
      return sending_credit::may_send(bytes) && spent().bytes + bytes <= granted().bytes;
    }
  };
};

struct large_item_not_alone : credit_protocol {
  struct sending : weir::sending_credit {
    sending(credit bound, credit granted) noexcept : sending_credit{bound, granted}, bound_{bound} {}
    bool may_send(std::uint64_t bytes) const noexcept {
      return sending_credit::may_send(bytes) || (available_items() > 0 && bytes > bound_.bytes);
    }
    void spend(std::uint64_t bytes) noexcept {
      static_cast<sending_credit&>(*this) = {bound_, granted(), {spent().items + 1, spent().bytes + bytes}};
    }
    credit bound_;
  };
};

/// The receiver grants its whole window anew, whatever it still holds.
struct grant_above_window : credit_protocol {
  struct receiving : weir::receiving_credit {
    using receiving_credit::receiving_credit;
    std::optional<credit> take_grant(bool at_once = false) noexcept {
      const auto up_to = receiving_credit::take_grant(at_once);
      return up_to ? std::optional{credit{received().items + bound().items, received().bytes + bound().bytes}} : std::nullopt;
    }
  };
};

} // namespace core_tests::mutants
