#include <weir/detail/caf_actor.hpp>
#include <weir/detail/stream_actors.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace weir::detail {

namespace {

/// One end that is attached, or was: where its messages go.
struct peer {
  actor_ref actor;
  endpoint_address reply;
  bool attached = false;
};

} // namespace

/// A lane in memory: turns messages into events for a lane_machine, and the machine's answers into messages. Mailbox: at most
/// one window of its producer in data (twice that for a moment during a take-over), and a few control messages for each end.
class lane_actor final : public metered_actor {
public:
  lane_actor(caf::actor_config& config, lane_settings settings)
    : metered_actor(config),
      settings_{std::move(settings)},
      machine_{settings_.policy, settings_.start},
      last_floor_{settings_.start},
      last_progress_{.floor = settings_.start},
      name_{"weir.lane." + to_string(settings_.id)} {}

  const char* name() const override { return name_.c_str(); }

protected:
  caf::behavior make_behavior() override {
    set_down_handler([this](caf::down_msg& gone) {
      on_down(gone.source);
      after_message();
    });
    set_default_handler([this](caf::scheduled_actor*, caf::message_view&) -> caf::result<caf::message> {
      after_message(); // what came before may have waited for this one
      return caf::make_error(caf::sec::unexpected_message);
    });
    return {
      [this](control_message& message) {
        std::visit([this](auto& what) { on(what); }, message.what);
        after_message();
      },
      [this](data_message& message) {
        on_data(static_cast<published_items&>(*message.items));
        message.items.reset();
        after_message();
      },
      [this](timer_message) {
        on_timer();
        after_message();
      },
    };
  }

private:
  static constexpr int messages_per_flush = 16;
  static constexpr std::uint64_t starved_after_ms = 5;

  // Events -------------------------------------------------------------------------------------------------------------------

  void on(attach_end& wanted) {
    if (retired_ || aborted_ || (wanted.role == end_role::producer && closed_)) {
      const auto reason = retired_ ? errc::lane_retired : failure_ ? failure_->code() : errc::closed;
      post(wanted.from, control_message{wanted.reply, cancel{reason, failure_}}, context());
      return;
    }
    auto& who = peer_of(wanted.role);
    if (who.attached)
      tell(who, cancel{errc::fenced});
    leave(who);
    who = peer{std::move(wanted.from), wanted.reply, true};
    watch(who.actor);
    attached answer{};
    if (wanted.role == end_role::producer) {
      answer.generation = machine_.attach_producer();
      answer.sending = machine_.producer_credit();
      answer.next_sequence = machine_.received_items();
      if (machine_.last_position())
        answer.last = std::make_shared<const position>(*machine_.last_position());
      settings_.gauge->producer_generation.store(answer.generation, std::memory_order_release);
    } else {
      const auto out = outlet_of(wanted.role);
      answer.generation = machine_.attach_consumer(out, wanted.window);
      returns_[index(out)] = 0;
      end_said_[index(out)] = false;
      settings_.gauge->consumer_generation[index(out)].store(answer.generation, std::memory_order_release);
    }
    tell(who, answer);
  }

  void on(probe& asked) { machine_.on_probe(asked.generation, asked.wanted); }

  void on(grant& more) { machine_.on_grant(outlet_of(more.role), more.generation, more.up_to); }

  void on(acknowledged_below& told) {
    const auto out = outlet_of(told.role);
    machine_.on_grant(out, told.generation, told.granted);
    machine_.on_acknowledged_below(out, told.generation, told.through, told.taken);
    has_moved_ = true;
  }

  void on(acknowledged_one& told) {
    machine_.on_acknowledged(outlet_of(told.role), told.generation, told.ordinal);
    has_moved_ = true;
  }

  void on(returned_one& back) {
    const auto out = outlet_of(back.role);
    if (!machine_.on_returned(out, back.generation, back.ordinal, back.after_ms == 0 ? 0 : now_ms() + back.after_ms))
      return;
    machine_.return_untaken(out, back.generation, back.taken);
    ++returns_[index(out)];
    end_said_[index(out)] = false;
    if (out == outlet::main && machine_.is_stopped())
      stop_consumer();
  }

  void on(detach_end& gone) {
    auto& who = peer_of(gone.role);
    if (!who.attached || !(who.actor == gone.from) || !(who.reply == gone.reply))
      return;
    forget(gone.role, gone.taken);
  }

  void on(close_lane& how) {
    if (std::exchange(closed_, true) && (how.drain || aborted_))
      return;
    aborted_ = aborted_ || !how.drain;
    failure_ = std::move(how.why);
    const cancel ending{failure_ ? failure_->code() : errc::closed, failure_};
    if (producer_.attached)
      tell(producer_, ending);
    if (aborted_)
      for (auto& who : consumers_)
        if (who.attached)
          tell(who, ending);
  }

  void on(retire_lane&) {
    retired_ = closed_ = true;
    if (producer_.attached)
      tell(producer_, cancel{errc::lane_retired});
    for (auto& who : consumers_)
      if (who.attached)
        tell(who, cancel{errc::lane_retired});
    leave(producer_);
    for (auto& who : consumers_)
      leave(who);
    // Nobody holds a lease now: whoever acknowledges is told so.
    for (auto& generation : settings_.gauge->consumer_generation)
      generation.fetch_add(1, std::memory_order_release);
    machine_.drop_all();
  }

  /// The stream is gone, and nobody is left to ask.
  void on(stop_host&) { quit(); }
  void on(kill_host&) { quit(caf::exit_reason::kill); }

  // Answers to ends, and not for a lane.
  void on(attached&) {}
  void on(cancel&) {}
  void on(end_of_lane&) {}
  void on(watermark_moved&) {}
  void on(keep_lane&) {}
  void on(forget_lane&) {}
  void on(lane_progressed&) {}
  void on(requests_changed&) {}
  void on(suspend_lanes&) {}
  void on(wake&) {}

  void on_data(published_items& published) {
    const auto count = published.items.size();
    if (retired_ || !machine_.receive(published.generation, published.first, std::move(published.items)))
      dropped_ += count; // of a producer that was fenced: its successor publishes again
  }

  void on_down(const caf::actor_addr& source) {
    const auto is_gone = [&](const peer& who) { return who.attached && actor_ref_access::get(who.actor) == source.get(); };
    if (is_gone(producer_))
      forget(end_role::producer, 0);
    if (is_gone(consumers_[0]))
      forget(end_role::consumer, UINT64_MAX);
    if (is_gone(consumers_[1]))
      forget(end_role::dead_letter_consumer, UINT64_MAX);
  }

  // What the machine says now
  // --------------------------------------------------------------------------------------------------

  void after_message() {
    if (retired_) {
      settings_.gauge->acknowledged.store(machine_.released_items() + dropped_, std::memory_order_release);
      return;
    }
    const bool is_last = is_last_message();
    if (!is_last && ++messages_since_flush_ < messages_per_flush)
      return;
    messages_since_flush_ = 0;
    deliver(end_role::consumer);
    deliver(end_role::dead_letter_consumer);
    if (const auto more = machine_.take_grant(std::exchange(has_starved_, false)))
      tell(producer_, grant{end_role::producer, machine_.producer_generation(), *more});
    if (settings_.log)
      report_progress();
    else if (!(machine_.floor() == last_floor_)) {
      last_floor_ = machine_.floor();
      if (floor_->put(last_floor_))
        post(settings_.watermark, watermark_message{move_floor{settings_.key, floor_}}, context());
    }
    auto& gauge = *settings_.gauge;
    if (!settings_.log)
      gauge.acknowledged.store(machine_.released_items() + dropped_, std::memory_order_release);
    gauge.held_bytes.store(machine_.held_bytes(), std::memory_order_relaxed);
    if (machine_.held_items() > gauge.peak_items.load(std::memory_order_relaxed))
      gauge.peak_items.store(machine_.held_items(), std::memory_order_relaxed);
    if (const auto violations = machine_.bound_violations(); violations != 0)
      gauge.bound_violations.fetch_add(violations - std::exchange(violations_told_, violations), std::memory_order_relaxed);
    arm_timer();
  }

  void report_progress() {
    if (!std::exchange(has_moved_, false))
      return;
    auto now = machine_.progress();
    if (now == last_progress_)
      return;
    last_progress_ = now;
    if (progress_->put(std::move(now)))
      post(settings_.log, control_message{settings_.inlet, lane_progressed{settings_.key, progress_}}, context());
  }

  void deliver(end_role role) {
    const auto out = outlet_of(role);
    auto& who = consumers_[index(out)];
    if (!who.attached || aborted_)
      return;
    for (auto lent = lend(out); lent.count > 0; lent = lend(out)) {
      auto message = std::make_shared<delivered_items>();
      message->generation = machine_.consumer_generation(out);
      message->returns = returns_[index(out)];
      message->ordinal = lent.ordinal;
      message->sequence = lent.sequence;
      message->attempt = lent.attempt;
      message->bytes = lent.bytes;
      message->items = machine_.take_lent(lent);
      post(who.actor, data_message{who.reply, std::move(message)}, context());
    }
    const bool nothing_comes = closed_ && !producer_.attached && machine_.all_delivered(out);
    if (nothing_comes && !std::exchange(end_said_[index(out)], true))
      post_in_order(
        who.actor, control_message{who.reply, end_of_lane{machine_.consumer_generation(out), returns_[index(out)]}}, context());
  }

  lane_machine::delivery lend(outlet out) { return machine_.lend(out, now_ms_if_needed(), items_per_message); }

  void on_timer() {
    if (armed_for_ && now_ms() >= *armed_for_)
      armed_for_.reset(); // otherwise it is one that was asked for before, and an earlier one is still to come
    has_starved_ = machine_.is_producer_starved();
  }

  void stop_consumer() {
    tell(consumers_[0], cancel{errc::dead_lettered});
    forget(end_role::consumer, 0);
    settings_.gauge->consumer_generation[0].fetch_add(1, std::memory_order_release);
  }

  /// For what is returned and due later, and for a producer that has used up its credit while less than half of the bound is
  /// free: usually that is about to become more, but the consumer may be waiting for just one more item.
  void arm_timer() {
    const bool is_starved = machine_.is_producer_starved();
    if (!is_starved && !machine_.waits_for_time())
      return;
    const auto present = now_ms();
    auto wanted = machine_.next_due(present);
    if (is_starved)
      wanted = std::min(wanted.value_or(UINT64_MAX), present + starved_after_ms);
    if (!wanted || (armed_for_ && *armed_for_ <= *wanted))
      return;
    armed_for_ = wanted;
    clock().schedule_message(clock().now() + std::chrono::milliseconds{*wanted - present}, caf::strong_actor_ptr{ctrl()},
      caf::make_mailbox_element(nullptr, caf::make_message_id(caf::message_priority::high), caf::no_stages, timer_message{}));
  }

  // Peers
  // ----------------------------------------------------------------------------------------------------------------------

  static constexpr std::size_t index(outlet out) noexcept { return static_cast<std::size_t>(out); }

  peer& peer_of(end_role role) noexcept { return role == end_role::producer ? producer_ : consumers_[index(outlet_of(role))]; }

  template <class Message>
  void tell(const peer& who, Message message) {
    post(who.actor, control_message{who.reply, std::move(message)}, context());
  }

  void watch(const actor_ref& actor) {
    monitor(caf::actor_cast<caf::actor>(caf::strong_actor_ptr{actor_ref_access::get(actor)}));
  }

  void leave(peer& who) {
    if (!std::exchange(who.attached, false))
      return;
    demonitor(caf::actor_cast<caf::actor_addr>(caf::strong_actor_ptr{actor_ref_access::get(who.actor)}));
    who.actor = {};
  }

  void forget(end_role role, std::uint64_t taken) {
    if (role == end_role::producer)
      machine_.detach_producer(machine_.producer_generation());
    else
      machine_.detach_consumer(outlet_of(role), machine_.consumer_generation(outlet_of(role)), taken);
    leave(peer_of(role));
  }

  std::uint64_t now_ms() {
    return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(clock().now().time_since_epoch()).count());
  }
  std::uint64_t now_ms_if_needed() { return machine_.waits_for_time() ? now_ms() : 0; }

  lane_settings settings_;
  lane_machine machine_;
  lane_floor last_floor_;
  lane_progress last_progress_;
  std::shared_ptr<progress_report> progress_ = std::make_shared<progress_report>();
  bool has_moved_ = false; // something was acknowledged since the last report
  std::shared_ptr<const error> failure_;
  std::shared_ptr<floor_report> floor_ = std::make_shared<floor_report>();
  std::string name_;
  peer producer_;
  std::array<peer, 2> consumers_;
  std::array<std::uint64_t, 2> returns_{};
  std::array<bool, 2> end_said_{};
  std::uint64_t dropped_ = 0;
  std::uint64_t violations_told_ = 0;
  int messages_since_flush_ = 0;
  bool closed_ = false;
  bool aborted_ = false;
  bool retired_ = false;
  bool has_starved_ = false;
  std::optional<std::uint64_t> armed_for_; // the earliest call of on_timer() under way
};

actor_ref spawn_lane(caf::actor_system& system, lane_settings settings) {
  auto actor = system.spawn<lane_actor>(std::move(settings));
  return actor_ref_access::make(caf::actor_cast<caf::strong_actor_ptr>(actor));
}

} // namespace weir::detail
