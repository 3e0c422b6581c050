#include <weir/detail/host.hpp>

#include <algorithm>
#include <bit>

namespace weir::detail {

// waiter -------------------------------------------------------------------------------------------------------------------

waiter::~waiter() {
  if (root_ != nullptr && root_->waiting_ == this)
    root_->waiting_ = nullptr;
}

void waiter::suspend(std::coroutine_handle<> frame, root_frame& root) noexcept {
  handle = frame;
  root_ = &root;
  root.waiting_ = this;
  if (root.stop_requested())
    on_stop();
}

void waiter::resume_soon() noexcept {
  if (root_ == nullptr)
    return;
  if (root_->waiting_ == this)
    root_->waiting_ = nullptr;
  timer_.unlink();
  root_->owner().schedule(*this);
}

void waiter::set_deadline(clock::time_point at) noexcept {
  root_->owner().schedule(*this, at);
}

// root_frame ----------------------------------------------------------------------------------------------------------------

root_frame::~root_frame() {
  start_.unlink();
  // From the innermost frame out, without a stack as deep as the chain.
  while (innermost_ != nullptr && innermost_ != promise_) {
    auto* ends = std::exchange(innermost_, innermost_->caller);
    std::exchange(*ends->owner, nullptr).destroy();
  }
  if (frame_)
    frame_.destroy();
  for (auto* one : joining_)
    one->on_joined();
}

void root_frame::adopt(std::coroutine_handle<> frame, promise_base& promise) noexcept {
  frame_ = frame;
  promise_ = innermost_ = &promise;
  promise.root = this;
  start_.handle = frame;
  owner_.schedule(start_);
}

void root_frame::on_finished() noexcept {
  finished_ = true;
  owner_.finished_.push_back(this);
}

void root_frame::request_stop() noexcept {
  if (std::exchange(stop_requested_, true))
    return;
  if (waiting_ != nullptr)
    waiting_->on_stop();
}

join_waiter::~join_waiter() {
  if (joined_ != nullptr)
    std::erase(joined_->joining_, this);
}

void join_waiter::wait(std::coroutine_handle<> frame, root_frame& root) {
  joined_->joining_.push_back(this);
  suspend(frame, root);
}

void join_waiter::on_stop() noexcept {
  cancelled_ = true;
  resume_soon();
}

void join_waiter::on_joined() noexcept {
  joined_ = nullptr;
  resume_soon();
}

// endpoint ------------------------------------------------------------------------------------------------------------------

endpoint::endpoint(host& owner) : owner_{&owner}, address_{owner.add(*this)} {}

endpoint::~endpoint() {
  owner_->remove(*this);
}

void endpoint::on_data(parcel&) {}

// host ----------------------------------------------------------------------------------------------------------------------

host::~host() {
  destroy_frames();
}

root_frame& host::make_root(stops_with_actor stops) {
  return roots_.emplace_back(*this, next_root_++, stops, stop_requested_ && stops == stops_with_actor::yes);
}

root_frame* host::find_root(std::uint64_t id) noexcept {
  const auto found = std::ranges::find(roots_, id, &root_frame::id);
  return found == roots_.end() ? nullptr : &*found;
}

void host::request_stop() noexcept {
  stop_requested_ = true;
  for (auto root = roots_.rbegin(); root != roots_.rend(); ++root)
    if (!root->shielded_)
      root->request_stop();
}

void host::end(std::optional<error> why) noexcept {
  if (!std::exchange(ending_, true))
    why_ = std::move(why);
}

endpoint_address host::add(endpoint& one) {
  std::uint32_t index = 0;
  if (free_slots_.empty()) {
    index = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    index = free_slots_.back();
    free_slots_.pop_back();
  }
  slots_[index].held = &one;
  return {index, ++slots_[index].generation};
}

void host::remove(endpoint& one) noexcept {
  slots_[one.address_.slot].held = nullptr;
  free_slots_.push_back(one.address_.slot);
}

std::shared_ptr<void> host::find_shared(const void* key) const noexcept {
  for (const auto& [known, held] : shared_)
    if (known == key)
      if (auto found = held.lock())
        return found;
  return nullptr;
}

void host::share(const void* key, const std::shared_ptr<void>& one) {
  std::erase_if(shared_, [](const auto& known) { return known.second.expired(); });
  shared_.emplace_back(key, one);
}

void host::flush_later(endpoint& one) {
  to_flush_.push_back(one.address_);
}

void host::flush_all() {
  // A flush may ask for another one: those wait for the next message.
  auto now = std::exchange(to_flush_, {});
  for (const auto& one : now)
    if (auto* found = find(one)) {
      found->flush_wanted_ = false;
      found->flush();
    }
  if (to_flush_.empty()) {
    now.clear();
    to_flush_ = std::move(now); // keeps its memory
  }
}

void host::deliver(control_message& message) {
  if (std::holds_alternative<stop_host>(message.what)) {
    request_stop();
  } else if (std::holds_alternative<kill_host>(message.what)) {
    end(error{errc::actor_stopped, "the actor was killed"});
  } else if (auto* found = find(message.to)) {
    found->on_control(message.what);
  } else {
    ++late_messages_;
  }
}

void host::deliver(data_message& message) {
  if (auto* found = find(message.to))
    found->on_data(*message.items);
  else
    ++late_messages_;
}

timer_wheel& host::wheel() {
  if (!wheel_) {
    wheel_ = std::make_unique<timer_wheel>();
    wheel_start_ = now();
  }
  return *wheel_;
}

std::uint64_t host::tick_of(clock::time_point at) const noexcept {
  // A tick is a millisecond; a deadline expires with the first tick that lies behind it.
  const auto since = std::chrono::ceil<std::chrono::milliseconds>(at - wheel_start_).count();
  return since > 0 ? static_cast<std::uint64_t>(since) : 0;
}

void host::schedule(waiter& one, clock::time_point at) noexcept {
  auto& timers = wheel();
  timers.schedule(one.timer_, tick_of(at));
  rearm();
}

void host::on_timer() {
  const auto present = now();
  while (!armed_.empty() && armed_.back() <= present)
    armed_.pop_back();
  if (!wheel_)
    return;
  const auto passed = std::chrono::floor<std::chrono::milliseconds>(present - wheel_start_).count();
  wheel_->advance(static_cast<std::uint64_t>(passed),
    [](timer_entry& expired) { static_cast<waiter::deadline_entry&>(expired).owner->on_deadline(); });
  rearm();
}

void host::rearm() noexcept {
  const auto next = wheel_->next_event();
  if (!next)
    return;
  // Calls that were asked for can't be taken back, so few may be under way: one is asked for only when it comes before all of
  // them, and a far one in steps of a power of two. Then there are never more than about a hundred.
  const auto present = now();
  auto at = wheel_start_ + std::chrono::milliseconds{*next};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(at - present).count();
  if (left > 64)
    at = present + std::chrono::milliseconds{std::bit_floor(static_cast<std::uint64_t>(left))};
  if (!armed_.empty() && armed_.back() <= at)
    return;
  armed_.push_back(at);
  arm(at);
}

void host::run_ready() {
  spent_ = 0;
  while (!ready_.empty() && !ending_ && spent_ < awaits_per_turn) {
    ++spent_;
    auto& next = ready_.pop_front();
    next.handle.resume();
    while (!finished_.empty()) {
      auto* done = finished_.back();
      finished_.pop_back();
      const auto failure = done->promise_->failure;
      const auto id = done->id();
      std::erase_if(roots_, [id](const root_frame& root) { return root.id() == id; });
      if (failure) {
        std::string text = "something that is no std::exception";
        try {
          std::rethrow_exception(failure);
        } catch (const std::exception& thrown) {
          text = thrown.what();
        } catch (...) { // NOLINT(bugprone-empty-catch): the text stands
        }
        end(error{errc::coroutine_failed, "an exception left a coroutine: " + text, {{"what", text}, {"actor", name_}}});
      }
    }
  }
}

void host::finish_message(bool mailbox_is_empty) {
  run_ready();
  const bool is_idle = ready_.empty();
  if (!ending_ && !to_flush_.empty() && (mailbox_is_empty || !is_idle))
    flush_all();
  if (roots_.empty())
    end();
  if (ending_) {
    if (!std::exchange(has_ended_, true)) {
      destroy_frames();
      flush_all();
      ended(std::move(why_));
    }
    return;
  }
  // Flushing may have made coroutines ready, or asked for another flush.
  if ((!ready_.empty() || (mailbox_is_empty && !to_flush_.empty())) && !std::exchange(turn_requested_, true))
    request_turn();
}

void host::destroy_frames() noexcept {
  ending_ = true;
  while (!roots_.empty())
    roots_.pop_back();
}

} // namespace weir::detail
