#include <weir/lane.hpp>

#include <algorithm>
#include <span>

namespace weir::detail {

consumer_end::consumer_end(host& owner, std::shared_ptr<const lane_link> link, end_role role, credit window)
  : endpoint{owner},
    link_{std::move(link)},
    role_{role},
    credit_{window} {
  if (role_ == end_role::consumer)
    if (auto wired =
          link_->wiring->attach(link_->gauge.get(), to_string(link_->id), shared_wiring::end::consumer, owner.unique_name());
      !wired) {
      ended_ = errc::wait_cycle;
      refusal_ = std::move(wired).error();
      was_refused_ = true;
      return;
    }
  owner.post(link_->lane, control_message{{}, attach_end{role_, owner.ref(), here(), window}});
}

consumer_end::~consumer_end() {
  stop(errc::cancelled); // whoever still waits here
  if (was_refused_)
    return;
  flush();
  if (role_ == end_role::consumer)
    link_->wiring->detach(link_->gauge.get(), shared_wiring::end::consumer, owner().unique_name());
  owner().post(link_->lane, control_message{{}, detach_end{role_, owner().ref(), here(), taken_}});
}

void consumer_end::clear_ready() noexcept {
  ready_.clear();
  ready_items_ = 0;
}

void consumer_end::pass(std::size_t count) noexcept {
  ready_items_ -= count;
  if (ready_.front().next == ready_.front().items.size())
    ready_.pop_front();
}

weir::delivery<lane_item> consumer_end::take() {
  flush_later(); // tells the lane what was seen, for the count of attempts
  auto& first = ready_.front();
  auto& next = first.items[first.next];
  sizes_.emplace_back(next.bytes());
  weir::delivery<lane_item> taken{*this, taken_++, first.sequence + first.next++, first.attempt, std::move(next)};
  pass(1);
  return taken;
}

void consumer_end::take_ready(std::vector<weir::delivery<lane_item>>& into, std::size_t max_items, std::uint64_t max_bytes) {
  if (ready_items_ == 0)
    return;
  flush_later();
  std::size_t room = std::min(max_items, ready_items_);
  into.reserve(into.size() + room);
  bool is_full = false;
  for (std::uint64_t bytes = 0; room > 0 && !is_full;) {
    auto& first = ready_.front();
    const auto sequence = first.sequence + first.next;
    std::size_t count = 0;
    for (auto& next : std::span{first.items}.subspan(first.next, std::min(room, first.items.size() - first.next))) {
      const auto size = next.bytes();
      is_full = bytes + size > max_bytes && !into.empty();
      if (is_full)
        break;
      bytes += size;
      sizes_.emplace_back(size);
      into.emplace_back(*this, taken_ + count, sequence + count, first.attempt, std::move(next));
      ++count;
    }
    taken_ += count;
    first.next += count;
    room -= count;
    pass(count);
  }
}

std::optional<error> consumer_end::end() const {
  if (refusal_)
    return refusal_;
  if (ended_) {
    const char* sentence = "the lane gives nothing more";
    switch (*ended_) {
    case errc::fenced: sentence = "a newer consumer has taken over the lane"; break;
    case errc::closed: sentence = "the stream was closed"; break;
    case errc::lane_retired: sentence = "the lane was retired from the stream"; break;
    case errc::dead_lettered: sentence = "the lane stopped at an item that was returned too often"; break;
    default: break;
    }
    return error{*ended_, sentence, {{"lane", to_string(link_->id)}}};
  }
  if (!has_ready() && end_after_returns_ == returns_)
    return error{errc::end_of_lane, "the lane is closed and everything was delivered", {{"lane", to_string(link_->id)}}};
  return std::nullopt;
}

void consumer_end::await(receive_operation& waiting) {
  receivers_.push_back(&waiting);
}

void consumer_end::await_attached(attach_operation& waiting) {
  if (!generation_ && !ended_) {
    attaching_.push_back(&waiting);
    return;
  }
  if (ended_)
    waiting.outcome_.emplace(*end());
  else
    waiting.outcome_.emplace(*generation_);
  waiting.resume_soon();
}

void consumer_end::withdraw(receive_operation& waiting) noexcept {
  std::erase(receivers_, &waiting);
}

void consumer_end::withdraw(attach_operation& waiting) noexcept {
  std::erase(attaching_, &waiting);
}

bool consumer_end::is_stale() const noexcept {
  // The lane's own word, not yet arrived here: whoever asks after a take-over gets the truth.
  const auto newest =
    link_->gauge->consumer_generation[static_cast<std::size_t>(outlet_of(role_))].load(std::memory_order_acquire);
  return ended_ == errc::fenced || ended_ == errc::lane_retired || ended_ == errc::dead_lettered || newest != generation_;
}

result<void> consumer_end::acknowledge(std::uint64_t ordinal, std::uint64_t bytes) {
  if (is_stale())
    return error{errc::stale_delivery, "the lease was superseded", {{"lane", to_string(link_->id)}}};
  complete(ordinal, bytes, true);
  return success();
}

result<void> consumer_end::acknowledge_through(std::uint64_t ordinal) {
  if (is_stale())
    return error{errc::stale_delivery, "the lease was superseded", {{"lane", to_string(link_->id)}}};
  std::uint64_t items = 0;
  std::uint64_t bytes = 0;
  const auto before = progress_.prefix_end();
  if (progress_.complete_below(ordinal + 1)) {
    items = progress_.prefix_end() - before;
    sizes_.pop_front(items, [&](std::uint64_t size) { bytes += size; });
  } else {
    for (; progress_.prefix_end() <= ordinal && !progress_.all_done(); ++items) {
      bytes += sizes_.front(); // the prefix ends at one that is open
      progress_.complete(progress_.prefix_end(), [this](std::uint64_t) { sizes_.pop_front(); });
    }
  }
  credit_.on_done(items, bytes);
  flush_later();
  return success();
}

result<void> consumer_end::give_back(std::uint64_t ordinal, std::uint64_t bytes, std::uint64_t after_ms) {
  if (is_stale() || ended_)
    return error{errc::stale_delivery, "the lease was superseded", {{"lane", to_string(link_->id)}}};
  if (!progress_.is_open(ordinal))
    return success();
  ++returns_;
  owner().post(link_->lane, control_message{{}, returned_one{role_, *generation_, ordinal, after_ms, taken_}});
  complete(ordinal, bytes, false);
  discard_ready();
  return success();
}

void consumer_end::discard_ready() {
  while (has_ready()) {
    auto& first = ready_.front();
    complete(taken_++, sizes_.emplace_back(first.items[first.next++].bytes()), false);
    pass(1);
  }
}

void consumer_end::complete(std::uint64_t ordinal, std::uint64_t bytes, bool as_acknowledged) {
  if (!progress_.is_open(ordinal))
    return;
  const auto before = progress_.prefix_end();
  progress_.complete(ordinal, [this](std::uint64_t) { sizes_.pop_front(); });
  credit_.on_done(1, bytes);
  if (progress_.prefix_end() == before && as_acknowledged)
    out_of_order_.push_back(ordinal);
  flush_later();
}

void consumer_end::on_control(control& message) {
  if (const auto* known = std::get_if<attached>(&message)) {
    on_attached(known->generation);
  } else if (const auto* ends = std::get_if<cancel>(&message)) {
    if (!ended_ && ends->why)
      refusal_ = *ends->why;
    stop(ends->reason);
  } else if (const auto* drained = std::get_if<end_of_lane>(&message)) {
    if (generation_ == drained->generation) {
      end_after_returns_ = drained->returns;
      serve();
    }
  }
}

void consumer_end::on_data(parcel& items) {
  auto& delivered = static_cast<delivered_items&>(items);
  if (ended_)
    return;
  if (!generation_)
    on_attached(delivered.generation); // the first data may come before the word that we are attached
  if (generation_ != delivered.generation)
    return;
  if (delivered.ordinal != progress_.end()) { // the link lost or repeated something: taking it would acknowledge other items
    link_->gauge->bound_violations.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (!credit_.on_received(delivered.items.size(), delivered.bytes))
    link_->gauge->bound_violations.fetch_add(1, std::memory_order_relaxed);
  progress_.open(delivered.items.size());
  ready_items_ += delivered.items.size();
  ready_.emplace_back(arrived{std::move(delivered.items), delivered.sequence, delivered.attempt});
  if (delivered.returns != returns_)
    discard_ready(); // sent before the lane knew of a return: these come again, behind it
  else
    serve();
}

void consumer_end::on_attached(std::uint64_t generation) {
  generation_ = generation;
  for (auto* one : std::exchange(attaching_, {})) {
    one->outcome_.emplace(generation);
    one->resume_soon();
  }
}

void consumer_end::serve() {
  while (!receivers_.empty()) {
    auto* first = receivers_.front();
    if (has_ready()) {
      receivers_.pop_front();
      first->settle(take());
    } else if (auto over = end()) {
      receivers_.pop_front();
      first->settle(std::move(*over));
    } else {
      return;
    }
  }
}

void consumer_end::stop(errc reason) {
  if (ended_)
    return;
  ended_ = reason;
  clear_ready();
  serve();
  for (auto* one : std::exchange(attaching_, {})) {
    one->outcome_.emplace(*end());
    one->resume_soon();
  }
}

void consumer_end::flush() {
  if (!generation_)
    return;
  for (const auto ordinal : out_of_order_)
    if (ordinal >= progress_.prefix_end())
      owner().post(link_->lane, control_message{{}, acknowledged_one{role_, *generation_, ordinal}});
  out_of_order_.clear();
  // With nothing left to hand out, whatever is free is granted: the lane may need just that for its next item.
  const auto granted = credit_.take_grant(!has_ready());
  if (acknowledged_below_ == progress_.prefix_end() && taken_told_ == taken_ && !granted)
    return;
  acknowledged_below_ = progress_.prefix_end();
  taken_told_ = taken_;
  owner().post(
    link_->lane, control_message{{}, acknowledged_below{role_, *generation_, acknowledged_below_, taken_, credit_.granted()}});
}

} // namespace weir::detail
