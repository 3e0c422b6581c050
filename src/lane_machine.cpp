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
  std::vector<shared_item> shared;
  shared.reserve(items.size());
  for (auto& item : items)
    shared.emplace_back(std::move(item));
  return receive(generation, first, std::move(shared));
}

bool lane_machine::receive(std::uint64_t generation, std::uint64_t first, std::vector<shared_item>&& items) {
  if (!has_producer_ || generation != producer_generation_ || first != tracker_.end()) {
    ++stale_messages_;
    return false;
  }
  const position* last = nullptr;
  for (auto& item : items) {
    const auto bytes = item.bytes();
    if (!credit_.on_received(1, bytes))
      ++bound_violations_;
    if (const auto* at = item.at())
      last = at;
    entries_.emplace_back(entry{.item = std::move(item), .bytes = bytes});
    held_bytes_ += bytes;
    ++unacknowledged_;
    tracker_.open();
  }
  if (last != nullptr)
    last_position_ = *last;
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
  from.leases.end_below(through, [this](std::uint64_t sequence) { acknowledge(sequence); });
  settle_floor();
  return true;
}

bool lane_machine::on_acknowledged(outlet out, std::uint64_t generation, std::uint64_t ordinal) {
  if (!is_current(out, generation))
    return false;
  auto& from = outlets_[index(out)];
  from.taken = std::max(from.taken, ordinal + 1);
  const bool was_held = from.leases.end(ordinal, [this](std::uint64_t sequence) { acknowledge(sequence); });
  settle_floor();
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
  return next_new_ == tracker_.end() && (out == outlet::main || unacknowledged_ == outlets_[index(out)].leases.active());
}

void lane_machine::drop_all() {
  for (auto& one : outlets_) {
    one.leases.restart();
    one.returned.clear();
  }
  credit_.on_done(credit_.held().items, credit_.held().bytes);
  entries_.clear();
  for (auto sequence = tracker_.prefix_end(); sequence < tracker_.end(); ++sequence)
    tracker_.complete(sequence, [](std::uint64_t) {});
  next_new_ = floor_end_ = tracker_.end();
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

std::optional<lane_machine::delivery> lane_machine::next_delivery(outlet out, std::uint64_t now) {
  auto& to = outlets_[index(out)];
  if (!to.attached || (out == outlet::main && stopped_))
    return std::nullopt;
  std::uint64_t sequence = next_new_;
  const auto again = to.returned.begin();
  if (again != to.returned.end()) {
    if (again->second > now)
      return std::nullopt;
    sequence = again->first;
  } else if (out != outlet::main || next_new_ == tracker_.end()) {
    return std::nullopt;
  }
  auto& lent = at(sequence);
  if (!to.credit.may_send(lent.bytes))
    return std::nullopt;
  to.credit.spend(lent.bytes);
  if (again != to.returned.end())
    to.returned.erase(again);
  else
    ++next_new_;
  lent.state = entry_state::lent;
  return delivery{to.leases.lend(sequence), sequence, ++lent.attempts, &*lent.item, &lent.item};
}

void lane_machine::acknowledge(std::uint64_t sequence) {
  auto& done = at(sequence);
  done.state = entry_state::acknowledged;
  held_bytes_ -= done.bytes;
  --unacknowledged_;
  if (done.where == outlet::dead_letters)
    --parked_;
  if (sequence != tracker_.prefix_end())
    keep_place(done); // a hole lies before it
  pass_floor();
  tracker_.complete(sequence, [this](std::uint64_t) {
    credit_.on_done(1, entries_.front().bytes);
    entries_.pop_front();
  });
}

void lane_machine::keep_place(entry& done) {
  const auto* where = done.item.at();
  if (where == nullptr) {
    done.item.reset();
    return;
  }
  batch place;
  place.at = *where;
  done.item = shared_item{lane_item{std::move(place)}};
}

/// Items without a position neither move the floor nor block it, so it may pass some that are not done.
void lane_machine::pass_floor() {
  for (; floor_end_ < tracker_.end(); ++floor_end_) {
    auto& next = at(floor_end_);
    const auto* where = next.item ? next.item.at() : nullptr;
    if (where == nullptr)
      continue;
    if (next.state != entry_state::acknowledged)
      return;
    auto& last = where->ends_transaction ? last_ending_ : last_passed_;
    last = std::move(next.item);
    if (&last == &last_ending_)
      last_passed_.reset();
  }
}

void lane_machine::settle_floor() {
  if (last_ending_)
    floor_.reached = floor_.confirmable = *last_ending_.at();
  if (last_passed_)
    floor_.reached = *last_passed_.at();
  last_ending_.reset();
  last_passed_.reset();
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
