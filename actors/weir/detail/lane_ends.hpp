#pragma once

#include <weir/batch.hpp>
#include <weir/credit.hpp>
#include <weir/detail/budget.hpp>
#include <weir/detail/host.hpp>
#include <weir/detail/log_report.hpp>
#include <weir/detail/protocol.hpp>
#include <weir/error.hpp>
#include <weir/progress.hpp>
#include <weir/resume_point.hpp>
#include <weir/ring.hpp>
#include <weir/shared_item.hpp>
#include <weir/shared_wiring.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace weir {

class attach_operation;
class receive_operation;
template <class T>
class delivery;

namespace detail {

class log_line;
class producer_end;

/// The bytes that are published and not yet stored, of all publishers together. Any thread.
class log_budget {
public:
  explicit log_budget(std::uint64_t limit) noexcept : limit_{limit} {}

  /// One item that is larger than the limit goes alone. When there is no room, somebody is woken as soon as there is more.
  bool try_charge(std::uint64_t bytes) noexcept {
    if (charge(bytes))
      return true;
    has_waiters_.store(true);
    return charge(bytes); // room may have come free between the two looks
  }
  void release(std::uint64_t bytes) noexcept { held_.fetch_sub(bytes); }

  /// Whether anybody has found no room since this was asked last.
  bool take_waiters() noexcept { return has_waiters_.exchange(false); }

  std::uint64_t held() const noexcept { return held_.load(std::memory_order_relaxed); }

private:
  bool charge(std::uint64_t bytes) noexcept {
    for (auto held = held_.load(); held == 0 || held + bytes <= limit_;)
      if (held_.compare_exchange_weak(held, held + bytes))
        return true;
    return false;
  }

  std::uint64_t limit_;
  std::atomic<std::uint64_t> held_{0};
  std::atomic<bool> has_waiters_{false};
};

/// What the producers of a durable stream need to know of its log actor.
struct log_link {
  actor_ref actor;
  endpoint_address inlet;
  std::shared_ptr<lane_gauge> gauge; ///< of what is published and not yet stored
  std::shared_ptr<log_budget> budget;
  std::shared_ptr<log_report> report;
};

/// Everything that an end needs to know of its lane. Shared; keeps the stream alive.
struct lane_link {
  lane_id id;
  actor_ref lane;
  std::shared_ptr<lane_gauge> gauge;
  std::shared_ptr<shared_budget> budget;
  std::shared_ptr<shared_wiring> wiring;
  std::shared_ptr<const void> stream;
  std::shared_ptr<const void> actor; // the lane's, which ends with the last that holds it

  // Of a durable stream's lane: its producers publish to the log, and not to the lane.
  std::shared_ptr<const log_link> log = {};
  std::uint64_t key = 0; ///< the lane's, to the log actor
};

/// One item on its way into a lane: waits in its producer's line, and is settled exactly once, as enqueued or as failed.
class publication {
public:
  publication(const publication&) = delete;
  publication& operator=(const publication&) = delete;

  lane_machine::offered item;

protected:
  explicit publication(lane_machine::offered&& offered) noexcept : item{std::move(offered)} {}
  virtual ~publication();
  virtual void on_settled(std::optional<error> failure) noexcept = 0;

  /// Leaves the line; nothing was enqueued. False when it was settled before.
  bool withdraw() noexcept;
  bool is_waiting() const noexcept { return end_ != nullptr; }

private:
  friend class producer_end;
  friend class log_line;
  producer_end* end_ = nullptr;
};

/// The producer's half of the credit protocol: numbers items, spends credit, keeps the line of those who wait, and gathers what
/// is published in one turn into one message.
class producer_end final : public endpoint {
public:
  producer_end(host& owner, std::shared_ptr<const lane_link> link);
  ~producer_end() override;

  /// Enqueues at once if nobody waits and there is room; otherwise `offered` is untouched, and `failure` says what is wrong.
  enum class offer : std::uint8_t { enqueued, has_to_wait, failed };
  offer try_enqueue(lane_machine::offered& offered, std::optional<error>& failure) {
    const auto* carried = std::get_if<batch>(&*offered.item);
    const bool is_usual = generation_ && !ended_ && line_.empty() && carried != nullptr && is_next_live(*carried)
                          && credit_.may_send(offered.bytes) && is_charged(*carried);
    if (!is_usual)
      return try_enqueue_any(offered, failure);
    enqueue(std::move(offered));
    return offer::enqueued;
  }

  /// Joins the line, or is refused with too_many_waiters (then it is not settled).
  std::optional<error> join(publication& waiting);

  void await_attached(attach_operation& waiting);
  void withdraw(publication& waiting) noexcept;
  void withdraw(attach_operation& waiting) noexcept;

  void on_control(control& message) override;
  void flush() override;

private:
  friend class log_line;
  static constexpr std::size_t max_waiters = 1024;

  offer try_enqueue_any(lane_machine::offered& offered, std::optional<error>& failure);

  /// What nearly every item is: a live batch behind the last one.
  bool is_next_live(const batch& carried) const noexcept {
    return carried.at && !carried.request && !carried.walked && last_ && may_follow(*last_, *carried.at);
  }
  bool is_charged(const batch& carried) const noexcept {
    return !carried.envelopes || !link_->budget || link_->budget->has_charged(*carried.envelopes);
  }
  std::optional<error> find_fault(const shared_item& item) const;

  /// Whether the lane of a durable stream has it from before.
  bool has_before(const shared_item& item) const noexcept {
    return may_repeat_ && last_ && item.at() != nullptr && is_repeated(*item.at(), *last_, repeats_behind_);
  }
  bool may_enqueue(const lane_machine::offered& offered);
  void note_last(const shared_item& item) noexcept {
    if (const auto* at = item.at()) {
      if (!last_)
        last_.emplace();
      last_->epoch = at->epoch;
      last_->seq = at->seq;
      last_->ends_transaction = at->ends_transaction; // the rest decides nothing, and is larger
      may_repeat_ = false;
    }
  }
  void enqueue(lane_machine::offered&& offered) {
    note_last(offered.item);
    credit_.spend(offered.bytes);
    probed_ = false;
    if (!outgoing_)
      begin_message();
    outgoing_->items.push_back(std::move(offered));
    ++next_sequence_;
    if (outgoing_->items.size() >= items_per_message)
      send_outgoing(); // no more than that: enqueue() may be a part of pump()
    else
      flush_later();
  }
  void begin_message();
  void pump();
  void send_outgoing();
  void stop(errc reason);
  void settle_front(std::optional<error> failure);
  void stop_because(const cancel& ends);
  error end() const;
  void leave_budget() noexcept;
  void say_goodbye();

  std::shared_ptr<const lane_link> link_;
  std::optional<std::uint64_t> generation_;
  std::optional<errc> ended_;
  std::optional<error> refusal_;  // instead of what ended_ alone says
  bool was_refused_ = false;      // by the wiring: the lane has never heard of this end
  std::shared_ptr<log_line> log_; // of a durable stream: then the line and the credit are there, and shared
  sending_credit credit_;
  std::uint64_t next_sequence_ = 0;
  std::optional<position> last_;
  std::optional<position> repeats_behind_;
  bool may_repeat_ = false;
  std::shared_ptr<published_items> outgoing_;
  std::size_t last_outgoing_ = 0; // how many the last messages carried, about
  std::deque<publication*> line_;
  std::vector<attach_operation*> attaching_;
  std::optional<byte_budget::ticket> budget_ticket_; // of the first in line
  bool probed_ = false;
};

/// The consumer's half: holds what was delivered and not yet taken, tells the lane what is done, and grants as it lets go.
class consumer_end final : public endpoint {
public:
  consumer_end(host& owner, std::shared_ptr<const lane_link> link, end_role role, credit window);
  ~consumer_end() override;

  bool has_ready() const noexcept { return ready_items_ > 0; }
  weir::delivery<lane_item> take();

  /// Adds what is ready, up to so many items and so many bytes; the first of all may be larger.
  void take_ready(std::vector<weir::delivery<lane_item>>& into, std::size_t max_items, std::uint64_t max_bytes);

  /// Why nothing more comes; nothing while something may.
  std::optional<error> end() const;

  void await(receive_operation& waiting);
  void await_attached(attach_operation& waiting);
  void withdraw(receive_operation& waiting) noexcept;
  void withdraw(attach_operation& waiting) noexcept;

  result<void> acknowledge(std::uint64_t ordinal, std::uint64_t bytes);
  result<void> acknowledge_through(std::uint64_t ordinal);
  result<void> give_back(std::uint64_t ordinal, std::uint64_t bytes, std::uint64_t after_ms);

  /// Neither acknowledged nor returned.
  bool holds(std::uint64_t ordinal) const noexcept { return progress_.is_open(ordinal); }

  const lane_id& lane() const noexcept { return link_->id; }

  void on_control(control& message) override;
  void on_data(parcel& items) override;
  void flush() override;

private:
  /// What came with one message and is not yet handed out.
  struct arrived {
    std::vector<shared_item> items;
    std::uint64_t sequence = 0; // of the first in items
    std::uint32_t attempt = 0;
    std::size_t next = 0;
  };

  void pass(std::size_t count) noexcept;
  void clear_ready() noexcept;
  bool is_stale() const noexcept;
  void complete(std::uint64_t ordinal, std::uint64_t bytes, bool as_acknowledged);
  void discard_ready();
  void on_attached(std::uint64_t generation);
  void serve();
  void stop(errc reason);

  std::shared_ptr<const lane_link> link_;
  end_role role_;
  std::optional<std::uint64_t> generation_;
  std::optional<errc> ended_;
  std::optional<error> refusal_; // instead of what ended_ alone says
  bool was_refused_ = false;     // by the wiring: the lane has never heard of this end
  std::optional<std::uint64_t> end_after_returns_;
  receiving_credit credit_;
  progress_tracker progress_;
  ring<std::uint64_t> sizes_; // bytes of each delivery that was handed out and is not below the prefix
  std::uint64_t taken_ = 0;   // ordinal of the next delivery to hand out
  std::uint64_t taken_told_ = 0;
  std::uint64_t acknowledged_below_ = 0;
  std::uint64_t returns_ = 0;
  ring<arrived> ready_; // none of them empty
  std::size_t ready_items_ = 0;
  std::vector<std::uint64_t> out_of_order_;
  std::deque<receive_operation*> receivers_;
  std::vector<attach_operation*> attaching_;
};

} // namespace detail
} // namespace weir
