#include <weir/head_signal.hpp>
#include <weir/log_rules.hpp>
#include <weir/memory_log.hpp>
#include <weir/topic_name.hpp>

#include "memory_shards.hpp"

#include <chrono>
#include <random>

namespace weir::memory {

namespace {

class topic final : public log_topic {
public:
  topic(topic_description known, std::shared_ptr<const log_options> how)
    : log_topic{known},
      shards_{std::move(known), std::move(how)},
      heads_{description().shards} {}

  task<append_outcome> append(self, std::vector<append_call> calls) override {
    auto outcome = shards_.append(std::move(calls));
    const auto there = shards_.bounds();
    for (std::uint32_t shard = 0; shard < there.size(); ++shard)
      heads_.publish(shard, there[shard].head);
    co_return outcome;
  }

  task<result<std::vector<shard_bounds>>> bounds(self) override {
    result<std::vector<shard_bounds>> there = shards_.bounds();
    co_return there;
  }

  task<result<log_reading>> read(self, std::uint32_t shard, std::int64_t after, entry_limits limits) override {
    auto reading = shards_.read(shard, after, limits);
    co_return reading;
  }

  task<result<void>> wait(self, std::vector<std::int64_t> after, deadline until) override {
    auto sound = log_rules::check_offsets(after, description().shards);
    if (!sound)
      co_return sound;
    auto waiting = heads_.wait(std::move(after), until);
    auto woken = co_await waiting;
    co_return woken;
  }

  task<result<std::vector<shard_lag>>> lag(self, std::vector<std::int64_t> after) override {
    auto behind = shards_.lag(after);
    co_return behind;
  }

  task<result<std::int64_t>> offset_at(self, std::uint32_t shard, std::chrono::nanoseconds since_epoch) override {
    auto found = shards_.offset_at(shard, since_epoch);
    co_return found;
  }

  task<result<std::uint64_t>> begin_snapshot(self, std::vector<std::int64_t> offsets) override {
    auto begun = shards_.begin_snapshot(std::move(offsets));
    co_return begun;
  }

  task<result<void>> add_chunk(self, std::uint64_t id, std::string chunk) override {
    auto added = shards_.add_chunk(id, std::move(chunk));
    co_return added;
  }

  task<result<snapshot_info>> finish_snapshot(self, std::uint64_t id) override {
    auto finished = shards_.finish_snapshot(id);
    co_return finished;
  }

  task<result<std::vector<snapshot_info>>> snapshots(self) override {
    result<std::vector<snapshot_info>> usable = shards_.snapshots();
    co_return usable;
  }

  task<result<std::string>> read_chunk(self, std::uint64_t id, std::uint64_t index) override {
    auto chunk = shards_.read_chunk(id, index);
    co_return chunk;
  }

  task<result<trim_outcome>> trim(self, trim_request wanted) override {
    auto trimmed = shards_.trim(wanted);
    co_return trimmed;
  }

  task<result<std::uint64_t>> pin(self, std::vector<std::int64_t> offsets, std::chrono::seconds at_most) override {
    auto pinned = shards_.pin(std::move(offsets), at_most);
    co_return pinned;
  }

  task<result<void>> unpin(self, std::uint64_t pin) override {
    result<void> done = success();
    shards_.unpin(pin);
    co_return done;
  }

  task<result<std::optional<checkpoint>>> read_checkpoint(self, std::string consumer) override {
    result<std::optional<checkpoint>> known = shards_.read_checkpoint(consumer);
    co_return known;
  }

  task<result<std::vector<checkpoint>>> checkpoints(self) override {
    result<std::vector<checkpoint>> all = shards_.checkpoints();
    co_return all;
  }

  task<result<checkpoint>> commit_checkpoint(self, checkpoint_commit wanted) override {
    auto committed = shards_.commit_checkpoint(std::move(wanted));
    co_return committed;
  }

  task<result<void>> drop_checkpoint(self, std::string consumer, std::uint64_t expected) override {
    auto dropped = shards_.drop_checkpoint(consumer, expected);
    co_return dropped;
  }

private:
  shards shards_;
  head_signal heads_;
};

class store final : public log_store {
public:
  explicit store(log_options wanted) : how_{std::make_shared<const log_options>(std::move(wanted))} {
    std::random_device entropy;
    id_ = (std::uint64_t{entropy()} << 32) | entropy();
  }

  log_capabilities capabilities() const noexcept override { return {.atomic_append = true, .offset_at = true}; }
  std::uint64_t id() const noexcept override { return id_; }

  task<result<std::shared_ptr<log_topic>>> open_topic(self, std::string name, topic_layout layout) override {
    auto opened = open_now(name, layout);
    co_return opened;
  }

  task<result<std::shared_ptr<log_topic>>> find_topic(self, std::string name) override {
    auto found = find_now(name);
    co_return found;
  }

  task<result<std::vector<topic_description>>> topics(self) override {
    result<std::vector<topic_description>> all = all_now();
    co_return all;
  }

private:
  result<std::shared_ptr<log_topic>> open_now(const std::string& name, topic_layout layout) {
    if (auto named = check_topic_name(name); !named)
      return std::move(named).error();
    if (auto sound = log_rules::check_layout(layout.shards, layout.dedupe_horizon); !sound)
      return std::move(sound).error();
    const std::lock_guard lock{mutex_};
    auto& place = topics_[name];
    if (!place)
      place = std::make_shared<topic>(topic_description{name, id_, 1, layout.shards, how_->largest_entry,
                                        layout.dedupe_horizon.value_or(log_rules::usual_dedupe_horizon)},
        how_);
    if (auto same = log_rules::check_same_layout(
          place->description().shards, place->description().dedupe_horizon, name, layout.shards, layout.dedupe_horizon);
      !same)
      return std::move(same).error();
    return place;
  }

  result<std::shared_ptr<log_topic>> find_now(const std::string& name) {
    if (auto named = check_topic_name(name); !named)
      return std::move(named).error();
    const std::lock_guard lock{mutex_};
    const auto found = topics_.find(name);
    if (found != topics_.end())
      return found->second;
    std::vector<std::string> known;
    for (const auto& [other, there] : topics_)
      known.push_back(other);
    return log_rules::unknown_topic(name, known);
  }

  std::vector<topic_description> all_now() {
    const std::lock_guard lock{mutex_};
    std::vector<topic_description> all;
    for (const auto& [name, there] : topics_)
      all.push_back(there->description());
    return all;
  }

  std::shared_ptr<const log_options> how_;
  std::uint64_t id_ = 0;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<log_topic>> topics_;
};

} // namespace

std::shared_ptr<log_store> open_log(log_options wanted) {
  if (!wanted.now)
    wanted.now = [] {
      const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
      return std::chrono::duration_cast<std::chrono::nanoseconds>(since_epoch).count();
    };
  return std::make_shared<store>(std::move(wanted));
}

} // namespace weir::memory
