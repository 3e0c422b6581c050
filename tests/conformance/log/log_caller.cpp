#include "conformance/log/log_caller.hpp"

#include <weir/configure.hpp>

#include <doctest/doctest.h>

namespace log_suite {

namespace {

using topic_ptr = std::shared_ptr<weir::log_topic>;

} // namespace

caf::actor_system_config& log_caller::configured(caf::actor_system_config& config) {
  weir::configure(config);
  return config;
}

log_caller::log_caller(place_options how) : system_{configured(config_)}, place_{new_place(how)}, store_{place_->open()} {}

void log_caller::reopen() {
  store_.reset();
  store_ = place_->open();
}

weir::result<topic_ptr> log_caller::open_topic(std::string name, weir::topic_layout layout) {
  return open_topic(store_, std::move(name), layout);
}

weir::result<topic_ptr> log_caller::open_topic(
  std::shared_ptr<weir::log_store> in, std::string name, weir::topic_layout layout) {
  return run(
    [](weir::self me, std::shared_ptr<weir::log_store> from, std::string wanted,
      weir::topic_layout how) -> weir::task<weir::result<topic_ptr>> {
      auto opening = from->open_topic(me, std::move(wanted), how);
      auto opened = co_await std::move(opening);
      co_return opened;
    },
    std::move(in), std::move(name), layout);
}

weir::result<topic_ptr> log_caller::find_topic(std::string name) {
  return run(
    [](weir::self me, std::shared_ptr<weir::log_store> from, std::string wanted) -> weir::task<weir::result<topic_ptr>> {
      auto finding = from->find_topic(me, std::move(wanted));
      auto found = co_await std::move(finding);
      co_return found;
    },
    store_, std::move(name));
}

std::vector<weir::topic_description> log_caller::topics() {
  return must(run(
    [](weir::self me, std::shared_ptr<weir::log_store> in) -> weir::task<weir::result<std::vector<weir::topic_description>>> {
      auto listing = in->topics(me);
      auto found = co_await std::move(listing);
      co_return found;
    },
    store_));
}

topic_caller::topic_caller(log_caller& in, std::string name, weir::topic_layout layout) : in_{&in} {
  auto opened = in.open_topic(std::move(name), layout);
  REQUIRE_MESSAGE(opened, opened.error().to_string());
  topic_ = std::move(opened).value();
}

std::vector<std::int64_t> topic_caller::append_payloads(std::vector<std::string> payloads, std::uint32_t shard) {
  std::vector<weir::new_entry> entries;
  for (auto& one : payloads)
    entries.push_back({.payload = std::move(one), .shard = shard});
  auto places = append(std::move(entries));
  REQUIRE_MESSAGE(places, places.error().to_string());
  std::vector<std::int64_t> found;
  for (const auto& one : places.value())
    found.push_back(one.offset);
  return found;
}

weir::result<std::vector<weir::entry_place>> topic_caller::append(
  std::vector<weir::new_entry> entries, std::optional<std::int64_t> expected_head) {
  for (auto& one : entries)
    one.shard = one.shard.value_or(0);
  std::vector<weir::append_call> calls;
  calls.push_back({std::move(entries), expected_head});
  auto outcome = append_calls(std::move(calls));
  if (outcome.failure)
    return std::move(*outcome.failure);
  REQUIRE(outcome.decided.size() == 1);
  return std::move(outcome.decided.front());
}

weir::append_outcome topic_caller::append_calls(std::vector<weir::append_call> calls) {
  auto outcome = in_->run(
    [](weir::self me, topic_ptr to, std::vector<weir::append_call> all) -> weir::task<weir::append_outcome> {
      auto appending = to->append(me, std::move(all));
      auto appended = co_await std::move(appending);
      co_return appended;
    },
    topic_, std::move(calls));
  return std::move(outcome).value();
}

std::vector<weir::shard_bounds> topic_caller::bounds() {
  auto there = in_->run(
    [](weir::self me, topic_ptr of) -> weir::task<weir::result<std::vector<weir::shard_bounds>>> {
      auto asking = of->bounds(me);
      auto found = co_await std::move(asking);
      co_return found;
    },
    topic_);
  REQUIRE_MESSAGE(there, there.error().to_string());
  return std::move(there).value();
}

weir::result<weir::log_reading> topic_caller::read(std::uint32_t shard, std::int64_t after, weir::entry_limits limits) {
  return in_->run(
    [](weir::self me, topic_ptr from, std::uint32_t of, std::int64_t behind,
      weir::entry_limits most) -> weir::task<weir::result<weir::log_reading>> {
      auto reading = from->read(me, of, behind, most);
      auto brought = co_await std::move(reading);
      co_return brought;
    },
    topic_, shard, after, limits);
}

std::vector<weir::entry> topic_caller::read_all(std::uint32_t shard) {
  std::vector<weir::entry> all;
  for (auto after = bounds()[shard].earliest - 1;;) {
    auto brought = read(shard, after, {.entries = 7, .bytes = 1 << 16});
    REQUIRE_MESSAGE(brought, brought.error().to_string());
    if (brought.value().entries.empty())
      return all;
    for (auto& one : brought.value().entries)
      all.push_back(std::move(one));
    after = all.back().offset;
  }
}

std::vector<std::string> topic_caller::payloads(std::uint32_t shard) {
  std::vector<std::string> all;
  for (auto& one : read_all(shard))
    all.push_back(std::move(one.payload));
  return all;
}

weir::result<void> topic_caller::wait(std::vector<std::int64_t> after, weir::deadline until) {
  return in_->run(
    [](weir::self me, topic_ptr of, std::vector<std::int64_t> behind, weir::deadline by) -> weir::task<weir::result<void>> {
      auto waiting = of->wait(me, std::move(behind), by);
      auto woken = co_await std::move(waiting);
      co_return woken;
    },
    topic_, std::move(after), until);
}

weir::result<std::vector<weir::shard_lag>> topic_caller::lag(std::vector<std::int64_t> after) {
  return in_->run(
    [](
      weir::self me, topic_ptr of, std::vector<std::int64_t> behind) -> weir::task<weir::result<std::vector<weir::shard_lag>>> {
      auto asking = of->lag(me, std::move(behind));
      auto found = co_await std::move(asking);
      co_return found;
    },
    topic_, std::move(after));
}

weir::result<std::int64_t> topic_caller::offset_at(std::uint32_t shard, std::int64_t time) {
  return in_->run(
    [](weir::self me, topic_ptr of, std::uint32_t in, std::int64_t when) -> weir::task<weir::result<std::int64_t>> {
      auto asking = of->offset_at(me, in, std::chrono::nanoseconds{when});
      auto found = co_await std::move(asking);
      co_return found;
    },
    topic_, shard, time);
}

weir::result<weir::snapshot_info> topic_caller::snapshot(std::vector<std::int64_t> at, std::vector<std::string> chunks) {
  auto begun = begin_snapshot(std::move(at));
  if (!begun)
    return std::move(begun).error();
  for (auto& one : chunks)
    if (auto added = add_chunk(begun.value(), std::move(one)); !added)
      return std::move(added).error();
  return finish_snapshot(begun.value());
}

weir::result<std::uint64_t> topic_caller::begin_snapshot(std::vector<std::int64_t> at_offsets) {
  return in_->run(
    [](weir::self me, topic_ptr of, std::vector<std::int64_t> at) -> weir::task<weir::result<std::uint64_t>> {
      auto beginning = of->begin_snapshot(me, std::move(at));
      auto begun = co_await std::move(beginning);
      co_return begun;
    },
    topic_, std::move(at_offsets));
}

weir::result<void> topic_caller::add_chunk(std::uint64_t id, std::string chunk) {
  return in_->run(
    [](weir::self me, topic_ptr of, std::uint64_t to, std::string bytes) -> weir::task<weir::result<void>> {
      auto adding = of->add_chunk(me, to, std::move(bytes));
      auto added = co_await std::move(adding);
      co_return added;
    },
    topic_, id, std::move(chunk));
}

weir::result<weir::snapshot_info> topic_caller::finish_snapshot(std::uint64_t id) {
  return in_->run(
    [](weir::self me, topic_ptr of, std::uint64_t which) -> weir::task<weir::result<weir::snapshot_info>> {
      auto finishing = of->finish_snapshot(me, which);
      auto finished = co_await std::move(finishing);
      co_return finished;
    },
    topic_, id);
}

std::vector<weir::snapshot_info> topic_caller::snapshots() {
  auto all = in_->run(
    [](weir::self me, topic_ptr of) -> weir::task<weir::result<std::vector<weir::snapshot_info>>> {
      auto listing = of->snapshots(me);
      auto found = co_await std::move(listing);
      co_return found;
    },
    topic_);
  REQUIRE_MESSAGE(all, all.error().to_string());
  return std::move(all).value();
}

weir::result<std::string> topic_caller::read_chunk(std::uint64_t id, std::uint64_t index) {
  return in_->run(
    [](weir::self me, topic_ptr of, std::uint64_t which, std::uint64_t number) -> weir::task<weir::result<std::string>> {
      auto reading = of->read_chunk(me, which, number);
      auto chunk = co_await std::move(reading);
      co_return chunk;
    },
    topic_, id, index);
}

weir::result<weir::trim_outcome> topic_caller::trim(weir::trim_request wanted) {
  return in_->run(
    [](weir::self me, topic_ptr of, weir::trim_request how) -> weir::task<weir::result<weir::trim_outcome>> {
      auto trimming = of->trim(me, std::move(how));
      auto trimmed = co_await std::move(trimming);
      co_return trimmed;
    },
    topic_, std::move(wanted));
}

weir::result<weir::trim_outcome> topic_caller::force_trim(std::int64_t through, std::uint32_t shard) {
  auto all = topic_->description().origin().offsets;
  all[shard] = through;
  return trim({.through = std::move(all), .force = true, .budget = {}});
}

weir::result<std::uint64_t> topic_caller::pin(std::vector<std::int64_t> at_offsets, std::chrono::seconds at_most) {
  return in_->run(
    [](weir::self me, topic_ptr of, std::vector<std::int64_t> at,
      std::chrono::seconds most) -> weir::task<weir::result<std::uint64_t>> {
      auto pinning = of->pin(me, std::move(at), most);
      auto pinned = co_await std::move(pinning);
      co_return pinned;
    },
    topic_, std::move(at_offsets), at_most);
}

weir::result<void> topic_caller::unpin(std::uint64_t pin) {
  return in_->run(
    [](weir::self me, topic_ptr of, std::uint64_t which) -> weir::task<weir::result<void>> {
      auto unpinning = of->unpin(me, which);
      auto done = co_await std::move(unpinning);
      co_return done;
    },
    topic_, pin);
}

weir::result<std::optional<weir::checkpoint>> topic_caller::checkpoint(std::string consumer) {
  return in_->run(
    [](weir::self me, topic_ptr of, std::string who) -> weir::task<weir::result<std::optional<weir::checkpoint>>> {
      auto reading = of->read_checkpoint(me, std::move(who));
      auto found = co_await std::move(reading);
      co_return found;
    },
    topic_, std::move(consumer));
}

std::vector<weir::checkpoint> topic_caller::checkpoints() {
  auto all = in_->run(
    [](weir::self me, topic_ptr of) -> weir::task<weir::result<std::vector<weir::checkpoint>>> {
      auto listing = of->checkpoints(me);
      auto found = co_await std::move(listing);
      co_return found;
    },
    topic_);
  REQUIRE_MESSAGE(all, all.error().to_string());
  return std::move(all).value();
}

weir::result<weir::checkpoint> topic_caller::commit(weir::checkpoint_commit wanted) {
  return in_->run(
    [](weir::self me, topic_ptr of, weir::checkpoint_commit what) -> weir::task<weir::result<weir::checkpoint>> {
      auto committing = of->commit_checkpoint(me, std::move(what));
      auto committed = co_await std::move(committing);
      co_return committed;
    },
    topic_, std::move(wanted));
}

weir::result<void> topic_caller::drop(std::string consumer, std::uint64_t expected) {
  return in_->run(
    [](weir::self me, topic_ptr of, std::string who, std::uint64_t revision) -> weir::task<weir::result<void>> {
      auto dropping = of->drop_checkpoint(me, std::move(who), revision);
      auto dropped = co_await std::move(dropping);
      co_return dropped;
    },
    topic_, std::move(consumer), expected);
}

std::vector<std::string> numbered(const std::string& prefix, std::size_t count, std::size_t from) {
  std::vector<std::string> all;
  for (auto number = from; number < from + count; ++number)
    all.push_back(prefix + std::to_string(number));
  return all;
}

} // namespace log_suite
