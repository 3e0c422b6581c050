#include <weir/lane_machine.hpp>

#include <algorithm>

namespace weir {

lane_machine::lane_machine(lane_policy policy, lane_floor start)
  : policy_{policy},
    credit_{{policy.bound.items, policy.bound.bytes}},
    floor_{start},
    last_position_{start.reached} {}

std::uint64_t lane_machine::attach_producer() {
  has_producer_ = true;
  return ++producer_generation_;
}

bool lane_machine::receive(std::uint64_t generation, std::uint64_t first, std::vector<lane_item>&& items) {
  std::vector<offered> shared;
  shared.reserve(items.size());
  for (auto& item : items)
    shared.emplace_back(shared_item{std::move(item)});
  return receive(generation, first, std::move(shared));
}

bool lane_machine::receive(std::uint64_t generation, std::uint64_t first, std::vector<offered>&& items) {
  if (!has_producer_ || generation != producer_generation_) {
    ++stale_messages_;
    return false;
  }
  if (first != end()) { // the link lost or repeated something: taking it would break the order
    ++bound_violations_;
    return false;
  }
  std::uint64_t all_bytes = 0;
  entries_.reserve(entries_.size() + items.size());
  for (auto& item : items) {
    all_bytes += item.bytes;
    entries_.emplace_back(std::move(item));
  }
  if (!credit_.on_received(items.size(), all_bytes))
    ++bound_violations_;
  held_bytes_ += all_bytes;
  unacknowledged_ += items.size();
  for (auto sequence = end(); sequence > first; --sequence)
    if (const auto* last = place_of(sequence - 1)) {
      last_position_ = *last;
      break;
    }
  return true;
}

void lane_machine::on_probe(std::uint64_t generation, credit wanted) {
  if (generation == producer_generation_)
    credit_.on_probe(wanted);
}

void lane_machine::detach_producer(std::uint64_t generation) {
  if (generation == producer_generation_)
    has_producer_ = false;
}

std::optional<credit> lane_machine::take_grant(bool has_starved) {
  return has_producer_ ? credit_.take_grant(has_starved) : std::nullopt;
}

lane_machine::delivery lane_machine::lend(outlet out, std::uint64_t now, std::size_t most) {
  auto& to = outlets_[index(out)];
  if (!to.attached || (out == outlet::main && stopped_))
    return {};
  if (!to.returned.empty())
    return lend_returned(to, now, most); // before anything new, even if it is not due
  return out == outlet::main ? lend_new(to, most) : delivery{};
}

lane_machine::delivery lane_machine::lend_new(outlet_state& to, std::size_t most) {
  delivery lent{.sequence = next_new_, .attempt = 1};
  auto credit = to.credit;
  each(next_new_, end(), [&](entry& next) {
    if (lent.count == most || !credit.may_send(next.bytes))
      return false;
    credit.spend(next.bytes);
    next.state = entry_state::lent;
    next.attempts = 1;
    lent.bytes += next.bytes;
    ++lent.count;
    return true;
  });
  to.credit = credit;
  next_new_ += lent.count;
  if (lent.count > 0)
    lent.ordinal = to.leases.lend(lent.sequence, lent.count);
  return lent;
}

std::vector<shared_item> lane_machine::take_lent(const delivery& lent) {
  std::vector<shared_item> taken;
  taken.reserve(lent.count);
  each(lent.sequence, lent.sequence + lent.count, [&](entry& one) {
    taken.push_back(one.to_lend ? std::move(one.to_lend) : one.item);
    return true;
  });
  return taken;
}

lane_machine::delivery lane_machine::lend_returned(outlet_state& to, std::uint64_t now, std::size_t most) {
  delivery lent{.sequence = to.returned.begin()->first, .attempt = at(to.returned.begin()->first).attempts + 1};
  for (auto first = to.returned.begin(); lent.count < most && first != to.returned.end(); first = to.returned.begin()) {
    const auto [sequence, due] = *first;
    auto& next = at(sequence);
    if (due > now || sequence != lent.sequence + lent.count || next.attempts + 1 != lent.attempt
        || !to.credit.may_send(next.bytes))
      break;
    to.credit.spend(next.bytes);
    next.state = entry_state::lent;
    ++next.attempts;
    lent.bytes += next.bytes;
    ++lent.count;
    to.returned.erase(first);
  }
  if (lent.count > 0)
    lent.ordinal = to.leases.lend(lent.sequence, lent.count);
  return lent;
}

std::uint64_t lane_machine::attach_consumer(outlet out, credit window) {
  auto& to = outlets_[index(out)];
  return_all(out);
  if (out == outlet::main)
    stopped_ = false;
  to.attached = true;
  to.credit = sending_credit{window, window};
  return ++to.generation;
}

void lane_machine::detach_consumer(outlet out, std::uint64_t generation, std::uint64_t taken) {
  if (!is_current(out, generation))
    return;
  auto& from = outlets_[index(out)];
  from.taken = std::max(from.taken, taken);
  return_all(out);
  from.attached = false;
}

void lane_machine::on_grant(outlet out, std::uint64_t generation, credit up_to) {
  if (is_current(out, generation))
    outlets_[index(out)].credit.on_grant(up_to);
}

bool lane_machine::on_acknowledged_below(outlet out, std::uint64_t generation, std::uint64_t through, std::uint64_t taken) {
  if (!is_current(out, generation))
    return false;
  auto& from = outlets_[index(out)];
  from.taken = std::max({from.taken, taken, through});
  from.leases.end_below(through, [this](std::uint64_t sequence, std::uint64_t count) { acknowledge(sequence, count); });
  settle();
  return true;
}

bool lane_machine::on_acknowledged(outlet out, std::uint64_t generation, std::uint64_t ordinal) {
  if (!is_current(out, generation))
    return false;
  auto& from = outlets_[index(out)];
  from.taken = std::max(from.taken, ordinal + 1);
  const bool was_held = from.leases.end(ordinal, [this](std::uint64_t sequence) { acknowledge(sequence); });
  settle();
  return was_held;
}

bool lane_machine::on_returned(outlet out, std::uint64_t generation, std::uint64_t ordinal, std::uint64_t due) {
  if (!is_current(out, generation))
    return false;
  auto& from = outlets_[index(out)];
  from.taken = std::max(from.taken, ordinal + 1);
  return from.leases.end(ordinal, [&](std::uint64_t sequence) { give_back(out, ordinal, sequence, due); });
}

void lane_machine::return_untaken(outlet out, std::uint64_t generation, std::uint64_t taken) {
  if (!is_current(out, generation))
    return;
  auto& from = outlets_[index(out)];
  for (auto ordinal = taken; ordinal < from.leases.next_ordinal(); ++ordinal)
    from.leases.end(ordinal, [&](std::uint64_t sequence) { give_back(out, ordinal, sequence, 0); });
}

std::optional<std::uint64_t> lane_machine::next_due(std::uint64_t now) const noexcept {
  std::optional<std::uint64_t> earliest;
  for (const auto out : {outlet::main, outlet::dead_letters}) {
    const auto& one = outlets_[index(out)];
    if (!one.attached || one.returned.empty() || (out == outlet::main && stopped_))
      continue;
    if (const auto due = one.returned.begin()->second; due > now) // the others wait behind the first
      earliest = std::min(earliest.value_or(due), due);
  }
  return earliest;
}

bool lane_machine::all_delivered(outlet out) const noexcept {
  if (!outlets_[index(out)].returned.empty())
    return false;
  // What is in the main consumer's hands may yet be parked.
  return next_new_ == end() && (out == outlet::main || unacknowledged_ == outlets_[index(out)].leases.active());
}

lane_progress lane_machine::progress() const {
  lane_progress now{floor_, first_, std::max(floor_end_, first_), {}};
  auto left = entries_.size() - unacknowledged_;
  for (std::size_t index = 0; left > 0; ++index) {
    if (entries_[index].state != entry_state::acknowledged)
      continue;
    const auto sequence = first_ + index;
    if (now.acknowledged.empty() || now.acknowledged.back().second + 1 != sequence)
      now.acknowledged.emplace_back(sequence, sequence);
    else
      now.acknowledged.back().second = sequence;
    --left;
  }
  return now;
}

void lane_machine::drop_all() {
  for (auto& one : outlets_) {
    one.leases.restart();
    one.returned.clear();
  }
  credit_.on_done(credit_.held().items, credit_.held().bytes);
  first_ = prefix_end_ = next_new_ = floor_end_ = end();
  entries_.clear();
  held_bytes_ = unacknowledged_ = parked_ = 0;
  has_producer_ = false;
}

bool lane_machine::is_current(outlet out, std::uint64_t generation) noexcept {
  const auto& one = outlets_[index(out)];
  if (one.attached && one.generation == generation)
    return true;
  ++stale_messages_;
  return false;
}

void lane_machine::acknowledge(std::uint64_t sequence, std::uint64_t count) {
  const auto last = sequence + count;
  unacknowledged_ -= count;
  if (sequence != prefix_end_) { // a hole lies before it
    for (; sequence != last; ++sequence) {
      auto& done = at(sequence);
      done.state = entry_state::acknowledged;
      held_bytes_ -= done.bytes;
      parked_ -= done.where == outlet::dead_letters ? 1 : 0;
      keep_place(done);
    }
    return;
  }
  prefix_end_ = last;
  while (prefix_end_ < end() && at(prefix_end_).state == entry_state::acknowledged)
    ++prefix_end_;
}

void lane_machine::keep_place(entry& done) {
  done.to_lend.reset();
  const auto* where = done.item.at();
  if (where == nullptr) {
    done.item.reset();
    return;
  }
  batch place;
  place.at = *where;
  done.item = shared_item{lane_item{std::move(place)}};
}

const position* lane_machine::place_of(std::uint64_t sequence) noexcept {
  const auto& item = at(sequence).item;
  return item ? item.at() : nullptr;
}

void lane_machine::settle() {
  settle_floor();
  std::uint64_t bytes = 0;
  std::uint64_t bytes_released_before = 0; // acknowledged behind a hole
  shared_item_releaser letting_go;
  const auto items = prefix_end_ - first_;
  entries_.pop_front(items, [&](entry& done) {
    bytes += done.bytes;
    if (done.state == entry_state::acknowledged)
      bytes_released_before += done.bytes;
    else if (done.where == outlet::dead_letters)
      --parked_;
    letting_go.release(std::move(done.item));
  });
  held_bytes_ -= bytes - bytes_released_before;
  first_ = prefix_end_;
  credit_.on_done(items, bytes);
}

void lane_machine::settle_floor() {
  // In the acknowledged prefix the last ones decide.
  const position* reached = nullptr;
  for (auto sequence = prefix_end_; sequence > floor_end_; --sequence) {
    const auto* where = place_of(sequence - 1);
    if (where == nullptr)
      continue;
    if (reached == nullptr)
      floor_.reached = *(reached = where);
    if (where->ends_transaction) {
      floor_.confirmable = *where;
      break;
    }
  }
  floor_end_ = std::max(floor_end_, prefix_end_);
  // Items without a position neither move the floor nor block it, so it may pass some that are not done.
  for (; floor_end_ < end(); ++floor_end_) {
    const auto* where = place_of(floor_end_);
    if (where == nullptr)
      continue;
    if (at(floor_end_).state != entry_state::acknowledged)
      return;
    floor_.reached = *where;
    if (where->ends_transaction)
      floor_.confirmable = *where;
  }
}

void lane_machine::give_back(outlet out, std::uint64_t ordinal, std::uint64_t sequence, std::uint64_t due) {
  auto& back = at(sequence);
  back.state = entry_state::returned;
  const bool was_seen = ordinal < outlets_[index(out)].taken;
  if (!was_seen)
    --back.attempts;
  if (was_seen && out == outlet::main && policy_.max_attempts && back.attempts >= *policy_.max_attempts) {
    if (policy_.dead_letters == dead_letter_policy::park) {
      back.where = outlet::dead_letters;
      ++parked_;
      outlets_[index(outlet::dead_letters)].returned.emplace(sequence, 0);
      return;
    }
    stopped_ = true;
  }
  outlets_[index(out)].returned.emplace(sequence, due);
}

void lane_machine::return_all(outlet out) {
  auto& from = outlets_[index(out)];
  from.leases.for_each([&](std::uint64_t ordinal, std::uint64_t sequence) { give_back(out, ordinal, sequence, 0); });
  for (auto& [sequence, due] : from.returned)
    due = 0;
  from.leases.restart();
  from.taken = 0;
}

} // namespace weir
