#include <weir/detail/caf_actor.hpp>
#include <weir/detail/stream_actors.hpp>
#include <weir/watermark_table.hpp>

#include <algorithm>
#include <vector>

namespace weir::detail {

/// Keeps the floors of a stream's lanes and answers those who watch the minimum. Mailbox: for each lane its start, its newest
/// floor and its end; for each reader a watch and an unwatch; closing, stopping, and its own turn.
class watermark_actor final : public metered_actor {
public:
  explicit watermark_actor(caf::actor_config& config) : metered_actor(config) {}

  const char* name() const override { return "weir.watermark"; }

protected:
  caf::behavior make_behavior() override {
    return {
      [this](watermark_message& message) {
        std::visit([this](auto& what) { on(what); }, message.what);
        if (is_last_message())
          answer();
        else
          ask_for_turn();
      },
      [this](turn_message) {
        turn_asked_ = false;
        answer();
      },
      [this](control_message& message) {
        if (std::holds_alternative<stop_host>(message.what))
          quit();
        if (const auto* closed = std::get_if<close_lane>(&message.what); closed != nullptr && !closed->drain) {
          if (!std::exchange(aborted_, true))
            failure_ = closed->why;
          answer();
        }
      },
    };
  }

private:
  void on(add_floor& lane) { table_.add(lane.lane, lane.start); }
  void on(move_floor& lane) { table_.move(lane.lane, lane.report->take()); }
  void on(retire_floor& lane) { table_.retire(lane.lane); }
  void on(detail::watch& wanted) {
    std::erase_if(watches_, [&](const detail::watch& one) { return one.from == wanted.from && one.reply == wanted.reply; });
    watches_.push_back(std::move(wanted));
  }
  void on(unwatch& gone) {
    std::erase_if(watches_, [&](const detail::watch& one) { return one.from == gone.from && one.reply == gone.reply; });
  }

  void ask_for_turn() {
    if (!std::exchange(turn_asked_, true))
      send(this, turn_message{});
  }

  void answer() {
    if (watches_.empty())
      return;
    const auto now = std::make_shared<const watermark_figures>(watermark_figures{table_.watermark(), table_.confirmable()});
    std::erase_if(watches_, [&](const detail::watch& one) {
      if (!holds(one, *now)) {
        if (aborted_)
          post(one.from, control_message{one.reply, cancel{failure_ ? failure_->code() : errc::closed, failure_}}, context());
        return aborted_;
      }
      post(one.from, control_message{one.reply, watermark_moved{now}}, context());
      return true;
    });
  }

  static bool differs(const std::optional<position>& now, const std::optional<position>& given) {
    if (!now || !given)
      return now.has_value() != given.has_value();
    return *now != *given || now->ends_transaction != given->ends_transaction;
  }

  static bool holds(const detail::watch& one, const watermark_figures& now) {
    switch (one.condition) {
    case watch::until::now: return true;
    case watch::until::watermark_covers: return now.watermark && covers(*now.watermark, *one.given);
    case watch::until::watermark_differs: return differs(now.watermark, one.given);
    case watch::until::confirmable_differs: return differs(now.confirmable, one.given);
    }
    return false;
  }

  watermark_table table_;
  std::vector<detail::watch> watches_;
  bool turn_asked_ = false;
  bool aborted_ = false;                 // what does not hold now may never: nobody is left waiting
  std::shared_ptr<const error> failure_; // why, where the stream was not closed
};

actor_ref spawn_watermark(caf::actor_system& system) {
  return actor_ref_access::make(caf::actor_cast<caf::strong_actor_ptr>(system.spawn<watermark_actor>()));
}

} // namespace weir::detail
