#include <weir/bus.hpp>
#include <weir/detail/caf_actor.hpp>
#include <weir/detail/subscription_state.hpp>

#include <cstdint>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

namespace weir {

namespace detail {

subscription_state::subscription_state(subscription_options how, bus_id own, std::uint64_t first_place, std::uint64_t began)
  : limit_{how.policy == drop_policy::conflate ? 1 : how.buffer},
    own_{own},
    skips_own_{how.skip_own},
    first_place_{first_place},
    began_{began},
    buffer_{how.buffer, how.policy} {}

subscription_state::~subscription_state() {
  close_descriptor();
}

void subscription_state::take(std::span<const offered_record> records) {
  const std::lock_guard lock{mutex_};
  if (why_)
    return;
  for (const auto& [place, what, missed] : records) {
    if (place < first_place_)
      continue;
    if (const auto* one = std::get_if<hint>(&what)) {
      if (!skips_own_ || one->publisher() != own_)
        buffer_.push(*one);
    } else if (const auto* missing = std::get_if<lost>(&what)) {
      take(*missing, missed);
    } else {
      buffer_.push(std::get<gone>(what));
    }
  }
  tell();
}

void subscription_state::take(const lost& missing, const std::optional<missed_span>& span) {
  if (skips_own_ && missing.publisher == own_)
    return;
  if (const auto share = span ? share_of(missing, *span, began_) : missing)
    buffer_.push(*share);
}

result<bus_record> subscription_state::pop() {
  const std::lock_guard lock{mutex_};
  if (auto record = buffer_.pop()) {
    if (const auto* missing = std::get_if<lost>(&*record))
      lost_ += missing->count;
    else if (std::holds_alternative<hint>(*record))
      ++received_;
    if (is_signalled_ && !has_news()) {
      std::uint64_t count = 0;
      (void)!::read(descriptor_, &count, sizeof count);
      is_signalled_ = false;
    }
    return std::move(*record);
  }
  if (buffer_.is_evicted())
    return error{errc::evicted, "the subscription's buffer was full", {{"buffer", std::to_string(limit_)}}};
  if (why_)
    return *why_;
  return error{errc::would_wait};
}

bool subscription_state::end(error why) {
  const std::lock_guard lock{mutex_};
  if (why_)
    return false;
  why_ = std::move(why);
  tell();
  return true;
}

void subscription_state::leave() {
  if (leave_)
    std::exchange(leave_, nullptr)();
}

result<bool> subscription_state::wait(const record_operation& who, actor_ref actor, endpoint_address reply) {
  const std::lock_guard lock{mutex_};
  if (has_news())
    return false;
  if (waiting_ && waiting_->who != &who)
    return error{errc::too_many_waiters, "somebody waits for this subscription already"};
  waiting_ = waiting{&who, std::move(actor), reply};
  return true;
}

void subscription_state::stop_waiting(const record_operation& who) noexcept {
  const std::lock_guard lock{mutex_};
  if (waiting_ && waiting_->who == &who)
    waiting_.reset();
}

int subscription_state::descriptor() {
  const std::lock_guard lock{mutex_};
  if (descriptor_ < 0) {
    descriptor_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    tell();
  }
  return descriptor_;
}

void subscription_state::close_descriptor() noexcept {
  const std::lock_guard lock{mutex_};
  if (descriptor_ >= 0)
    ::close(std::exchange(descriptor_, -1));
}

subscription_stats subscription_state::stats() const {
  const std::lock_guard lock{mutex_};
  return {received_, lost_, buffer_.size()};
}

/// With the lock held. Nobody of those who are told runs here.
void subscription_state::tell() noexcept {
  if (!has_news())
    return;
  if (waiting_) {
    post(waiting_->actor, control_message{waiting_->reply, wake{}});
    waiting_.reset();
  }
  if (descriptor_ >= 0 && !is_signalled_) {
    const std::uint64_t one = 1;
    is_signalled_ = ::write(descriptor_, &one, sizeof one) == sizeof one;
  }
}

} // namespace detail

record_operation::~record_operation() {
  if (back_)
    of_->stop_waiting(*this);
}

bool record_operation::await_ready() noexcept {
  auto record = of_ ? of_->pop() : result<bus_record>{error{errc::closed, "there is no subscription"}};
  if (!record && record.error() == errc::would_wait)
    return false;
  outcome_.emplace(std::move(record));
  return true;
}

void record_operation::start(std::coroutine_handle<> frame, detail::root_frame& root) {
  back_.emplace(root.owner(), *this, [](detail::waiter& woken) { static_cast<record_operation&>(woken).on_woken(); });
  const auto until = until_.resolve(root.owner());
  suspend(frame, root);
  if (outcome_)
    return; // asked to stop
  if (until)
    set_deadline(*until);
  on_woken();
}

/// Takes what is there, or waits on.
void record_operation::on_woken() {
  while (!outcome_) {
    auto record = of_->pop();
    if (record || record.error() != errc::would_wait)
      return settle(std::move(record));
    auto waits = of_->wait(*this, root()->owner().ref(), back_->here());
    if (!waits)
      return settle(std::move(waits).error());
    if (waits.value())
      return;
  }
}

result<bus_record> record_operation::await_resume() {
  back_.reset();
  return std::move(*outcome_);
}

void record_operation::settle(result<bus_record> outcome) noexcept {
  if (outcome_)
    return;
  outcome_.emplace(std::move(outcome));
  of_->stop_waiting(*this);
  resume_soon();
}

void record_operation::on_stop() noexcept {
  settle(error{errc::cancelled, "the coroutine was asked to stop"});
}

void record_operation::on_deadline() noexcept {
  settle(error{errc::timed_out, "nothing was heard before the deadline"});
}

subscription& subscription::operator=(subscription&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

subscription::~subscription() {
  close();
  if (state_)
    state_->close_descriptor();
}

result<bus_record> subscription::try_next() {
  if (!state_)
    return error{errc::closed, "there is no subscription"};
  return state_->pop();
}

int subscription::descriptor() {
  return state_ ? state_->descriptor() : -1;
}

void subscription::close() noexcept {
  if (state_ && state_->end(error{errc::closed, "the subscription was closed"}))
    state_->leave();
}

subscription_stats subscription::stats() const {
  return state_ ? state_->stats() : subscription_stats{};
}

} // namespace weir
