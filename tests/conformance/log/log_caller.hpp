#pragma once

#include <weir/appender.hpp>
#include <weir/bootstrap.hpp>
#include <weir/checkpointer.hpp>
#include <weir/feed.hpp>
#include <weir/log.hpp>
#include <weir/spawn.hpp>

#include "conformance/log/log_implementation.hpp"
#include "conformance/log/outcomes.hpp"
#include "conformance/log/performer.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace log_suite {

/// A log as tests use it: every call runs in an actor of its own, and blocks the test until it is done.
class log_caller {
public:
  explicit log_caller(place_options how = {});

  caf::actor_system& system() noexcept { return system_; }
  log_place& place() noexcept { return *place_; }
  test_clock& clock() noexcept { return place_->clock; }
  weir::log_store& store() noexcept { return *store_; }

  /// Closes the store and opens it again; topics of before are of no use then.
  void reopen();
  void close() { store_.reset(); }

  /// Runs a coroutine `function(self, args…)` to its end.
  template <class F, class... Args>
  auto run(F function, Args... args) {
    return weir::sync_wait(system_, function, std::move(args)...);
  }

  weir::result<std::shared_ptr<weir::log_topic>> open_topic(std::string name, weir::topic_layout layout = {});
  weir::result<std::shared_ptr<weir::log_topic>> open_topic(
    std::shared_ptr<weir::log_store> in, std::string name, weir::topic_layout layout = {});
  weir::result<std::shared_ptr<weir::log_topic>> find_topic(std::string name);
  std::vector<weir::topic_description> topics();

private:
  static caf::actor_system_config& configured(caf::actor_system_config& config);

  caf::actor_system_config config_;
  caf::actor_system system_;
  std::unique_ptr<log_place> place_;
  std::shared_ptr<weir::log_store> store_;
};

/// A topic as tests use it.
class topic_caller {
public:
  topic_caller(log_caller& in, std::string name, weir::topic_layout layout = {});
  topic_caller(log_caller& in, std::shared_ptr<weir::log_topic> topic) : in_{&in}, topic_{std::move(topic)} {}

  const std::shared_ptr<weir::log_topic>& topic() const noexcept { return topic_; }

  /// One append of one entry for each payload, to the shard; must succeed. Returns the offsets.
  std::vector<std::int64_t> append_payloads(std::vector<std::string> payloads, std::uint32_t shard = 0);
  weir::result<std::vector<weir::entry_place>> append(
    std::vector<weir::new_entry> entries, std::optional<std::int64_t> expected_head = {});
  weir::append_outcome append_calls(std::vector<weir::append_call> calls);

  std::vector<weir::shard_bounds> bounds();
  weir::result<weir::log_reading> read(std::uint32_t shard, std::int64_t after, weir::entry_limits limits = {});

  /// All that is retained of a shard, in small reads; must succeed.
  std::vector<weir::entry> read_all(std::uint32_t shard = 0);
  std::vector<std::string> payloads(std::uint32_t shard = 0);

  weir::result<void> wait(std::vector<std::int64_t> after, weir::deadline until = patience);

  weir::result<std::vector<weir::shard_lag>> lag(std::vector<std::int64_t> after);
  weir::result<std::int64_t> offset_at(std::uint32_t shard, std::int64_t time);

  /// A finished snapshot of those chunks.
  weir::result<weir::snapshot_info> snapshot(std::vector<std::int64_t> offsets, std::vector<std::string> chunks);
  weir::result<std::uint64_t> begin_snapshot(std::vector<std::int64_t> offsets);
  weir::result<void> add_chunk(std::uint64_t id, std::string chunk);
  weir::result<weir::snapshot_info> finish_snapshot(std::uint64_t id);
  std::vector<weir::snapshot_info> snapshots();
  weir::result<std::string> read_chunk(std::uint64_t id, std::uint64_t index);

  weir::result<weir::trim_outcome> trim(weir::trim_request wanted);
  weir::result<weir::trim_outcome> force_trim(std::int64_t through, std::uint32_t shard = 0);
  weir::result<std::uint64_t> pin(std::vector<std::int64_t> offsets, std::chrono::seconds at_most);
  weir::result<void> unpin(std::uint64_t pin);

  weir::result<std::optional<weir::checkpoint>> checkpoint(std::string consumer);
  std::vector<weir::checkpoint> checkpoints();
  weir::result<weir::checkpoint> commit(weir::checkpoint_commit wanted);
  weir::result<void> drop(std::string consumer, std::uint64_t expected);

private:
  log_caller* in_;
  std::shared_ptr<weir::log_topic> topic_;
};

/// `count` entries with short payloads that differ: "<prefix><number>".
std::vector<std::string> numbered(const std::string& prefix, std::size_t count, std::size_t from = 0);

} // namespace log_suite
