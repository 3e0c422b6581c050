#include <weir/watermark.hpp>

namespace weir {

class watermark_operation::end final : public detail::endpoint {
public:
  end(detail::host& owner, watermark_operation& waiting) : endpoint{owner}, waiting_{waiting} {
    owner.post(
      waiting_.actor_, detail::watermark_message{detail::watch{waiting_.condition_, waiting_.given_, owner.ref(), here()}});
  }

  void on_control(detail::control& message) override {
    if (const auto* moved = std::get_if<detail::watermark_moved>(&message))
      waiting_.settle(watermark_reading{moved->now->watermark, moved->now->confirmable});
    else if (const auto* ends = std::get_if<detail::cancel>(&message))
      waiting_.settle(ends->why ? *ends->why : error{ends->reason, "the stream was closed before the watermark got there"});
  }

  void leave() { owner().post(waiting_.actor_, detail::watermark_message{detail::unwatch{owner().ref(), here()}}); }

private:
  watermark_operation& waiting_;
};

watermark_operation::watermark_operation(actor_ref actor, std::shared_ptr<const void> stream, detail::watch::until condition,
  std::optional<position> given, deadline until)
  : actor_{std::move(actor)},
    stream_{std::move(stream)},
    condition_{condition},
    given_{given},
    until_{until} {}

watermark_operation::~watermark_operation() {
  if (end_ && !outcome_)
    end_->leave();
}

void watermark_operation::start(std::coroutine_handle<> frame, detail::root_frame& root) {
  suspend(frame, root);
  if (outcome_)
    return; // asked to stop
  end_ = std::make_unique<end>(root.owner(), *this);
  if (const auto at = until_.resolve(root.owner()))
    set_deadline(*at);
}

result<watermark_reading> watermark_operation::await_resume() {
  end_.reset();
  return std::move(*outcome_);
}

void watermark_operation::settle(result<watermark_reading> outcome) noexcept {
  if (outcome_)
    return;
  outcome_.emplace(std::move(outcome));
  resume_soon();
}

void watermark_operation::on_stop() noexcept {
  if (end_ && !outcome_)
    end_->leave();
  settle(error{errc::cancelled, "the coroutine was asked to stop before this happened"});
}

void watermark_operation::on_deadline() noexcept {
  if (!outcome_)
    end_->leave();
  settle(error{errc::timed_out, "the deadline passed before the watermark got there"});
}

} // namespace weir
