#include <weir/detail/caf_actor.hpp>
#include <weir/head_signal.hpp>

#include <algorithm>

namespace weir {

bool head_signal::is_there(const std::vector<std::int64_t>& after) const noexcept {
  for (std::size_t shard = 0; shard < heads_.size() && shard < after.size(); ++shard)
    if (heads_[shard] - 1 > after[shard])
      return true;
  return false;
}

bool head_signal::add(waiting one) {
  const std::lock_guard lock{mutex_};
  if (is_there(*one.after))
    return false;
  waiting_.push_back(std::move(one));
  return true;
}

void head_signal::remove(const head_operation& who) noexcept {
  const std::lock_guard lock{mutex_};
  std::erase_if(waiting_, [&](const waiting& one) { return one.who == &who; });
}

bool head_signal::publish(std::uint32_t shard, std::int64_t head) {
  const std::lock_guard lock{mutex_};
  if (head <= heads_[shard])
    return false;
  heads_[shard] = head;
  std::erase_if(waiting_, [&](const waiting& one) {
    if (!is_there(*one.after))
      return false;
    detail::post(one.actor, detail::control_message{one.reply, detail::wake{}});
    return true;
  });
  return true;
}

bool head_signal::has_waiting() const {
  const std::lock_guard lock{mutex_};
  return !waiting_.empty();
}

head_operation::~head_operation() {
  if (back_)
    signal_->remove(*this);
}

void head_operation::start(std::coroutine_handle<> frame, detail::root_frame& root) {
  back_.emplace(root.owner(), *this, [](detail::waiter& woken) { static_cast<head_operation&>(woken).settle(std::nullopt); });
  const auto until = until_.resolve(root.owner());
  suspend(frame, root);
  if (settled_)
    return;
  if (until)
    set_deadline(*until);
  if (!signal_->add({this, &after_, root.owner().ref(), back_->here()}))
    settle(std::nullopt);
}

result<void> head_operation::await_resume() {
  back_.reset();
  if (failure_)
    return std::move(*failure_);
  return success();
}

void head_operation::settle(std::optional<error> failure) noexcept {
  if (std::exchange(settled_, true))
    return;
  failure_ = std::move(failure);
  signal_->remove(*this);
  resume_soon();
}

void head_operation::on_stop() noexcept {
  settle(error{errc::cancelled, "the coroutine was asked to stop"});
}

void head_operation::on_deadline() noexcept {
  settle(error{errc::timed_out, "no entry came before the deadline"});
}

} // namespace weir
