#include <weir/detail/log_line.hpp>

#include <algorithm>

namespace weir::detail {

std::shared_ptr<log_line> log_line::of(host& owner, const std::shared_ptr<const log_link>& to) {
  if (auto found = std::static_pointer_cast<log_line>(owner.find_shared(to.get())))
    return found;
  auto made = std::make_shared<log_line>(owner, to);
  owner.share(to.get(), made);
  return made;
}

log_line::log_line(host& owner, std::shared_ptr<const log_link> to) : endpoint{owner}, to_{std::move(to)} {
  owner.post_in_order(to_->actor, control_message{to_->inlet, attach_end{end_role::producer, owner.ref(), here(), {}}});
}

log_line::~log_line() {
  flush();
  owner().post_in_order(to_->actor, control_message{to_->inlet, detach_end{end_role::producer, owner().ref(), here(), 0}});
}

bool log_line::is_open() const noexcept {
  return number_ && line_.empty()
         && std::ranges::all_of(ends_, [](const producer_end* one) { return one->generation_ || one->ended_; });
}

bool log_line::is_last_offered(const shared_item& item) const noexcept {
  return outgoing_ && outgoing_->items.back().item.is_same_as(item);
}

bool log_line::try_enqueue(producer_end& by, lane_machine::offered& offered) {
  if (!is_last_offered(offered.item)) {
    if (!take_room(offered.bytes))
      return false;
    begin_entry(std::move(offered));
  }
  add_target(by);
  return true;
}

std::optional<error> log_line::wait(producer_end& by, publication& waiting) {
  if (waiting_ >= producer_end::max_waiters)
    return error{errc::too_many_waiters, "too many publishers wait for the log already",
      {{"lane", to_string(by.link_->id)}, {"limit", std::to_string(producer_end::max_waiters)}}};
  if (by.ended_)
    return by.end();
  waiting.end_ = &by;
  ++waiting_;
  if (!line_.empty() && line_.back().front()->item.item.is_same_as(waiting.item.item)) {
    line_.back().push_back(&waiting);
    return std::nullopt;
  }
  line_.push_back({&waiting});
  if (line_.size() == 1)
    flush_later(); // not at once: more copies may follow
  return std::nullopt;
}

void log_line::withdraw(publication& waiting) noexcept {
  waiting.end_ = nullptr;
  --waiting_;
  for (auto one = line_.begin(); one != line_.end(); ++one) {
    if (std::erase(*one, &waiting) == 0)
      continue;
    if (one->empty()) {
      if (one == line_.begin())
        probed_ = false; // the next in line may fit where this one did not
      line_.erase(one);
    }
    break;
  }
  flush_later();
}

bool log_line::take_room(std::uint64_t bytes) {
  if (credit_.may_send(bytes))
    return to_->budget->try_charge(bytes); // and is woken otherwise
  if (!std::exchange(probed_, true) && credit_.available_items() > 0)
    owner().post(to_->actor, control_message{to_->inlet, probe{*number_, credit_.wanted_for(bytes)}});
  return false;
}

void log_line::begin_entry(lane_machine::offered&& offered) {
  if (outgoing_ && outgoing_->items.size() >= items_per_message)
    send();
  end_entry();
  credit_.spend(offered.bytes);
  probed_ = false;
  if (!outgoing_) {
    outgoing_ = std::make_shared<published_entries>();
    outgoing_->line = *number_;
  }
  to_->gauge->published.fetch_add(1, std::memory_order_release);
  outgoing_->items.push_back({std::move(offered.item), offered.bytes, 0});
  offered.to_lend.reset();
  flush_later();
}

void log_line::add_target(producer_end& of) {
  targets_.push_back({of.link_->key, *of.generation_});
  of.note_last(outgoing_->items.back().item);
}

void log_line::end_entry() {
  if (!outgoing_)
    return;
  if (outgoing_->targets.empty() || outgoing_->targets.back() != targets_)
    outgoing_->targets.push_back(targets_);
  targets_.clear();
  outgoing_->items.back().targets = outgoing_->targets.size() - 1;
}

void log_line::pump() {
  while (!line_.empty()) {
    auto& first = line_.front();
    if (!number_ || !std::ranges::all_of(first, [](const publication* one) { return one->end_->generation_.has_value(); }))
      return;
    std::erase_if(first, [this](publication* one) {
      const bool is_there = one->end_->has_before(one->item.item);
      auto fault = is_there ? std::nullopt : one->end_->find_fault(one->item.item);
      if (!fault && !is_there)
        return false;
      settle(*one, std::move(fault));
      return true;
    });
    if (!first.empty()) {
      if (!take_room(first.front()->item.bytes))
        return;
      begin_entry(std::move(first.front()->item));
      for (auto* one : first) {
        add_target(*one->end_);
        settle(*one, std::nullopt);
      }
    }
    line_.pop_front();
  }
}

void log_line::settle(publication& one, std::optional<error> failure) {
  --waiting_;
  one.end_ = nullptr;
  one.on_settled(std::move(failure));
}

void log_line::fail(const producer_end& of) {
  for (auto& one : line_)
    std::erase_if(one, [&](publication* waiting) {
      if (waiting->end_ != &of)
        return false;
      settle(*waiting, of.end());
      return true;
    });
  std::erase_if(line_, [](const group& one) { return one.empty(); });
  probed_ = false; // the next in line may fit where the first did not
  flush_later();
}

void log_line::on_control(control& message) {
  if (const auto* known = std::get_if<attached>(&message)) {
    number_ = known->generation;
    credit_ = known->sending;
    pump();
  } else if (const auto* more = std::get_if<grant>(&message)) {
    if (number_ == more->generation) {
      credit_.on_grant(more->up_to);
      probed_ = false;
      pump();
    }
  } else if (std::holds_alternative<wake>(message)) {
    pump();
  }
}

void log_line::flush() {
  pump();
  send();
}

void log_line::send() {
  if (!outgoing_)
    return;
  end_entry();
  owner().post(to_->actor, data_message{to_->inlet, std::move(outgoing_)});
  outgoing_.reset();
}

} // namespace weir::detail
