#pragma once

#include <weir/credit.hpp>

#include "state_table.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#if defined(__GNUC__) && !defined(__clang__)
// g++ 12 loses sight of where a copied state was initialised once everything is inlined.
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

namespace core_tests {

using weir::credit;

/// What must hold in every state that the credit protocol can reach. Named in the model's answers.
enum class property : std::uint8_t {
  all_hold,
  window_kept,         ///< sent − done ≤ W, in items and bytes; an item larger than W is alone
  grant_within_window, ///< up to ≤ done + W, at the receiver, under way and at the sender
  sent_within_grant,   ///< what arrives was granted
  credit_conserved,    ///< granted = spent + available, spent = received + under way, received = done + held
  nobody_forgotten,    ///< a starved sender is about to be told, or about to be noticed
  finished_once,       ///< every accepted item is done, dropped or failed exactly once
  depth_counted,       ///< the slots counted as taken are those that are
  can_always_finish,   ///< from every state the protocol gets to the end by itself
};

std::string_view name_of(property one);

/// How much of the protocol one search covers: what may happen, and how often.
struct credit_scope {
  std::string_view name;
  std::size_t senders = 1;
  credit window{2, 100};
  std::vector<std::uint8_t> items{1, 1, 1, 1}; ///< bytes of the items that each sender publishes
  std::size_t line = 2;                        ///< how many publishers may wait at each sender
  bool asks_when_starved = false;              ///< who lacks bytes, not items, probes at once; else only after a loss
  bool grants_when_idle = false;               ///< a receiver with nothing left to do grants whatever is free
  std::uint8_t losses = 0;                     ///< grants lost
  std::uint8_t copies = 0;                     ///< grants doubled; the copy comes at any later time
  std::uint8_t crashes = 0;                    ///< of the receiver or a sender
  std::uint8_t cancels = 0;
  std::uint8_t returns = 0; ///< items that the receiver gives back instead of finishing them
};

struct credit_answer {
  property broken = property::all_hold;
  std::string trace; ///< the shortest way there
  std::size_t states = 0;
};

/// The protocol as it is meant. A mutant derives from it and gets one thing wrong.
struct credit_protocol {
  using sending = weir::sending_credit;
  using receiving = weir::receiving_credit;

  static constexpr bool done_when_dequeued = false; ///< grants for what has left the mailbox
  static constexpr bool window_is_shared = false;   ///< one counter for all senders
  static constexpr bool close_costs_credit = false;
  static constexpr bool probe_costs_credit = false;
  static constexpr bool waiters_are_free = false;      ///< a publisher that waited sends without paying
  static constexpr bool waiters_are_forgotten = false; ///< those who wait when it ends are told nothing
  static constexpr bool slot_ends_when_dequeued = false;
  static constexpr bool close_overtakes_waiters = false; ///< closes with publishers still in line

  /// A grant that has not been taken from the queue is overwritten by the newer one.
  static credit overwrite(credit, credit newer) noexcept { return newer; }
};

/// A short list in place; the model copies millions of them.
class short_list {
public:
  static constexpr std::size_t capacity = 7;

  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }
  std::uint8_t front() const noexcept { return numbers_[0]; }
  const std::uint8_t* begin() const noexcept { return numbers_.data(); }
  const std::uint8_t* end() const noexcept { return numbers_.data() + size_; }

  void push_back(std::uint8_t number) { numbers_.at(size_++) = number; }
  void push_front(std::uint8_t number) {
    std::copy_backward(begin(), end(), numbers_.data() + size_ + 1);
    numbers_.at(0) = number;
    ++size_;
  }
  std::uint8_t pop_front() noexcept {
    const auto first = front();
    std::copy(begin() + 1, end(), numbers_.begin());
    --size_;
    return first;
  }
  void clear() noexcept { size_ = 0; }

private:
  std::array<std::uint8_t, capacity> numbers_{};
  std::uint8_t size_ = 0;
};

/// One message that may be under way.
struct maybe_credit {
  bool there = false;
  credit amount;
};

enum class sender_phase : std::uint8_t { open, closing, ended, crashed };

/// Searches every interleaving of the credit protocol (runtime: one lane = one sender → one receiver), breadth first. Between
/// each sender and the receiver there are four queues: urgent and normal messages each way, of which urgent ones may overtake;
/// grants are one slot that a newer grant overwrites, plus a copy that was doubled on the way.
template <class Protocol>
class credit_model {
public:
  explicit credit_model(const credit_scope& scope) : scope_{scope} {}

  /// The first property that breaks, with the way there.
  credit_answer search() {
    nodes_.push_back({});
    known_.number_of(encode(start()).view());
    frontier_.push_back(start());
    for (std::size_t at = 0; !frontier_.empty(); ++at) {
      const auto from = frontier_.front();
      frontier_.pop_front();
      nodes_[at].finished = is_finished(from);
      for_each_step(from, [&](step_kind kind, std::size_t which, const state& next) { note(at, kind, which, next); });
      if (broken_ != property::all_hold)
        return {broken_, trace_of(broken_at_), nodes_.size()};
    }
    if (const auto stuck = find_stuck(); stuck < nodes_.size())
      return {property::can_always_finish, trace_of(stuck), nodes_.size()};
    return {property::all_hold, {}, nodes_.size()};
  }

private:
  using sending = typename Protocol::sending;
  using receiving = typename Protocol::receiving;

  static constexpr std::uint8_t close_mark = 0xFE;
  static constexpr std::uint8_t down_mark = 0xFF;
  static constexpr std::size_t most_senders = 3;

  struct link {
    // The sender.
    sender_phase phase = sender_phase::open;
    sending ledger;
    std::uint8_t published = 0;
    short_list line;    // items whose publishers wait
    short_list unheard; // items sent of which nothing was heard yet
    bool has_asked = false;
    // Sender to receiver.
    bool open_under_way = true;
    maybe_credit probe;
    short_list normal; // items, close_mark, down_mark
    // Receiver to sender.
    maybe_credit grant;
    maybe_credit copy;
    std::uint8_t finished_under_way = 0; // acknowledged, dropped or returned since the last one was heard: cumulative
    short_list returned_under_way;
    bool cancel_under_way = false;
    bool down_under_way = false;
    // The receiver.
    bool attached = false;
    bool cancelled = false;
    receiving window;
    maybe_credit wish; // what the window keeps of the last probe
    short_list held;
    // What the checker keeps.
    credit lost;            // the highest grant that got lost
    std::uint8_t slots = 0; // as the slot tokens count them
    std::array<std::uint8_t, short_list::capacity> outcomes{};

    explicit link(credit bound) : ledger{bound, {}}, window{bound} {}
  };

  struct state {
    std::array<link, most_senders> links;
    receiving shared; // for the mutant that shares one
    bool receiver_lives = true;
    std::uint8_t losses, copies, crashes, cancels, returns;
    property broken = property::all_hold; // found while making a step
  };

  enum class step_kind : std::uint8_t {
    hear_open,
    hear_probe,
    hear_data,
    hear_close,
    hear_down,
    finish,
    hear_grant,
    hear_copy,
    hear_finished,
    hear_cancel,
    learn_of_crash,
    probe_after_loss, // the protocol gets on with these alone
    publish,
    close,
    give_back,
    cancel,
    lose_grant,
    double_grant,
    crash_receiver,
    crash_sender,
  };

  struct node {
    std::uint32_t parent = 0;
    step_kind kind{};
    std::uint8_t link = 0;
    bool finished = false;
  };

  state start() const {
    const link fresh{scope_.window};
    return {.links = {fresh, fresh, fresh},
      .shared = receiving{scope_.window},
      .receiver_lives = true,
      .losses = scope_.losses,
      .copies = scope_.copies,
      .crashes = scope_.crashes,
      .cancels = scope_.cancels,
      .returns = scope_.returns};
  }

  std::uint64_t bytes_of(std::uint8_t item) const { return scope_.items[item]; }

  receiving& window_of(state& in, link& at) const {
    if constexpr (Protocol::window_is_shared)
      return in.shared;
    else
      return at.window;
  }

  // What each side does in its turn --------------------------------------------------------------------------------------

  void send(link& at, std::uint8_t item, bool waited) const {
    if (!(Protocol::waiters_are_free && waited))
      at.ledger.spend(bytes_of(item));
    at.normal.push_back(item);
    at.unheard.push_back(item);
    ++at.slots;
  }

  bool is_starved(const link& at) const {
    return (at.phase == sender_phase::open || at.phase == sender_phase::closing) && !at.line.empty()
           && !at.ledger.may_send(bytes_of(at.line.front()));
  }

  /// After every event at the sender: those who wait go, then the close behind them, or the question where it starves.
  void flush(link& at) const {
    if (at.phase != sender_phase::open && at.phase != sender_phase::closing)
      return;
    while (!at.line.empty() && at.ledger.may_send(bytes_of(at.line.front()))) {
      send(at, at.line.pop_front(), true);
      at.has_asked = false;
    }
    if (scope_.asks_when_starved && is_starved(at) && !at.has_asked && at.ledger.available_items() > 0) {
      at.has_asked = true;
      ask(at);
    }
    const bool all_sent = at.line.empty() || Protocol::close_overtakes_waiters;
    const bool may_come_back = scope_.returns > 0 && !at.unheard.empty();
    if (at.phase == sender_phase::closing && all_sent && !may_come_back) {
      if constexpr (Protocol::close_costs_credit) {
        if (!at.ledger.may_send(0))
          return;
        at.ledger.spend(0);
      }
      at.normal.push_back(close_mark);
      at.phase = sender_phase::ended;
    }
  }

  void ask(link& at) const {
    const auto wanted = at.ledger.wanted_for(bytes_of(at.line.front()));
    if constexpr (Protocol::probe_costs_credit) {
      if (!at.ledger.may_send(0))
        return;
      at.ledger.spend(0);
    }
    at.probe = {true, wanted};
  }

  void end_all(link& at, short_list& items) const {
    while (!items.empty())
      count_outcome(at, items.pop_front());
  }

  /// The line ends with the sender: who waits is told so.
  void end_line(link& at) const {
    if constexpr (Protocol::waiters_are_forgotten)
      at.line.clear();
    else
      end_all(at, at.line);
  }

  static void count_outcome(link& at, std::uint8_t item) { ++at.outcomes[item]; }

  /// After every event at the receiver.
  void offer_grant(state& in, link& at, bool at_once = false) const {
    if (at.phase == sender_phase::crashed) // its address is gone
      return;
    auto& window = window_of(in, at);
    const auto up_to = window.take_grant(at_once);
    if (!up_to)
      return;
    if (at.wish.there && up_to->items >= at.wish.amount.items && up_to->bytes >= at.wish.amount.bytes)
      at.wish = {};
    send_grant(at, *up_to);
  }

  static void send_grant(link& at, credit up_to) {
    at.grant = {true, at.grant.there ? Protocol::overwrite(at.grant.amount, up_to) : up_to};
  }

  void dequeue(state& in, link& at, std::uint8_t item) const {
    auto& window = window_of(in, at);
    if (!window.on_received(1, bytes_of(item)))
      in.broken = property::sent_within_grant;
    at.held.push_back(item);
    if constexpr (Protocol::done_when_dequeued)
      window.on_done(1, bytes_of(item));
    if constexpr (Protocol::slot_ends_when_dequeued)
      --at.slots;
    if (at.cancelled)
      finish_first(in, at, true);
  }

  /// The receiver is done with its oldest item of that sender: handled, dropped by a cancelled lane, or returned.
  void finish_first(state& in, link& at, bool ends) const {
    const auto item = at.held.pop_front();
    if constexpr (!Protocol::done_when_dequeued)
      window_of(in, at).on_done(1, bytes_of(item));
    if constexpr (!Protocol::slot_ends_when_dequeued)
      --at.slots;
    if (ends)
      count_outcome(at, item);
    if (at.phase == sender_phase::crashed) // nobody is left to hear of it
      return;
    ++at.finished_under_way;
    if (!ends)
      at.returned_under_way.push_back(item);
  }

  // All that may happen next ----------------------------------------------------------------------------------------------

  template <class F>
  void for_each_step(const state& from, F&& emit) const {
    for (std::size_t number = 0; number < scope_.senders; ++number) {
      const auto& at = from.links[number];
      auto step = [&](step_kind kind, auto&& change) {
        auto next = from;
        change(next, next.links[number]);
        if (!next.receiver_lives)
          lose_mail(next.links[number]);
        emit(kind, number, next);
      };
      if (from.receiver_lives)
        steps_of_receiver(from, at, step);
      if (at.phase != sender_phase::crashed)
        steps_of_sender(from, at, step);
    }
    if (from.receiver_lives && from.crashes > 0) {
      auto next = from;
      --next.crashes;
      crash_receiver(next);
      emit(step_kind::crash_receiver, 0, next);
    }
  }

  template <class Step>
  void steps_of_receiver(const state& from, const link& at, Step& step) const {
    if (at.open_under_way)
      step(step_kind::hear_open, [this](state& in, link& to) {
        to.open_under_way = false;
        to.attached = true;
        send_grant(to, window_of(in, to).granted());
      });
    if (at.probe.there && at.attached) // behind the open
      step(step_kind::hear_probe, [this](state& in, link& to) {
        to.wish = std::exchange(to.probe, {});
        window_of(in, to).on_probe(to.wish.amount);
        offer_grant(in, to);
      });
    if (!at.normal.empty() && at.attached) {
      if (at.normal.front() == close_mark)
        step(step_kind::hear_close, [](state&, link& to) { to.normal.pop_front(); });
      else if (at.normal.front() == down_mark)
        step(step_kind::hear_down, [](state&, link& to) { to.normal.pop_front(); });
      else
        step(step_kind::hear_data, [this](state& in, link& to) {
          dequeue(in, to, to.normal.pop_front());
          offer_grant(in, to);
        });
    }
    if (!at.held.empty()) {
      step(step_kind::finish, [this](state& in, link& to) {
        finish_first(in, to, true);
        offer_grant(in, to, scope_.grants_when_idle && to.held.empty());
      });
      if (from.returns > 0 && at.phase != sender_phase::crashed)
        step(step_kind::give_back, [this](state& in, link& to) {
          --in.returns;
          finish_first(in, to, false);
          offer_grant(in, to);
        });
    }
    if (from.cancels > 0 && at.attached && !at.cancelled)
      step(step_kind::cancel, [this](state& in, link& to) {
        --in.cancels;
        to.cancelled = true;
        to.cancel_under_way = to.phase != sender_phase::crashed;
        while (!to.held.empty())
          finish_first(in, to, true); // dropped by policy
        offer_grant(in, to);
      });
  }

  template <class Step>
  void steps_of_sender(const state& from, const link& at, Step& step) const {
    if (at.phase == sender_phase::open && at.published < scope_.items.size()) {
      const bool goes = at.line.empty() && at.ledger.may_send(bytes_of(at.published));
      if (goes || at.line.size() < scope_.line) // else the publisher is refused: nothing was accepted
        step(step_kind::publish, [this, goes](state&, link& by) {
          const auto item = by.published++;
          if (goes)
            send(by, item, false);
          else
            by.line.push_back(item);
          flush(by);
        });
    }
    if (at.phase == sender_phase::open)
      step(step_kind::close, [this](state&, link& by) {
        by.phase = sender_phase::closing;
        flush(by);
      });
    auto hear_grant = [this](maybe_credit link::* which) {
      return [this, which](state&, link& by) {
        by.ledger.on_grant(std::exchange(by.*which, {}).amount);
        by.has_asked = false;
        flush(by);
      };
    };
    if (at.grant.there) {
      step(step_kind::hear_grant, hear_grant(&link::grant));
      if (from.losses > 0)
        step(step_kind::lose_grant, [](state& in, link& by) {
          --in.losses;
          const auto gone = by.grant.amount;
          by.grant = {};
          by.lost = {std::max(by.lost.items, gone.items), std::max(by.lost.bytes, gone.bytes)};
        });
      if (from.copies > 0 && !at.copy.there)
        step(step_kind::double_grant, [](state& in, link& by) {
          --in.copies;
          by.copy = by.grant;
        });
    }
    if (at.copy.there)
      step(step_kind::hear_copy, hear_grant(&link::copy));
    if (at.finished_under_way > 0)
      step(step_kind::hear_finished, [this](state&, link& by) {
        for (; by.finished_under_way > 0; --by.finished_under_way)
          by.unheard.pop_front();
        while (!by.returned_under_way.empty()) {
          const auto item = by.returned_under_way.pop_front();
          if (by.phase == sender_phase::ended) // it was cancelled meanwhile
            count_outcome(by, item);
          else
            by.line.push_front(item);
        }
        flush(by);
      });
    if (at.cancel_under_way)
      step(step_kind::hear_cancel, [this](state&, link& by) {
        by.cancel_under_way = false;
        end_line(by);
        if (by.phase != sender_phase::ended)
          by.normal.push_back(close_mark);
        by.phase = sender_phase::ended;
      });
    // Down is an ordinary message: what the receiver said before comes first.
    if (at.down_under_way && !at.grant.there && !at.copy.there && at.finished_under_way == 0 && !at.cancel_under_way)
      step(step_kind::learn_of_crash, [this](state&, link& by) {
        by.down_under_way = false;
        end_all(by, by.unheard);
        end_line(by);
        by.phase = sender_phase::ended;
      });
    if (is_starved(at) && has_lost_something(at) && !at.probe.there)
      step(step_kind::probe_after_loss, [this](state&, link& by) { ask(by); });
    if (from.crashes > 0 && from.receiver_lives)
      step(step_kind::crash_sender, [this](state& in, link& by) {
        --in.crashes;
        end_line(by);
        by.unheard.clear();
        by.phase = sender_phase::crashed;
        by.normal.push_back(down_mark);
        by.grant = by.copy = {};
        by.finished_under_way = 0;
        end_all(by, by.returned_under_way);
        by.cancel_under_way = false;
      });
  }

  void crash_receiver(state& in) const {
    in.receiver_lives = false;
    for (std::size_t number = 0; number < scope_.senders; ++number) {
      auto& at = in.links[number];
      if (at.phase == sender_phase::crashed) {
        // Both are gone; what was under way dies with the mailbox.
        for (const auto item : at.normal)
          if (item < close_mark)
            count_outcome(at, item);
        end_all(at, at.held);
      }
      at.attached = false;
      at.held.clear();
      lose_mail(at);
      at.down_under_way = at.phase != sender_phase::crashed;
    }
  }

  /// What was sent to a receiver that is gone; the envelopes are destroyed.
  static void lose_mail(link& at) {
    at.open_under_way = false;
    at.probe = at.wish = {};
    at.normal.clear();
    at.slots = 0;
  }

  static bool has_lost_something(const link& at) {
    return at.ledger.granted().items < at.lost.items || at.ledger.granted().bytes < at.lost.bytes;
  }

  // The properties ----------------------------------------------------------------------------------------------------------

  credit under_way(const link& at) const {
    credit sum;
    for (const auto item : at.normal)
      if (item < close_mark) {
        ++sum.items;
        sum.bytes += bytes_of(item);
      }
    return sum;
  }

  credit held(const link& at) const {
    credit sum{at.held.size(), 0};
    for (const auto item : at.held)
      sum.bytes += bytes_of(item);
    return sum;
  }

  property check(const state& in) const {
    if (in.broken != property::all_hold)
      return in.broken;
    for (std::size_t number = 0; number < scope_.senders; ++number)
      if (const auto broken = check(in, in.links[number]); broken != property::all_hold)
        return broken;
    return property::all_hold;
  }

  property check(const state& in, const link& at) const {
    for (std::uint8_t item = 0; item < scope_.items.size(); ++item)
      if (at.outcomes[item] > 1)
        return property::finished_once;
    const auto sent = under_way(at);
    const auto kept = held(at);
    if (at.slots != sent.items + kept.items)
      return property::depth_counted;
    if (!in.receiver_lives)
      return property::all_hold;
    const auto& bound = scope_.window;
    const credit open{sent.items + kept.items, sent.bytes + kept.bytes};
    if (open.items > bound.items || (open.bytes > bound.bytes && open.items > 1))
      return property::window_kept;
    if (const auto broken = check_totals(at, sent, kept); broken != property::all_hold)
      return broken;
    return is_starved(at) && !is_remembered(at, sent, kept) ? property::nobody_forgotten : property::all_hold;
  }

  property check_totals(const link& at, credit sent, credit kept) const {
    const auto& window = at.window;
    if constexpr (Protocol::window_is_shared)
      return property::all_hold;
    if constexpr (!Protocol::done_when_dequeued)
      if (!(window.held() == kept))
        return property::credit_conserved;
    const credit most{window.done().items + scope_.window.items, window.done().bytes + scope_.window.bytes};
    for (const auto up_to : {window.granted(), at.grant.amount, at.copy.amount, at.ledger.granted()})
      if (up_to.items > most.items || up_to.bytes > most.bytes)
        return property::grant_within_window;
    const auto spent = at.ledger.spent();
    if (at.phase != sender_phase::crashed)
      if (!(spent == credit{window.received().items + sent.items, window.received().bytes + sent.bytes})
          || at.ledger.granted().items > window.granted().items || at.ledger.granted().bytes > window.granted().bytes
          || spent.items + at.ledger.available_items() != at.ledger.granted().items || spent.items > at.ledger.granted().items)
        return property::credit_conserved;
    return property::all_hold;
  }

  /// A starved sender: a grant is on its way to it, or there is work at the receiver after which one will be, or its question
  /// is on its way, or it will ask because a grant got lost.
  bool is_remembered(const link& at, credit sent, credit kept) const {
    const auto tells = [&](const maybe_credit& up_to) {
      return up_to.there && (up_to.amount.items > at.ledger.granted().items || up_to.amount.bytes > at.ledger.granted().bytes);
    };
    return at.open_under_way || tells(at.grant) || tells(at.copy) || sent.items + kept.items > 0 || at.probe.there
           || at.cancel_under_way || has_lost_something(at);
  }

  /// Nothing is under way and everything accepted has ended.
  bool is_finished(const state& in) const {
    for (std::size_t number = 0; number < scope_.senders; ++number) {
      const auto& at = in.links[number];
      if (!at.line.empty() || !at.normal.empty() || !at.held.empty() || !at.unheard.empty() || at.finished_under_way > 0
          || at.phase == sender_phase::closing)
        return false;
      for (std::uint8_t item = 0; item < at.published; ++item)
        if (at.outcomes[item] != 1)
          return false;
    }
    return true;
  }

  // The search ----------------------------------------------------------------------------------------------------------------

  void note(std::size_t from, step_kind kind, std::size_t which, const state& next) {
    const auto [number, is_new] = known_.number_of(encode(next).view());
    if (is_new) {
      nodes_.push_back({static_cast<std::uint32_t>(from), kind, static_cast<std::uint8_t>(which)});
      frontier_.push_back(next);
      if (broken_ == property::all_hold) {
        broken_ = check(next);
        broken_at_ = nodes_.size() - 1;
      }
    }
    if (kind < step_kind::publish)
      back_edges_.emplace_back(number, static_cast<std::uint32_t>(from));
  }

  /// A state from which the protocol alone (no new publish, no fault) can't get to the end; or nodes_.size().
  std::size_t find_stuck() {
    std::ranges::sort(back_edges_);
    std::vector<bool> gets_there(nodes_.size());
    std::vector<std::uint32_t> unvisited;
    for (std::size_t at = 0; at < nodes_.size(); ++at)
      if (nodes_[at].finished) {
        gets_there[at] = true;
        unvisited.push_back(static_cast<std::uint32_t>(at));
      }
    while (!unvisited.empty()) {
      const auto at = unvisited.back();
      unvisited.pop_back();
      auto edge = std::ranges::lower_bound(back_edges_, std::pair{at, std::uint32_t{0}});
      for (; edge != back_edges_.end() && edge->first == at; ++edge)
        if (!gets_there[edge->second]) {
          gets_there[edge->second] = true;
          unvisited.push_back(edge->second);
        }
    }
    return static_cast<std::size_t>(std::ranges::find(gets_there, false) - gets_there.begin());
  }

  std::string trace_of(std::size_t at) const {
    static constexpr const char* names[] = {"R hears the open", "R hears the probe", "R hears data", "R hears the close",
      "R learns of the crash", "R finishes an item", "S hears a grant", "S hears the doubled grant", "S hears what is finished",
      "S hears the cancel", "S learns of the crash", "S asks again", "publish", "close", "R returns an item", "R cancels",
      "a grant is lost", "a grant is doubled", "R crashes", "S crashes"};
    std::vector<std::string> lines;
    for (; at != 0; at = nodes_[at].parent)
      lines.push_back("\n  " + std::to_string(nodes_[at].link) + ": " + names[static_cast<std::size_t>(nodes_[at].kind)]);
    std::string text;
    for (auto line = lines.rbegin(); line != lines.rend(); ++line)
      text += *line;
    return text;
  }

  // A state as bytes. Senders are alike, so their order is left out of it.
  state_bytes encode(const state& in) const {
    std::array<state_bytes, most_senders> parts;
    std::array<std::string_view, most_senders> views;
    for (std::size_t number = 0; number < scope_.senders; ++number) {
      encode(in.links[number], parts[number]);
      views[number] = parts[number].view();
    }
    std::sort(views.begin(), views.begin() + static_cast<std::ptrdiff_t>(scope_.senders));
    state_bytes bytes;
    for (std::size_t number = 0; number < scope_.senders; ++number)
      bytes.add(views[number]);
    for (const auto number : {in.losses, in.copies, in.crashes, in.cancels, in.returns})
      bytes.add(number);
    bytes.add(in.receiver_lives ? 1 : 0);
    if constexpr (Protocol::window_is_shared)
      encode(in.shared, bytes);
    return bytes;
  }

  static void encode(credit amount, state_bytes& to) {
    to.add(amount.items);
    to.add(amount.bytes);
  }

  static void encode(const maybe_credit& one, state_bytes& to) {
    to.add(one.there ? 1 : 0);
    if (one.there)
      encode(one.amount, to);
  }

  static void encode(const short_list& list, state_bytes& to) {
    to.add(list.size());
    for (const auto number : list)
      to.add(number);
  }

  static void encode(const receiving& window, state_bytes& to) {
    encode(window.granted(), to);
    encode(window.received(), to);
    encode(window.done(), to);
  }

  void encode(const link& at, state_bytes& to) const {
    to.add(static_cast<std::uint64_t>(at.phase));
    encode(at.ledger.granted(), to);
    encode(at.ledger.spent(), to);
    to.add(at.published);
    encode(at.line, to);
    encode(at.unheard, to);
    encode(at.probe, to);
    encode(at.normal, to);
    encode(at.grant, to);
    encode(at.copy, to);
    to.add(at.finished_under_way);
    encode(at.returned_under_way, to);
    to.add((at.has_asked ? 1u : 0u) | (at.open_under_way ? 2u : 0u) | (at.cancel_under_way ? 4u : 0u)
           | (at.down_under_way ? 8u : 0u) | (at.attached ? 16u : 0u) | (at.cancelled ? 32u : 0u));
    encode(at.window, to);
    encode(at.wish, to);
    encode(at.held, to);
    encode(at.lost, to);
    to.add(at.slots);
    for (std::uint8_t item = 0; item < at.published; ++item)
      to.add(at.outcomes[item]);
  }

  credit_scope scope_;
  std::vector<node> nodes_;
  std::deque<state> frontier_;
  state_table known_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> back_edges_; // to, from
  property broken_ = property::all_hold;
  std::size_t broken_at_ = 0;
};

} // namespace core_tests
