#include <weir/detail/log_line.hpp>
#include <weir/lane.hpp>

#include <algorithm>

namespace weir::detail {

namespace {

error ended_with(errc reason, const lane_id& lane) {
  const char* sentence = "the lane takes nothing more";
  switch (reason) {
  case errc::fenced: sentence = "a newer producer has taken over the lane"; break;
  case errc::closed: sentence = "the stream was closed"; break;
  case errc::lane_retired: sentence = "the lane was retired from the stream"; break;
  default: break;
  }
  return error{reason, sentence, {{"lane", to_string(lane)}}};
}

} // namespace

publication::~publication() {
  withdraw();
}

bool publication::withdraw() noexcept {
  if (end_ == nullptr)
    return false;
  end_->withdraw(*this);
  return true;
}

producer_end::producer_end(host& owner, std::shared_ptr<const lane_link> link) : endpoint{owner}, link_{std::move(link)} {
  if (link_->log) { // whose lanes nobody waits for: no circle can be closed
    log_ = log_line::of(owner, link_->log);
    log_->join(*this);
    owner.post_in_order(link_->log->actor,
      control_message{link_->log->inlet, attach_end{end_role::producer, owner.ref(), here(), {}, link_->key}});
    return;
  }
  if (auto wired =
        link_->wiring->attach(link_->gauge.get(), to_string(link_->id), shared_wiring::end::producer, owner.unique_name());
    !wired) {
    ended_ = errc::wait_cycle;
    refusal_ = std::move(wired).error();
    was_refused_ = true;
    return;
  }
  // Behind whatever this actor's producer before it has published, which a fence would drop.
  owner.post_in_order(link_->lane, control_message{{}, attach_end{end_role::producer, owner.ref(), here(), {}}});
}

error producer_end::end() const {
  return refusal_ ? *refusal_ : ended_with(*ended_, link_->id);
}

producer_end::~producer_end() {
  stop(errc::cancelled);
  flush();
  say_goodbye();
}

void producer_end::say_goodbye() {
  if (was_refused_)
    return;
  if (log_) {
    log_->leave(*this);
    owner().post_in_order(link_->log->actor,
      control_message{link_->log->inlet, detach_end{end_role::producer, owner().ref(), here(), 0, link_->key}});
    return;
  }
  link_->wiring->detach(link_->gauge.get(), shared_wiring::end::producer, owner().unique_name());
  // Behind the data: the lane knows then that nothing more is under way.
  owner().post_in_order(link_->lane, control_message{{}, detach_end{end_role::producer, owner().ref(), here(), 0}});
}

producer_end::offer producer_end::try_enqueue_any(lane_machine::offered& offered, std::optional<error>& failure) {
  if (ended_) {
    failure = end();
    return offer::failed;
  }
  if (!generation_ || !(log_ ? log_->is_open() : line_.empty()))
    return offer::has_to_wait;
  if (has_before(offered.item)) {
    (void)offered.take();
    return offer::enqueued;
  }
  if (auto fault = find_fault(offered.item)) {
    failure = std::move(fault);
    return offer::failed;
  }
  if (log_)
    return log_->try_enqueue(*this, offered) ? offer::enqueued : offer::has_to_wait;
  if (!may_enqueue(offered))
    return offer::has_to_wait;
  enqueue(std::move(offered));
  return offer::enqueued;
}

std::optional<error> producer_end::join(publication& waiting) {
  if (log_)
    return log_->wait(*this, waiting);
  if (line_.size() >= max_waiters)
    return error{errc::too_many_waiters, "too many publishers wait for this lane already",
      {{"lane", to_string(link_->id)}, {"limit", std::to_string(max_waiters)}}};
  waiting.end_ = this;
  line_.push_back(&waiting);
  if (line_.size() == 1)
    pump();
  return std::nullopt;
}

void producer_end::withdraw(publication& waiting) noexcept {
  if (log_)
    return log_->withdraw(waiting);
  const bool was_first = !line_.empty() && line_.front() == &waiting;
  std::erase(line_, &waiting);
  waiting.end_ = nullptr;
  if (was_first) {
    leave_budget();
    probed_ = false;
    // The next in line may fit where this one did not.
    flush_later();
  }
}

void producer_end::await_attached(attach_operation& waiting) {
  if (!generation_ && !ended_) {
    attaching_.push_back(&waiting);
    return;
  }
  if (ended_)
    waiting.outcome_.emplace(end());
  else
    waiting.outcome_.emplace(*generation_);
  waiting.resume_soon();
}

void producer_end::withdraw(attach_operation& waiting) noexcept {
  std::erase(attaching_, &waiting);
}

std::optional<error> producer_end::find_fault(const shared_item& item) const {
  const auto refuse = [&](errc code, const char* sentence) { return error{code, sentence, {{"lane", to_string(link_->id)}}}; };
  const auto* carried = std::get_if<batch>(&*item);
  if (carried == nullptr)
    return std::nullopt;
  if (carried->is_snapshot()) {
    if (carried->at)
      return refuse(errc::position_unexpected, "a snapshot batch has no position");
    return std::nullopt;
  }
  if (carried->walked)
    return refuse(errc::request_missing, "a batch that has walked a snapshot names its request");
  if (!carried->at)
    return refuse(errc::position_missing, "a live batch has a position, even with no envelopes");
  if (last_ && !may_follow(*last_, *carried->at))
    return refuse(errc::position_not_above, "a batch's position lies above the last one on its lane")
      .with("last", to_string(*last_))
      .with("given", to_string(*carried->at));
  return std::nullopt;
}

bool producer_end::may_enqueue(const lane_machine::offered& offered) {
  if (!credit_.may_send(offered.bytes)) {
    if (!std::exchange(probed_, true) && credit_.available_items() > 0)
      owner().post(link_->lane, control_message{{}, probe{*generation_, credit_.wanted_for(offered.bytes)}});
    return false;
  }
  const auto* carried = std::get_if<batch>(&*offered.item);
  if (carried == nullptr || !carried->envelopes || !link_->budget)
    return true;
  if (budget_ticket_) {
    if (!link_->budget->admitted(*budget_ticket_))
      return false;
    budget_ticket_.reset();
    return true;
  }
  return link_->budget->try_charge(carried->envelopes);
}

void producer_end::begin_message() {
  outgoing_ = std::make_shared<published_items>();
  outgoing_->generation = *generation_;
  outgoing_->first = next_sequence_;
  outgoing_->items.reserve(last_outgoing_); // it is rarely much larger
  // One counts for all until the message is sent: the stream is not idle, and each item needs no atomic addition.
  link_->gauge->published.fetch_add(1, std::memory_order_release);
}

void producer_end::pump() {
  if (log_)
    return log_->pump();
  while (!line_.empty()) {
    auto& first = *line_.front();
    if (ended_) {
      settle_front(end());
      continue;
    }
    if (!generation_)
      return;
    if (auto fault = find_fault(first.item.item)) {
      leave_budget();
      settle_front(std::move(fault));
      continue;
    }
    if (!may_enqueue(first.item)) {
      const auto* carried = std::get_if<batch>(&*first.item.item);
      const bool lacks_budget = credit_.may_send(first.item.bytes);
      if (lacks_budget && !budget_ticket_) {
        budget_ticket_ = link_->budget->wait(carried->envelopes, owner().ref(), here());
        continue; // room may have come free between the two looks
      }
      return;
    }
    enqueue(std::move(first.item));
    settle_front(std::nullopt);
  }
}

void producer_end::settle_front(std::optional<error> failure) {
  auto& first = *line_.front();
  line_.pop_front();
  first.end_ = nullptr;
  first.on_settled(std::move(failure));
}

void producer_end::leave_budget() noexcept {
  if (budget_ticket_)
    link_->budget->leave(*std::exchange(budget_ticket_, std::nullopt));
}

void producer_end::stop_because(const cancel& ends) {
  if (!ended_ && ends.why)
    refusal_ = *ends.why;
  stop(ends.reason);
}

void producer_end::stop(errc reason) {
  if (!ended_)
    ended_ = reason;
  leave_budget();
  if (log_)
    log_->fail(*this);
  else
    pump();
  for (auto* one : std::exchange(attaching_, {})) {
    one->outcome_.emplace(end());
    one->resume_soon();
  }
}

void producer_end::on_control(control& message) {
  if (auto* known = std::get_if<attached>(&message)) {
    generation_ = known->generation;
    credit_ = known->sending;
    next_sequence_ = known->next_sequence;
    if (known->last)
      last_ = *known->last;
    may_repeat_ = known->may_repeat;
    if (known->repeats_behind)
      repeats_behind_ = *known->repeats_behind;
    for (auto* one : std::exchange(attaching_, {})) {
      one->outcome_.emplace(*generation_);
      one->resume_soon();
    }
    pump();
  } else if (const auto* more = std::get_if<grant>(&message)) {
    if (generation_ == more->generation) {
      credit_.on_grant(more->up_to);
      probed_ = false;
      pump();
    }
  } else if (const auto* ends = std::get_if<cancel>(&message)) {
    stop_because(*ends);
    flush();
    say_goodbye();
  } else if (std::holds_alternative<wake>(message)) {
    pump();
  }
}

void producer_end::flush() {
  pump();
  send_outgoing();
}

void producer_end::send_outgoing() {
  if (log_)
    return log_->flush();
  if (!outgoing_)
    return;
  last_outgoing_ = std::max(outgoing_->items.size(), last_outgoing_ / 2);
  link_->gauge->published.fetch_add(outgoing_->items.size() - 1, std::memory_order_release);
  owner().post(link_->lane, data_message{{}, std::move(outgoing_)});
  outgoing_.reset();
}

} // namespace weir::detail
