#include "memory_shards.hpp"

#include <weir/log_rules.hpp>
#include <weir/record_codec.hpp>

#include <algorithm>

namespace weir::memory {

shards::shards(topic_description known, std::shared_ptr<const log_options> how)
  : known_{std::move(known)},
    how_{std::move(how)},
    shards_(known_.shards) {
  for (std::uint32_t one = 0; one < known_.shards; ++one)
    shards_[one].before = shards_[one].last = chain_begin(known_.store, known_.name, known_.epoch, one);
}

std::int64_t shards::now() const {
  return how_->now();
}

// Entries --------------------------------------------------------------------------------------------------------------------

append_outcome shards::append(std::vector<append_call> calls) {
  append_outcome outcome;
  const std::lock_guard lock{mutex_};
  for (auto& call : calls)
    outcome.decided.push_back(append_one(std::move(call)));
  return outcome;
}

result<std::vector<entry_place>> shards::append_one(append_call call) {
  if (auto fault = find_fault(call))
    return std::move(*fault);
  std::vector<entry_place> places;
  for (auto& one : call.entries)
    places.push_back(store(std::move(one)));
  forget_oldest_keys();
  return places;
}

/// Only between appends: one that has more keys than are remembered stores none of them twice.
void shards::forget_oldest_keys() {
  for (; key_order_.size() > known_.dedupe_horizon; key_order_.pop_front())
    keys_.erase(key_order_.front());
}

std::optional<error> shards::find_fault(const append_call& call) const {
  if (auto sound = log_rules::check_append(call.entries, call.expected_head.has_value(), known_.shards, known_.largest_entry);
    !sound)
    return std::move(sound).error();
  if (call.expected_head) {
    const auto& there = shards_[*call.entries.front().shard];
    if (there.head() != *call.expected_head)
      return log_rules::head_moved(*call.entries.front().shard, *call.expected_head, there.head());
  }
  std::map<std::string_view, std::size_t> own; // the append's own entries may name one key twice, too
  for (std::size_t index = 0; index < call.entries.size(); ++index) {
    const auto& one = call.entries[index];
    if (one.dedupe.empty())
      continue;
    const auto print = log_rules::fingerprint(one.key, one.payload);
    if (const auto found = keys_.find(one.dedupe); found != keys_.end() && found->second.fingerprint != print)
      return log_rules::dedupe_conflict(index, found->second.first);
    const auto [earlier, is_first] = own.emplace(one.dedupe, index);
    const auto& first = call.entries[earlier->second];
    if (!is_first && log_rules::fingerprint(first.key, first.payload) != print)
      return log_rules::dedupe_conflict(index, entry_place{*first.shard, -1});
  }
  return std::nullopt;
}

entry_place shards::store(new_entry&& given) {
  const auto shard_number = *given.shard;
  auto print = chain_digest{};
  if (!given.dedupe.empty()) {
    if (const auto found = keys_.find(given.dedupe); found != keys_.end()) {
      auto place = found->second.first;
      place.was_there = true;
      return place;
    }
    print = log_rules::fingerprint(given.key, given.payload);
  }
  auto& to = shards_[shard_number];
  const entry_place place{shard_number, to.head()};
  to.time = std::max(to.time, now());
  std::string record;
  encode_record(record, given);
  to.last = chain_next(to.last, place.offset, to.time, record);
  to.bytes += given.size_in_bytes();
  if (!given.dedupe.empty()) {
    keys_.emplace(given.dedupe, known_key{place, print});
    key_order_.push_back(given.dedupe);
  }
  to.entries.push_back(
    entry{place.offset, std::move(given.key), std::move(given.dedupe), std::move(given.payload), to.time, to.last});
  return place;
}

std::vector<shard_bounds> shards::bounds() const {
  const std::lock_guard lock{mutex_};
  return bounds_now();
}

std::vector<shard_bounds> shards::bounds_now() const {
  std::vector<shard_bounds> there;
  for (const auto& one : shards_)
    there.push_back({one.earliest, one.head()});
  return there;
}

result<log_reading> shards::read(std::uint32_t shard, std::int64_t after, entry_limits limits) const {
  const std::lock_guard lock{mutex_};
  if (auto known = log_rules::check_shard(shard, known_.shards); !known)
    return std::move(known).error();
  const auto& from = shards_[shard];
  log_reading reading{{from.earliest, from.head()}, {}};
  if (auto there = log_rules::check_after(known_.name, shard, after, reading.bounds, snapshots_now()); !there)
    return std::move(there).error();
  std::size_t bytes = 0;
  for (auto offset = after + 1; offset < reading.bounds.head; ++offset) {
    const auto& next = from.at(offset);
    bytes += next.size_in_bytes();
    const bool fits = reading.entries.size() < limits.entries && bytes <= limits.bytes;
    if (!reading.entries.empty() && !fits)
      break;
    reading.entries.push_back(next);
  }
  return reading;
}

shard_lag shards::lag_of(const content& of, std::int64_t after) const {
  shard_lag behind;
  if (after >= of.head() - 1)
    return behind;
  const auto next = std::max(after + 1, of.earliest);
  behind.entries = static_cast<std::uint64_t>(of.head() - next);
  for (auto offset = next; offset < of.head(); ++offset)
    behind.bytes += of.at(offset).size_in_bytes();
  behind.age = std::chrono::nanoseconds{std::max<std::int64_t>(0, now() - of.at(next).time)};
  return behind;
}

result<std::vector<shard_lag>> shards::lag(const std::vector<std::int64_t>& after) const {
  const std::lock_guard lock{mutex_};
  if (auto sound = log_rules::check_offsets(after, known_.shards); !sound)
    return std::move(sound).error();
  std::vector<shard_lag> behind;
  for (std::uint32_t one = 0; one < known_.shards; ++one)
    behind.push_back(lag_of(shards_[one], after[one]));
  return behind;
}

result<std::int64_t> shards::offset_at(std::uint32_t shard, std::chrono::nanoseconds since_epoch) const {
  const std::lock_guard lock{mutex_};
  if (auto known = log_rules::check_shard(shard, known_.shards); !known)
    return std::move(known).error();
  const auto& from = shards_[shard];
  const auto found = std::ranges::lower_bound(from.entries, since_epoch.count(), {}, &entry::time);
  return from.earliest + (found - from.entries.begin());
}

// Snapshots ------------------------------------------------------------------------------------------------------------------

result<void> shards::check_retained(const std::vector<std::int64_t>& offsets) const {
  if (auto sound = log_rules::check_offsets(offsets, known_.shards); !sound)
    return sound;
  for (std::uint32_t one = 0; one < known_.shards; ++one) {
    const shard_bounds there{shards_[one].earliest, shards_[one].head()};
    if (auto known = log_rules::check_after(known_.name, one, offsets[one], there, snapshots_now()); !known)
      return known;
  }
  return success();
}

result<std::uint64_t> shards::begin_snapshot(std::vector<std::int64_t> offsets) {
  const std::lock_guard lock{mutex_};
  if (auto there = check_retained(offsets); !there)
    return std::move(there).error();
  forget_unfinished();
  snapshot_info info;
  info.id = next_snapshot_++;
  info.time = now();
  for (std::uint32_t one = 0; one < known_.shards; ++one) {
    const auto& from = shards_[one];
    info.chains.push_back(offsets[one] < from.earliest ? from.before : from.at(offsets[one]).digest);
  }
  info.offsets = std::move(offsets);
  const auto id = info.id;
  unfinished_.emplace(id, stored_snapshot{std::move(info), {}});
  return id;
}

void shards::forget_unfinished() {
  const auto since = now() - unfinished_snapshot_lives.count();
  std::erase_if(unfinished_, [&](const auto& one) { return one.second.info.time < since; });
}

result<void> shards::add_chunk(std::uint64_t id, std::string chunk) {
  const std::lock_guard lock{mutex_};
  if (auto sound = log_rules::check_chunk(chunk.size()); !sound)
    return sound;
  const auto found = unfinished_.find(id);
  if (found == unfinished_.end())
    return log_rules::no_snapshot(known_.name, id);
  auto& made = found->second;
  made.info.digest = snapshot_digest(made.info.digest, chunk);
  made.info.bytes += chunk.size();
  ++made.info.chunks;
  made.chunks.push_back(std::move(chunk));
  return success();
}

result<snapshot_info> shards::finish_snapshot(std::uint64_t id) {
  const std::lock_guard lock{mutex_};
  auto found = unfinished_.extract(id);
  if (found.empty())
    return log_rules::no_snapshot(known_.name, id);
  if (!log_rules::is_usable(found.mapped().info, bounds_now()))
    return log_rules::snapshot_trimmed(known_.name, id);
  std::erase_if(snapshots_, [&](const auto& other) { return other.second.info.offsets == found.mapped().info.offsets; });
  found.mapped().info.time = now();
  auto info = found.mapped().info;
  snapshots_.insert(std::move(found));
  return info;
}

std::vector<snapshot_info> shards::snapshots() const {
  const std::lock_guard lock{mutex_};
  return snapshots_now();
}

std::vector<snapshot_info> shards::snapshots_now() const {
  std::vector<snapshot_info> usable;
  for (const auto& [id, stored] : snapshots_)
    usable.push_back(stored.info);
  return usable;
}

result<std::string> shards::read_chunk(std::uint64_t id, std::uint64_t index) const {
  const std::lock_guard lock{mutex_};
  const auto found = snapshots_.find(id);
  if (found == snapshots_.end())
    return id < trimmed_snapshots_ ? log_rules::snapshot_trimmed(known_.name, id) : log_rules::no_snapshot(known_.name, id);
  if (index >= found->second.chunks.size())
    return log_rules::no_chunk(known_.name, id, index, found->second.info.chunks);
  return found->second.chunks[index];
}

// Retention ------------------------------------------------------------------------------------------------------------------

result<trim_outcome> shards::trim(const trim_request& wanted) {
  const std::lock_guard lock{mutex_};
  if (auto sound = log_rules::check_offsets(wanted.through, known_.shards); !sound)
    return std::move(sound).error();
  if (auto allowed = log_rules::check_trim(known_.name, wanted.through, wanted.force, bounds_now(), snapshots_now()); !allowed)
    return std::move(allowed).error();
  forget_unfinished();
  const auto present = now();
  std::erase_if(pins_, [&](const auto& one) { return one.second.until <= present; });
  std::vector<std::string> names;
  for (const auto& [name, known] : checkpoints_)
    if (!known.expired)
      names.push_back(name);
  for (const auto& [id, pinned] : pins_)
    names.push_back(log_rules::pin_name(id));
  std::vector<shard_retention> all;
  for (std::uint32_t one = 0; one < known_.shards; ++one)
    all.push_back({shards_[one].earliest, wanted.through[one], holders_in(one)});
  const auto plan = plan_trim(all, wanted.budget);
  trim_outcome outcome;
  for (const auto one : plan.held_by)
    outcome.held_by.push_back(names[one]);
  std::ranges::sort(outcome.held_by);
  for (const auto one : plan.expired) {
    checkpoints_.at(names[one]).expired = true;
    outcome.expired.push_back(names[one]);
  }
  for (std::uint32_t one = 0; one < known_.shards; ++one)
    drop_through(shards_[one], plan.through[one]);
  outcome.bounds = bounds_now();
  std::erase_if(snapshots_, [&](const auto& one) {
    const bool goes = !log_rules::is_usable(one.second.info, outcome.bounds);
    if (goes)
      trimmed_snapshots_ = std::max(trimmed_snapshots_, one.first + 1);
    return goes;
  });
  return outcome;
}

/// Consumers, and behind them pins.
std::vector<retention_holder> shards::holders_in(std::uint32_t shard) const {
  std::vector<retention_holder> holders;
  for (const auto& [name, known] : checkpoints_) {
    if (known.expired)
      continue;
    const auto behind = lag_of(shards_[shard], known.offsets[shard]);
    holders.push_back({known.offsets[shard], behind.entries, behind.bytes, behind.age, false});
  }
  for (const auto& [id, pinned] : pins_)
    holders.push_back({pinned.offsets[shard], 0, 0, {}, true});
  return holders;
}

void shards::drop_through(content& of, std::int64_t through) {
  while (!of.entries.empty() && of.earliest <= through) {
    of.before = of.entries.front().digest;
    of.bytes -= of.entries.front().size_in_bytes();
    of.entries.pop_front();
    ++of.earliest;
  }
}

result<std::uint64_t> shards::pin(std::vector<std::int64_t> offsets, std::chrono::seconds at_most) {
  const std::lock_guard lock{mutex_};
  if (auto there = check_retained(offsets); !there)
    return std::move(there).error();
  const auto until = log_rules::pin_end(now(), at_most);
  if (!until)
    return until.error();
  const auto id = next_pin_++;
  pins_.emplace(id, held{std::move(offsets), until.value()});
  return id;
}

void shards::unpin(std::uint64_t pin) {
  const std::lock_guard lock{mutex_};
  pins_.erase(pin);
}

// Checkpoints ----------------------------------------------------------------------------------------------------------------

std::optional<checkpoint> shards::read_checkpoint(const std::string& consumer) const {
  const std::lock_guard lock{mutex_};
  const auto found = checkpoints_.find(consumer);
  return found == checkpoints_.end() ? std::nullopt : std::optional{found->second};
}

std::vector<checkpoint> shards::checkpoints() const {
  const std::lock_guard lock{mutex_};
  std::vector<checkpoint> all;
  for (const auto& [name, known] : checkpoints_)
    all.push_back(known);
  return all;
}

result<checkpoint> shards::commit_checkpoint(checkpoint_commit wanted) {
  const std::lock_guard lock{mutex_};
  const auto found = checkpoints_.find(wanted.consumer);
  const auto stored = found == checkpoints_.end() ? std::nullopt : std::optional{found->second};
  auto next = next_checkpoint(stored, std::move(wanted), bounds_now(), now());
  if (next)
    checkpoints_.insert_or_assign(next.value().consumer, next.value());
  return next;
}

result<void> shards::drop_checkpoint(const std::string& consumer, std::uint64_t expected) {
  const std::lock_guard lock{mutex_};
  const auto found = checkpoints_.find(consumer);
  const auto actual = found == checkpoints_.end() ? std::nullopt : std::optional{found->second.revision};
  if (actual != expected)
    return log_rules::checkpoint_conflict(consumer, expected, actual);
  checkpoints_.erase(found);
  return success();
}

} // namespace weir::memory
