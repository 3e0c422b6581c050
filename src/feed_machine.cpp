#include <weir/feed_machine.hpp>

#include <algorithm>
#include <cassert>
#include <string>

namespace weir {

namespace {

// The last offset below which a head can be named.
constexpr auto last_offset = std::numeric_limits<std::int64_t>::max() - 1;

// How much of a grant can be counted: neither what is available nor all that was ever granted may overflow.
std::uint64_t countable(std::uint64_t more, std::uint64_t charged, std::uint64_t available) noexcept {
  const auto room_of_all = std::numeric_limits<std::uint64_t>::max() - charged - available;
  return std::min({more, feed_machine::most_credit - available, room_of_all});
}

std::uint64_t saturated(std::uint64_t revoked, std::uint64_t charged, std::uint64_t available) noexcept {
  return std::min(revoked, std::numeric_limits<std::uint64_t>::max() - charged - available);
}

bool is_ordered(std::int64_t after, const std::vector<feed_machine::read_entry>& entries) noexcept {
  for (const auto& one : entries) {
    if (one.offset <= after || one.offset > last_offset)
      return false;
    after = one.offset;
  }
  return true;
}

error unknown_shard(std::uint32_t shard) {
  return error{errc::invalid_argument, "the feed does not read that shard", {{"shard", std::to_string(shard)}}};
}

error beyond_delivered(std::uint32_t shard, std::int64_t offset, std::int64_t delivered) {
  return error{errc::ack_beyond_delivered, "acknowledges an entry that was not delivered",
    {{"shard", std::to_string(shard)}, {"offset", std::to_string(offset)}, {"delivered", std::to_string(delivered)}}};
}

} // namespace

feed_machine::feed_machine(std::vector<shard_start> shards, settings how) : how_{how} {
  how_.read.entries = std::max<std::size_t>(how_.read.entries, 1);
  how_.read.bytes = std::max<std::size_t>(how_.read.bytes, 1);
  std::ranges::sort(shards, {}, [](const shard_start& one) { return std::pair{one.shard, one.acked}; });
  const auto doubled = std::ranges::unique(shards, {}, &shard_start::shard);
  shards.erase(doubled.begin(), doubled.end());
  shards_.reserve(shards.size());
  for (const auto& one : shards) {
    const auto acked = std::clamp<std::int64_t>(one.acked, -1, last_offset);
    shards_.push_back({one.shard, acked, acked, acked, 0, acked + 1, true, {}});
  }
}

// ---- shards

void feed_machine::add(shard_start one) {
  clear_line();
  const auto place = std::ranges::lower_bound(shards_, one.shard, {}, &shard_state::shard);
  if (place != shards_.end() && place->shard == one.shard)
    return;
  const auto acked = std::clamp<std::int64_t>(one.acked, -1, last_offset);
  shards_.insert(place, {one.shard, acked, acked, acked, 0, acked + 1, true, {}});
}

void feed_machine::remove(std::uint32_t shard) noexcept {
  clear_line();
  std::erase_if(shards_, [&](const shard_state& one) { return one.shard == shard; });
}

bool feed_machine::stop(std::uint32_t shard, bool is_stopped) noexcept {
  auto* of = find(shard);
  if (of == nullptr || of->is_stopped == is_stopped)
    return false;
  clear_line();
  of->is_stopped = is_stopped;
  return true;
}

// ---- credit

credit feed_machine::grant(credit more) noexcept {
  const credit added{
    countable(more.items, charged_.items, available_.items), countable(more.bytes, charged_.bytes, available_.bytes)};
  available_.items += added.items;
  available_.bytes += added.bytes;
  revoked_.items = saturated(revoked_.items, charged_.items, available_.items);
  revoked_.bytes = saturated(revoked_.bytes, charged_.bytes, available_.bytes);
  return added;
}

credit feed_machine::revoke() noexcept {
  const auto taken = std::exchange(available_, {});
  revoked_.items += taken.items; // what was granted does not change by it, so it does not overflow
  revoked_.bytes += taken.bytes;
  return taken;
}

credit feed_machine::granted() const noexcept {
  return {charged_.items + available_.items + revoked_.items, charged_.bytes + available_.bytes + revoked_.bytes};
}

// ---- reading

std::optional<feed_machine::read_order> feed_machine::next_read() noexcept {
  if (under_way_ || !line_.empty() || !has_credit())
    return std::nullopt;
  for (std::size_t step = 0; step < shards_.size(); ++step) {
    const auto of = (turn_ + step) % shards_.size();
    const auto& one = shards_[of];
    if (one.is_stopped || (!one.unsure && one.scanned >= one.head - 1))
      continue;
    turn_ = (of + 1) % shards_.size();
    under_way_ = read_under_way{++reads_, of, 0};
    return read_order{reads_, one.shard, one.scanned,
      {static_cast<std::size_t>(std::min<std::uint64_t>(how_.read.entries, available_.items)),
        static_cast<std::size_t>(std::min<std::uint64_t>(how_.read.bytes, available_.bytes))}};
  }
  return std::nullopt;
}

feed_machine::read_was feed_machine::on_read(
  const read_order& asked, const shard_bounds& bounds, const std::vector<read_entry>& entries) {
  if (!is_under_way(asked))
    return read_was::superseded;
  const auto [number, of, said] = *std::exchange(under_way_, std::nullopt);
  auto& from = shards_[of];
  if (!is_ordered(from.scanned, entries))
    return read_was::disordered;
  line_of_ = of;
  for (const auto& one : entries) {
    if (one.matches)
      line_.emplace_back(in_line{from.scanned, one.offset, one.bytes});
    from.scanned = one.offset;
  }
  const auto head = std::max<std::int64_t>(bounds.head, 0);
  if (entries.empty())
    from.scanned = std::max(from.scanned, head - 1); // only holes are there
  from.earliest = std::max<std::int64_t>(bounds.earliest, 0);
  from.head = std::max({head, said, from.scanned + 1});
  from.unsure = false;
  settle(from);
  return read_was::taken;
}

void feed_machine::on_read_failed(const read_order& asked) noexcept {
  if (is_under_way(asked))
    under_way_.reset();
}

void feed_machine::on_head(std::uint32_t shard, std::int64_t head) noexcept {
  auto* of = find(shard);
  if (of == nullptr)
    return;
  of->head = std::max(of->head, head);
  if (under_way_ && &shards_[under_way_->of] == of)
    under_way_->head = std::max(under_way_->head, head);
}

std::optional<std::pair<std::int64_t, std::int64_t>> feed_machine::skip_to(
  std::uint32_t shard, std::int64_t earliest) noexcept {
  auto* of = find(shard);
  if (of == nullptr || earliest < 0)
    return std::nullopt;
  of->earliest = std::max(of->earliest, earliest);
  if (earliest - 1 <= of->scanned)
    return std::nullopt;
  const std::pair missed{of->scanned + 1, earliest};
  of->scanned = earliest - 1;
  of->head = std::max(of->head, earliest);
  of->unsure = true;
  supersede_read_of(*of);
  settle(*of);
  return missed;
}

// ---- delivering

feed_machine::next_is feed_machine::next() const noexcept {
  if (line_.empty())
    return next_is::absent;
  if (!has_credit())
    return next_is::uncredited;
  const auto bytes = next_bytes();
  if (bytes <= available_.bytes)
    return next_is::deliverable;
  if (bytes <= how_.window_bytes)
    return next_is::uncredited;
  if (!how_.deliver_oversize)
    return next_is::oversize;
  // Alone: when the whole window is there, nothing else is held.
  return available_.bytes >= how_.window_bytes ? next_is::deliverable : next_is::uncredited;
}

feed_machine::handed_out feed_machine::deliver() {
  assert(next() == next_is::deliverable);
  auto& from = shards_[line_of_];
  const auto first = line_[0];
  if (first.offset > from.acked) // parity mode may set the cursor beyond it
    from.in_flight.add(first.before, first.offset);
  line_.pop_front();
  const auto bytes = std::min(first.bytes, available_.bytes);
  --available_.items;
  ++charged_.items;
  available_.bytes -= bytes;
  charged_.bytes += bytes;
  settle(from);
  return {from.shard, first.offset};
}

void feed_machine::end_pull() noexcept {
  if (how_.mode != feed_mode::parity)
    return;
  revoke();
  rewind();
}

// ---- acknowledging

result<acknowledged> feed_machine::acknowledge(std::uint32_t shard, std::int64_t offset) {
  if (how_.mode == feed_mode::parity)
    return acknowledge_through(shard, offset);
  auto* of = find(shard);
  if (of == nullptr)
    return unknown_shard(shard);
  if (offset > of->delivered)
    return beyond_delivered(shard, offset, of->delivered);
  if (!of->in_flight.remove(offset))
    return acknowledged::nothing;
  const auto before = of->acked;
  settle(*of);
  return of->acked != before ? acknowledged::moved : acknowledged::kept;
}

result<acknowledged> feed_machine::acknowledge_through(std::uint32_t shard, std::int64_t offset) {
  auto* of = find(shard);
  if (of == nullptr)
    return unknown_shard(shard);
  if (how_.mode == feed_mode::parity) {
    if (offset <= of->acked || offset >= of->head)
      return acknowledged::nothing;
    set_cursor(*of, offset);
    return acknowledged::moved;
  }
  if (offset > of->delivered)
    return beyond_delivered(shard, offset, of->delivered);
  if (of->in_flight.remove_through(offset) == 0)
    return acknowledged::nothing;
  settle(*of);
  return acknowledged::moved;
}

void feed_machine::rewind() noexcept {
  line_.clear();
  under_way_.reset();
  for (auto& one : shards_) {
    one.in_flight.clear();
    one.scanned = one.delivered = one.acked;
  }
}

std::vector<shard_progress> feed_machine::progress() const {
  std::vector<shard_progress> all;
  all.reserve(shards_.size());
  for (const auto& one : shards_)
    all.push_back({one.shard, one.acked, one.delivered, one.earliest, one.head, one.in_flight.size(), one.is_stopped});
  return all;
}

// ---- inside

feed_machine::shard_state* feed_machine::find(std::uint32_t shard) noexcept {
  const auto found = std::ranges::lower_bound(shards_, shard, {}, &shard_state::shard);
  return found != shards_.end() && found->shard == shard ? &*found : nullptr;
}

/// What stood in line is read again.
void feed_machine::clear_line() noexcept {
  under_way_.reset();
  if (line_.empty())
    return;
  auto& of = shards_[line_of_];
  line_.clear();
  of.scanned = of.delivered;
}

void feed_machine::supersede_read_of(const shard_state& one) noexcept {
  if (under_way_ && &shards_[under_way_->of] == &one)
    under_way_.reset();
}

// What is delivered follows what was read as far as nobody stands in line, and what is acknowledged follows what is delivered
// as far as nothing is in flight: entries that don't match and holes keep nobody.
void feed_machine::settle(shard_state& one) noexcept {
  const bool stands_in_line = !line_.empty() && &shards_[line_of_] == &one;
  one.delivered = std::max(one.delivered, stands_in_line ? line_[0].before : one.scanned);
  one.acked = std::max(one.acked, one.in_flight.empty() ? one.delivered : one.in_flight.before_first());
}

void feed_machine::set_cursor(shard_state& of, std::int64_t offset) noexcept {
  of.acked = offset;
  of.delivered = std::max(of.delivered, offset);
  of.in_flight.remove_through(offset);
  if (offset > of.scanned) {
    of.scanned = offset;
    supersede_read_of(of);
  }
  settle(of);
}

} // namespace weir
