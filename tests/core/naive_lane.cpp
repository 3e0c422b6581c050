#include "naive_lane.hpp"

#include <algorithm>

namespace core_tests {

using weir::credit;
using weir::outlet;

naive_lane::naive_lane(weir::lane_policy policy, weir::lane_floor start)
  : policy_{policy},
    start_{start},
    granted_{policy.bound.items, policy.bound.bytes},
    floor_{start} {}

std::uint64_t naive_lane::attach_producer() {
  has_producer_ = true;
  return ++producer_generation_;
}

bool naive_lane::receive(std::uint64_t generation, std::uint64_t first, const std::vector<weir::lane_item>& items) {
  if (!has_producer_ || generation != producer_generation_ || first != items_.size())
    return false;
  for (const auto& one : items) {
    const auto* at = position_of(one);
    items_.push_back({.at = at != nullptr ? std::optional{*at} : std::nullopt, .bytes = size_in_bytes(one)});
  }
  return true;
}

void naive_lane::on_probe(std::uint64_t generation, credit wanted) {
  if (generation == producer_generation_)
    wanted_ = wanted;
}

void naive_lane::detach_producer(std::uint64_t generation) {
  if (generation == producer_generation_)
    has_producer_ = false;
}

std::optional<credit> naive_lane::take_grant(bool has_starved) {
  if (!has_producer_)
    return std::nullopt;
  const credit most{done().items + policy_.bound.items, done().bytes + policy_.bound.bytes};
  const bool wish_fits = wanted_ && wanted_->items <= most.items && wanted_->bytes <= most.bytes;
  const auto free_items = most.items - granted_.items;
  const auto free_bytes = most.bytes - granted_.bytes;
  const bool enough = free_items * 2 >= policy_.bound.items || free_bytes * 2 >= policy_.bound.bytes
                      || (has_starved && (free_items > 0 || free_bytes > 0));
  if (!wish_fits && !enough)
    return std::nullopt;
  if (wish_fits)
    wanted_.reset();
  granted_ = most;
  return most;
}

std::uint64_t naive_lane::attach_consumer(outlet out, credit window) {
  return_all(out);
  auto& to = link(out);
  to = {.attached = true,
    .generation = to.generation + 1,
    .seen = 0,
    .window = window,
    .granted = window,
    .spent = {},
    .leases = {}};
  if (out == outlet::main)
    stopped_ = false;
  return to.generation;
}

void naive_lane::detach_consumer(outlet out, std::uint64_t generation, std::uint64_t taken) {
  if (!is_current(out, generation))
    return;
  link(out).seen = std::max(at(out).seen, taken);
  return_all(out);
  link(out).attached = false;
  link(out).leases.clear();
}

void naive_lane::on_grant(outlet out, std::uint64_t generation, credit up_to) {
  if (!is_current(out, generation))
    return;
  auto& granted = link(out).granted;
  granted = {std::max(granted.items, up_to.items), std::max(granted.bytes, up_to.bytes)};
}

bool naive_lane::on_acknowledged_below(outlet out, std::uint64_t generation, std::uint64_t through, std::uint64_t taken) {
  if (!is_current(out, generation))
    return false;
  auto& from = link(out);
  from.seen = std::max({from.seen, through, taken});
  for (std::uint64_t ordinal = 0; ordinal < through; ++ordinal)
    if (end_lease(from, ordinal))
      items_[from.leases[ordinal].sequence].place = place::acknowledged;
  return true;
}

bool naive_lane::on_acknowledged(outlet out, std::uint64_t generation, std::uint64_t ordinal) {
  if (!is_current(out, generation))
    return false;
  auto& from = link(out);
  from.seen = std::max(from.seen, ordinal + 1);
  if (!end_lease(from, ordinal))
    return false;
  items_[from.leases[ordinal].sequence].place = place::acknowledged;
  return true;
}

bool naive_lane::on_returned(outlet out, std::uint64_t generation, std::uint64_t ordinal, std::uint64_t due) {
  if (!is_current(out, generation))
    return false;
  auto& from = link(out);
  from.seen = std::max(from.seen, ordinal + 1);
  if (!end_lease(from, ordinal))
    return false;
  give_back(out, ordinal, due);
  return true;
}

void naive_lane::return_untaken(outlet out, std::uint64_t generation, std::uint64_t taken) {
  if (!is_current(out, generation))
    return;
  for (auto ordinal = taken; ordinal < at(out).leases.size(); ++ordinal)
    if (end_lease(link(out), ordinal))
      give_back(out, ordinal, 0);
}

std::optional<std::uint64_t> naive_lane::next_sequence(outlet out, std::uint64_t now) const {
  if (!at(out).attached || (out == outlet::main && stopped_))
    return std::nullopt;
  for (auto sequence = prefix_end(); sequence < items_.size(); ++sequence) {
    const auto& one = items_[sequence];
    if (one.out != out || (one.place != place::returned && one.place != place::queued))
      continue;
    if (one.place == place::returned && one.due > now)
      return std::nullopt; // nothing overtakes it
    return sequence;
  }
  return std::nullopt;
}

std::vector<delivered> naive_lane::deliver(outlet out, std::uint64_t now) {
  std::vector<delivered> all;
  auto& to = link(out);
  while (const auto sequence = next_sequence(out, now)) {
    auto& one = items_[*sequence];
    const bool fits = to.spent.bytes + one.bytes <= to.granted.bytes;
    const bool alone = one.bytes > to.window.bytes && to.granted.bytes == to.spent.bytes + to.window.bytes;
    if (to.spent.items == to.granted.items || !(fits || alone))
      break;
    ++to.spent.items;
    to.spent.bytes += one.bytes;
    one.place = place::lent;
    to.leases.push_back({*sequence});
    all.push_back({to.leases.size() - 1, *sequence, ++one.attempts});
  }
  return all;
}

void naive_lane::drop_all() {
  floor(); // it moves no further
  for (auto& one : items_)
    one.place = place::acknowledged;
  prefix_ = floor_end_ = items_.size();
  for (auto& one : consumers_)
    one.leases.clear();
  has_producer_ = false;
}

std::uint64_t naive_lane::prefix_end() const {
  while (prefix_ < items_.size() && items_[prefix_].place == place::acknowledged)
    ++prefix_;
  return prefix_;
}

weir::lane_floor naive_lane::floor() const {
  // Items without a position neither move it nor block it.
  for (; floor_end_ < items_.size(); ++floor_end_) {
    const auto& one = items_[floor_end_];
    if (!one.at)
      continue;
    if (one.place != place::acknowledged)
      break;
    floor_.reached = one.at;
    if (one.at->ends_transaction)
      floor_.confirmable = one.at;
  }
  return floor_;
}

std::optional<weir::position> naive_lane::last_position() const {
  for (auto one = items_.rbegin(); one != items_.rend(); ++one)
    if (one->at)
      return one->at;
  return start_.reached;
}

std::uint64_t naive_lane::held_bytes() const {
  std::uint64_t bytes = 0;
  for (auto sequence = prefix_end(); sequence < items_.size(); ++sequence)
    if (items_[sequence].place != place::acknowledged)
      bytes += items_[sequence].bytes;
  return bytes;
}

std::uint64_t naive_lane::parked() const {
  std::uint64_t count = 0;
  for (auto sequence = prefix_end(); sequence < items_.size(); ++sequence)
    count += items_[sequence].out == outlet::dead_letters && items_[sequence].place != place::acknowledged ? 1 : 0;
  return count;
}

bool naive_lane::is_producer_starved() const {
  return has_producer_ && items_.size() == granted_.items && done().items + policy_.bound.items > granted_.items;
}

bool naive_lane::all_delivered(outlet out) const {
  for (auto sequence = prefix_end(); sequence < items_.size(); ++sequence) {
    const auto& one = items_[sequence];
    if (one.place == place::acknowledged)
      continue;
    if (one.out == out && one.place != place::lent)
      return false;
    if (out == outlet::dead_letters && one.out == outlet::main)
      return false; // it may yet be parked
  }
  return true;
}

bool naive_lane::waits_for_time() const {
  return std::ranges::any_of(items_.begin() + static_cast<long>(prefix_end()), items_.end(),
    [](const item& one) { return one.place == place::returned; });
}

std::optional<std::uint64_t> naive_lane::next_due(std::uint64_t now) const {
  std::optional<std::uint64_t> earliest;
  for (const auto out : {outlet::main, outlet::dead_letters}) {
    if (!at(out).attached || (out == outlet::main && stopped_))
      continue;
    for (auto sequence = prefix_end(); sequence < items_.size(); ++sequence) {
      const auto& one = items_[sequence];
      if (one.out != out || one.place != place::returned)
        continue;
      if (one.due > now)
        earliest = std::min(earliest.value_or(one.due), one.due);
      break; // those behind it wait for it
    }
  }
  return earliest;
}

credit naive_lane::received() const {
  credit all{items_.size(), 0};
  for (const auto& one : items_)
    all.bytes += one.bytes;
  return all;
}

credit naive_lane::done() const {
  credit all{prefix_end(), 0};
  for (std::uint64_t sequence = 0; sequence < all.items; ++sequence)
    all.bytes += items_[sequence].bytes;
  return all;
}

bool naive_lane::is_current(outlet out, std::uint64_t generation) const {
  return at(out).attached && at(out).generation == generation;
}

bool naive_lane::end_lease(consumer& of, std::uint64_t ordinal) {
  if (ordinal >= of.leases.size() || !of.leases[ordinal].active)
    return false;
  of.leases[ordinal].active = false;
  return true;
}

void naive_lane::give_back(outlet out, std::uint64_t ordinal, std::uint64_t due) {
  auto& back = items_[at(out).leases[ordinal].sequence];
  back.place = place::returned;
  back.due = due;
  if (ordinal >= at(out).seen) {
    --back.attempts; // nobody tried
    return;
  }
  if (out == outlet::main && policy_.max_attempts && back.attempts >= *policy_.max_attempts) {
    if (policy_.dead_letters == weir::dead_letter_policy::stop_lane) {
      stopped_ = true;
    } else {
      back.out = outlet::dead_letters;
      back.due = 0;
    }
  }
}

void naive_lane::return_all(outlet out) {
  auto& from = link(out);
  for (std::uint64_t ordinal = 0; ordinal < from.leases.size(); ++ordinal)
    if (end_lease(from, ordinal))
      give_back(out, ordinal, 0);
  for (auto& one : items_)
    if (one.out == out && one.place == place::returned)
      one.due = 0;
}

std::string naive_lane::fingerprint(std::uint64_t now) const {
  std::string text;
  auto add = [&](std::uint64_t number) {
    text += std::to_string(number);
    text += ',';
  };
  for (const auto& one : items_) {
    add(one.attempts);
    add(static_cast<std::uint64_t>(one.place));
    add(static_cast<std::uint64_t>(one.out));
    add(one.place == place::returned && one.due > now ? one.due - now : 0);
  }
  for (const auto& one : consumers_) {
    text += one.attached ? "+" : "-";
    for (const auto number : {one.generation, one.seen, one.granted.items, one.granted.bytes, one.spent.items, one.spent.bytes})
      add(number);
    for (const auto& lent : one.leases) {
      add(lent.sequence);
      text += lent.active ? '.' : '!';
    }
  }
  for (const auto number : {producer_generation_, granted_.items, granted_.bytes, prefix_end()})
    add(number);
  text += stopped_ ? 's' : ' ';
  text += has_producer_ ? 'p' : ' ';
  return text;
}

} // namespace core_tests
