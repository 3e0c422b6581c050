#include <weir/detail/caf_actor.hpp>
#include <weir/detail/stream_actors.hpp>
#include <weir/request_set.hpp>

namespace weir::detail {

/// The request lane: a set of backfills that sinks ask for and one ingest engine serves. Never makes its publishers wait: the
/// set is bounded by its keys, and so is its mailbox, because a sink asks anew only for what it has asked for before.
class request_actor final : public metered_actor {
public:
  request_actor(caf::actor_config& config, request_settings settings)
    : metered_actor(config),
      gauge_{std::move(settings.gauge)},
      log_{std::move(settings.log)},
      inlet_{settings.inlet},
      received_{settings.waiting.size()} {
    for (auto& one : settings.waiting)
      set_.add(std::move(one));
  }

  const char* name() const override { return "weir.requests"; }

protected:
  caf::behavior make_behavior() override {
    set_down_handler([this](caf::down_msg& gone) {
      if (attached_ && actor_ref_access::get(server_) == gone.source.get())
        forget_server();
      deliver_if_last(); // others may have been waiting for this one to be handled
    });
    set_default_handler([this](caf::scheduled_actor*, caf::message_view&) -> caf::result<caf::message> {
      deliver_if_last();
      return caf::make_error(caf::sec::unexpected_message);
    });
    return {
      [this](data_message& message) {
        on_published(static_cast<published_request&>(*message.items));
        message.items.reset();
        deliver_if_last();
      },
      [this](control_message& message) {
        std::visit([this](auto& what) { on(what); }, message.what);
        deliver_if_last();
      },
    };
  }

private:
  template <class Other>
  void on(Other&) {}

  void on(attach_end& wanted) {
    if (attached_) {
      post(server_, control_message{reply_, cancel{errc::fenced}}, context());
      forget_server();
    }
    if (aborted_) {
      post(wanted.from, control_message{wanted.reply, ending()}, context());
      return;
    }
    server_ = std::move(wanted.from);
    reply_ = wanted.reply;
    attached_ = true;
    granted_ = sent_ = 0;
    gauge_->consumer_generation[0].store(++generation_, std::memory_order_release);
    monitor(caf::actor_cast<caf::actor>(caf::strong_actor_ptr{actor_ref_access::get(server_)}));
    post(server_, control_message{reply_, attached{.generation = generation_, .sending = {}, .next_sequence = 0, .last = {}}},
      context());
  }

  void on(grant& more) {
    if (more.generation == generation_ && more.up_to.items > granted_)
      granted_ = more.up_to.items;
  }

  void on(acknowledged_one& told) {
    if (told.generation == generation_ && set_.acknowledge(told.ordinal))
      settle();
  }

  void on(returned_one& back) {
    if (back.generation == generation_ && set_.give_back(back.ordinal))
      settle();
  }

  void on(detach_end& gone) {
    if (attached_ && server_ == gone.from && reply_ == gone.reply)
      forget_server();
  }

  void on(close_lane& how) {
    if (how.drain) // what was asked is still served
      return;
    if (!std::exchange(aborted_, true))
      failure_ = std::move(how.why);
    if (attached_)
      post(server_, control_message{reply_, ending()}, context());
  }

  cancel ending() const { return {failure_ ? failure_->code() : errc::closed, failure_}; }

  void on(stop_host&) { quit(); }

  void on_published(published_request& published) {
    if (!published.forget)
      set_.add(std::move(published.asked));
    else if (published.asked.collections.empty())
      set_.forget(published.asked.sink);
    else
      set_.forget(published.asked.sink, published.asked.collections.front());
    if (!published.forget)
      ++received_;
    settle();
  }

  /// Everything that was asked and is not in the set is done: replaced, forgotten, or served.
  void settle() {
    gauge_->acknowledged.store(received_ - set_.waiting() - set_.running(), std::memory_order_release);
    if (log_ && report_->put(set_.all()))
      post(log_, control_message{inlet_, requests_changed{report_}}, context());
  }

  /// A server's messages are urgent and overtake requests that were published before; so whatever waits is taken in first.
  void deliver_if_last() {
    if (!attached_ || !is_last_message())
      return;
    while (sent_ < granted_) {
      auto next = set_.next();
      if (!next)
        return;
      auto sent = std::make_shared<delivered_request>();
      sent->generation = generation_;
      sent->ticket = next->ticket;
      sent->attempt = next->attempt;
      sent->asked = std::move(next->asked);
      ++sent_;
      post(server_, data_message{reply_, std::move(sent)}, context());
    }
  }

  void forget_server() {
    demonitor(caf::actor_cast<caf::actor_addr>(caf::strong_actor_ptr{actor_ref_access::get(server_)}));
    attached_ = false;
    server_ = {};
    set_.return_all();
    settle();
  }

  request_set set_;
  std::shared_ptr<lane_gauge> gauge_;
  actor_ref log_;
  endpoint_address inlet_;
  std::shared_ptr<request_report> report_ = std::make_shared<request_report>();
  actor_ref server_;
  endpoint_address reply_;
  std::uint64_t generation_ = 0;
  std::uint64_t granted_ = 0; // what the server has asked for in this generation
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  bool attached_ = false;
  bool aborted_ = false;
  std::shared_ptr<const error> failure_; // why, where the stream was not closed
};

actor_ref spawn_requests(caf::actor_system& system, request_settings settings) {
  return actor_ref_access::make(caf::actor_cast<caf::strong_actor_ptr>(system.spawn<request_actor>(std::move(settings))));
}

} // namespace weir::detail
