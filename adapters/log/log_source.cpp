#include <weir/change_text.hpp>
#include <weir/log_endpoints.hpp>
#include <weir/worker.hpp>

#include "log_stamp.hpp"

#include <chrono>
#include <utility>

namespace weir {

namespace {

constexpr std::size_t longest_excerpt = 4096;

/// While the store can't be read.
constexpr std::chrono::milliseconds try_again{250};

} // namespace

struct log_source::state {
  std::shared_ptr<log_topic> topic;
  std::optional<feed> in;
  std::optional<checkpointer> keeper;
  std::uint64_t epoch = 1;
  std::optional<position> epoch_to_begin;
  std::optional<error> failure; // of what follows everything that was returned

  log_stamp stamp_at(const chain_digest& digest) const noexcept {
    const auto& known = topic->description();
    return {known.store, known.epoch, digest};
  }
  position place(std::int64_t offset, const chain_digest& digest, std::int64_t time) const {
    return {epoch, static_cast<std::uint64_t>(offset + 1), stamp_at(digest).to_stamp(), time, true};
  }
};

log_source::log_source(log_source_options options)
  : options_{std::move(options)},
    files_{std::make_unique<worker>("weir.log.in")} {}

log_source::~log_source() = default;

namespace {

/// Whether the log still has that very place. One that was trimmed is taken for what it was.
task<result<bool>> has_place(self me, std::shared_ptr<log_topic> topic, position at, log_stamp stamp) {
  const auto offset = static_cast<std::int64_t>(at.seq) - 1;
  auto asking = topic->bounds(me);
  auto bounds = co_await std::move(asking);
  if (!bounds) {
    result<bool> failed = std::move(bounds).error();
    co_return failed;
  }
  const auto& there = bounds.value().front();
  if (offset >= there.head)
    co_return false;
  if (offset < there.earliest)
    co_return true;
  auto reading = topic->read(me, 0, offset - 1, {.entries = 1, .bytes = 1});
  auto found = co_await std::move(reading);
  if (!found) {
    result<bool> failed = std::move(found).error();
    co_return failed;
  }
  co_return !found.value().entries.empty() && found.value().entries.front().digest == stamp.digest;
}

std::optional<envelope> change_of(const entry& from, const log_source_options& options, std::optional<error>& fault) {
  if (options.format == log_format::entries)
    return envelope{
      options.collection, from.key.empty() ? std::to_string(from.offset) : from.key, operation::upsert, from.payload, {}};
  auto read = read_change(from.payload);
  if (read.fault)
    fault = error{errc::bad_record, "the entry is no change: expected " + std::string{read.fault->expected},
      {{"topic", options.topic}, {"offset", std::to_string(from.offset)}, {"column", std::to_string(read.fault->at)},
        {"expected", std::string{read.fault->expected}}}};
  return std::move(read.change);
}

} // namespace

task<result<void>> log_source::open(self me, resume_point from) {
  auto opening = files_->run([store = options_.store] { return store(); });
  auto store = co_await opening;
  state_ = std::make_unique<state>();
  if (!store) {
    result<void> failed = std::move(store).error();
    co_return failed;
  }
  auto finding = store.value()->find_topic(me, options_.topic);
  auto topic = co_await std::move(finding);
  if (!topic) {
    result<void> failed = std::move(topic).error();
    co_return failed;
  }
  state_->topic = topic.value();
  const auto& known = state_->topic->description();
  if (known.shards != 1) {
    result<void> failed =
      error{errc::layout_mismatch, "a pipeline reads topics of one shard: only there do all entries have one order",
        {{"topic", known.name}, {"shards", std::to_string(known.shards)}}};
    co_return failed;
  }
  state_->keeper.emplace(state_->topic, options_.consumer);
  auto claiming = state_->keeper->claim(me);
  auto claimed = co_await std::move(claiming);
  if (!claimed) {
    result<void> failed = std::move(claimed).error();
    co_return failed;
  }
  auto asking = state_->topic->bounds(me);
  auto bounds = co_await std::move(asking);
  if (!bounds) {
    result<void> failed = std::move(bounds).error();
    co_return failed;
  }
  // Whoever confirmed nothing begins with what there is, and is honoured by trimming from then on.
  auto begin = known.cursor_at({bounds.value().front().earliest - 1});
  if (!claimed.value()) {
    auto registering = state_->keeper->commit(me, begin);
    auto registered = co_await std::move(registering);
    if (!registered)
      co_return registered;
  }
  state_->epoch = from.confirmed ? from.confirmed->epoch : 1;
  // Both places must be in this log as they were; otherwise it is another one, and is read from its beginning in an epoch of
  // its own.
  bool is_same = true;
  for (const auto& at : {from.confirmed, from.held}) {
    if (!at || !is_same)
      continue;
    const auto stamp = log_stamp::from(at->stamp);
    is_same = stamp && stamp->is_of_same_log(state_->stamp_at({})) && at->epoch == state_->epoch;
    if (!is_same || at->seq == 0)
      continue;
    auto looking = has_place(me, state_->topic, *at, *stamp);
    auto has = co_await std::move(looking);
    if (!has) {
      result<void> failed = std::move(has).error();
      co_return failed;
    }
    is_same = has.value();
  }
  if (!is_same) {
    state_->epoch = from.next_epoch();
    state_->epoch_to_begin = state_->place(-1, {}, 0);
  } else if (from.confirmed) {
    begin.offsets.front() = static_cast<std::int64_t>(from.confirmed->seq) - 1;
  }
  state_->in.emplace(state_->topic, begin, feed_options{.deliver_oversize = true});
  co_return success();
}

task<result<std::optional<reading>>> log_source::read(self me, read_limit limit) {
  auto& in = *state_->in;
  result<std::optional<reading>> brought = std::optional<reading>{};
  if (state_->failure) {
    brought = *state_->failure;
    co_return brought;
  }
  if (state_->epoch_to_begin) {
    const auto at = *std::exchange(state_->epoch_to_begin, std::nullopt);
    reading empty;
    empty.live.at = at;
    empty.live.envelopes = make_block({}, {{at, 0, 0, 0}});
    brought = std::optional{std::move(empty)};
    co_return brought;
  }
  in.revoke();
  in.grant(limit.changes, limit.bytes);
  std::vector<feed_entry> entries;
  for (;;) {
    auto pulling = in.pull(me);
    auto pulled = co_await std::move(pulling);
    if (pulled) {
      entries = std::move(pulled).value();
      break;
    }
    if (!is_passing(pulled.error().code())) {
      brought = std::move(pulled).error();
      co_return brought;
    }
    auto pausing = me.sleep(try_again);
    auto paused = co_await pausing;
    if (!paused) {
      brought = std::move(paused).error();
      co_return brought;
    }
  }
  if (entries.empty() && !options_.follow)
    co_return brought; // the head is the end
  if (entries.empty()) {
    auto waiting = in.next(me);
    auto next = co_await std::move(waiting);
    if (!next) {
      brought = std::move(next).error();
      co_return brought;
    }
    entries.push_back(std::move(next).value());
  }
  reading gathered;
  std::vector<envelope> changes;
  std::vector<transaction_part> parts;
  for (auto& one : entries) {
    const auto at = state_->place(one.entry.offset, one.entry.digest, one.entry.time);
    std::optional<error> fault;
    auto change = change_of(one.entry, options_, fault);
    if (fault && options_.on_bad == bad_record_policy::stop) {
      state_->failure = std::move(fault);
      break;
    }
    if (fault)
      gathered.bad.push_back({std::move(*fault), one.entry.payload.substr(0, longest_excerpt)});
    parts.push_back({at, changes.size(), change ? 1U : 0U, 0});
    if (change)
      changes.push_back(std::move(*change));
    gathered.live.at = at;
  }
  if (parts.empty()) {
    brought = *state_->failure;
    co_return brought;
  }
  gathered.live.changes = changes.size() + gathered.bad.size();
  gathered.live.envelopes = make_block(std::move(changes), std::move(parts));
  brought = std::optional{std::move(gathered)};
  co_return brought;
}

task<result<void>> log_source::confirm(self me, position at) {
  const bool is_ours = at.epoch == state_->epoch && at.seq > 0;
  if (!is_ours)
    co_return success();
  const auto offset = static_cast<std::int64_t>(at.seq) - 1;
  if (auto done = state_->in->acknowledge_through(0, offset); !done) {
    result<void> failed = std::move(done).error();
    co_return failed;
  }
  auto here = state_->in->at();
  const auto& stored = state_->keeper->stored();
  if (stored && !stored->expired && stored->offsets >= here.value().offsets)
    co_return success(); // the pipeline's state was lost, and it reads again what it had acknowledged
  auto committing = state_->keeper->commit(me, std::move(here).value());
  auto committed = co_await std::move(committing);
  co_return committed;
}

} // namespace weir
