#include "naive_feed.hpp"

#include <algorithm>
#include <limits>

namespace core_tests {

using weir::acknowledged;
using weir::credit;
using weir::errc;
using weir::error;

namespace {

constexpr auto all_there_is = std::numeric_limits<std::uint64_t>::max();

std::uint64_t sum(std::uint64_t left, std::uint64_t right) {
  return right > all_there_is - left ? all_there_is : left + right;
}

} // namespace

naive_feed::naive_feed(const std::vector<machine::shard_start>& shards, machine::settings how) : how_{how} {
  for (const auto& one : shards) // different ones, in order
    shards_.push_back({.shard = one.shard, .start = one.acked, .head = one.acked + 1});
}

credit naive_feed::grant(credit more) {
  const auto before = available_;
  available_.items = std::min(sum(available_.items, more.items), machine::most_credit);
  available_.bytes = std::min(sum(available_.bytes, more.bytes), machine::most_credit);
  return {available_.items - before.items, available_.bytes - before.bytes};
}

credit naive_feed::revoke() {
  const auto taken = available_;
  ever_revoked_ = {sum(ever_revoked_.items, taken.items), sum(ever_revoked_.bytes, taken.bytes)};
  available_ = {};
  return taken;
}

credit naive_feed::granted() const {
  return {
    sum(ever_revoked_.items, charged_.items + available_.items), sum(ever_revoked_.bytes, charged_.bytes + available_.bytes)};
}

credit naive_feed::revoked() const {
  return {granted().items - charged_.items - available_.items, granted().bytes - charged_.bytes - available_.bytes};
}

std::optional<naive_feed::machine::read_order> naive_feed::next_read() {
  if (under_way_ || first_in_line() != nullptr || available_.items == 0 || available_.bytes == 0)
    return std::nullopt;
  for (std::size_t tries = 0; tries < shards_.size(); ++tries) {
    auto& one = shards_[turn_];
    turn_ = (turn_ + 1) % shards_.size();
    if (one.head_is_known && one.scanned() + 1 >= one.head)
      continue;
    one.head_since_asked = 0;
    under_way_ = machine::read_order{++reads_, one.shard, one.scanned(), how_.read};
    if (available_.items < under_way_->limits.entries)
      under_way_->limits.entries = available_.items;
    if (available_.bytes < under_way_->limits.bytes)
      under_way_->limits.bytes = available_.bytes;
    return under_way_;
  }
  return std::nullopt;
}

naive_feed::machine::read_was naive_feed::on_read(
  const machine::read_order& asked, const weir::shard_bounds& bounds, const std::vector<machine::read_entry>& entries) {
  if (!under_way_ || under_way_->number != asked.number)
    return machine::read_was::superseded;
  under_way_.reset();
  auto& from = *find(asked.shard);
  for (const auto& one : entries)
    from.steps.push_back({one.offset, one.bytes, one.matches ? place::in_line : place::passed});
  if (entries.empty() && bounds.head - 1 > from.scanned())
    from.steps.push_back({bounds.head - 1, 0, place::passed});
  from.earliest = bounds.earliest;
  from.head = std::max({bounds.head, from.head_since_asked, from.scanned() + 1});
  from.head_is_known = true;
  return machine::read_was::taken;
}

void naive_feed::on_read_failed(const machine::read_order& asked) {
  if (under_way_ && under_way_->number == asked.number)
    under_way_.reset();
}

void naive_feed::on_head(std::uint32_t shard, std::int64_t head) {
  auto* of = find(shard);
  if (of == nullptr)
    return;
  of->head = std::max(of->head, head);
  of->head_since_asked = std::max(of->head_since_asked, head);
}

std::optional<std::pair<std::int64_t, std::int64_t>> naive_feed::skip_to(std::uint32_t shard, std::int64_t earliest) {
  auto* of = find(shard);
  if (of == nullptr)
    return std::nullopt;
  of->earliest = std::max(of->earliest, earliest);
  if (earliest <= of->scanned() + 1)
    return std::nullopt;
  const std::pair missed{of->scanned() + 1, earliest};
  of->steps.push_back({earliest - 1, 0, place::passed});
  of->head = std::max(of->head, earliest);
  of->head_is_known = false;
  if (under_way_ && under_way_->shard == shard)
    under_way_.reset();
  return missed;
}

naive_feed::machine::next_is naive_feed::next() const {
  const auto* first = first_in_line();
  if (first == nullptr)
    return machine::next_is::absent;
  if (available_.items == 0 || available_.bytes == 0)
    return machine::next_is::uncredited;
  if (first->bytes <= available_.bytes)
    return machine::next_is::deliverable;
  const bool is_oversize = first->bytes > how_.window_bytes;
  if (is_oversize && !how_.deliver_oversize)
    return machine::next_is::oversize;
  const bool window_is_free = available_.bytes >= how_.window_bytes;
  return is_oversize && window_is_free ? machine::next_is::deliverable : machine::next_is::uncredited;
}

std::uint64_t naive_feed::next_bytes() const {
  const auto* first = first_in_line();
  return first == nullptr ? 0 : first->bytes;
}

naive_feed::machine::handed_out naive_feed::deliver() {
  for (auto& one : shards_)
    for (auto& first : one.steps)
      if (first.place == place::in_line) {
        const auto bytes = std::min(first.bytes, available_.bytes);
        first.place = place::in_flight;
        charged_ = {charged_.items + 1, charged_.bytes + bytes};
        available_ = {available_.items - 1, available_.bytes - bytes};
        return {one.shard, first.offset};
      }
  return {};
}

weir::result<acknowledged> naive_feed::acknowledge(std::uint32_t shard, std::int64_t offset) {
  auto* of = find(shard);
  if (of == nullptr)
    return error{errc::invalid_argument};
  if (offset > of->delivered())
    return error{errc::ack_beyond_delivered};
  for (auto& one : of->steps)
    if (one.offset == offset && one.place == place::in_flight) {
      const auto before = of->acked();
      one.place = place::acknowledged;
      return of->acked() == before ? acknowledged::kept : acknowledged::moved;
    }
  return acknowledged::nothing;
}

weir::result<acknowledged> naive_feed::acknowledge_through(std::uint32_t shard, std::int64_t offset) {
  auto* of = find(shard);
  if (of == nullptr)
    return error{errc::invalid_argument};
  if (offset > of->delivered())
    return error{errc::ack_beyond_delivered};
  auto answer = acknowledged::nothing;
  for (auto& one : of->steps)
    if (one.offset <= offset && one.place == place::in_flight) {
      one.place = place::acknowledged;
      answer = acknowledged::moved;
    }
  return answer;
}

void naive_feed::rewind() {
  under_way_.reset();
  for (auto& one : shards_)
    std::erase_if(one.steps, [floor = one.acked()](const step& done) { return done.offset > floor; });
}

std::vector<weir::shard_progress> naive_feed::progress() const {
  std::vector<weir::shard_progress> all;
  for (const auto& one : shards_)
    all.push_back({one.shard, one.acked(), one.delivered(), one.earliest, one.head, in_flight(one.shard).size()});
  return all;
}

std::vector<std::int64_t> naive_feed::in_flight(std::uint32_t shard) const {
  std::vector<std::int64_t> all;
  for (const auto& one : shards_)
    for (const auto& lent : one.steps)
      if (one.shard == shard && lent.place == place::in_flight)
        all.push_back(lent.offset);
  return all;
}

std::int64_t naive_feed::shard_list::delivered() const {
  auto reached = start;
  for (const auto& one : steps) {
    if (one.place == place::in_line)
      break;
    reached = one.offset;
  }
  return reached;
}

std::int64_t naive_feed::shard_list::acked() const {
  auto reached = start;
  for (const auto& one : steps) {
    if (one.place == place::in_line || one.place == place::in_flight)
      break;
    reached = one.offset;
  }
  return reached;
}

const naive_feed::step* naive_feed::first_in_line() const {
  for (const auto& one : shards_)
    for (const auto& waiting : one.steps)
      if (waiting.place == place::in_line)
        return &waiting;
  return nullptr;
}

naive_feed::shard_list* naive_feed::find(std::uint32_t shard) {
  for (auto& one : shards_)
    if (one.shard == shard)
      return &one;
  return nullptr;
}

} // namespace core_tests
