#include "log_reading.hpp"

#include <weir/configure.hpp>
#include <weir/spawn.hpp>
#include <weir/sqlite_log.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

namespace sqlite_tests {

namespace {

using store_ptr = std::shared_ptr<weir::log_store>;

weir::task<log_reading> read_all(weir::self me, store_ptr from, std::string name) {
  log_reading all;
  auto finding = from->find_topic(me, name);
  auto found = co_await std::move(finding);
  if (!found) {
    all.failure = found.error();
    co_return all;
  }
  const auto topic = found.value();
  auto asking = topic->bounds(me);
  auto bounds = co_await std::move(asking);
  if (!bounds) {
    all.failure = bounds.error();
    co_return all;
  }
  all.bounds = bounds.value();
  for (std::uint32_t shard = 0; shard < all.bounds.size(); ++shard) {
    all.shards.emplace_back();
    all.ends.emplace_back();
    for (auto after = all.bounds[shard].earliest - 1;;) {
      auto reading = topic->read(me, shard, after, {.entries = 16, .bytes = 1U << 20});
      auto brought = co_await std::move(reading);
      if (!brought)
        all.ends[shard] = brought.error();
      if (!brought || brought.value().entries.empty())
        break;
      for (auto& one : brought.value().entries)
        all.shards[shard].push_back(std::move(one));
      after = all.shards[shard].back().offset;
    }
  }
  auto listing = topic->checkpoints(me);
  auto checkpoints = co_await std::move(listing);
  if (checkpoints)
    all.checkpoints = checkpoints.value();
  else
    all.checkpoint_failure = checkpoints.error();
  co_return all;
}

weir::task<weir::result<void>> append_all(
  weir::self me, store_ptr to, std::string name, std::uint32_t shards, std::vector<weir::new_entry> entries) {
  auto opening = to->open_topic(me, name, {.shards = shards});
  auto opened = co_await std::move(opening);
  if (!opened) {
    weir::result<void> failed = std::move(opened).error();
    co_return failed;
  }
  std::vector<weir::append_call> calls;
  calls.push_back({std::move(entries), {}});
  auto appending = opened.value()->append(me, std::move(calls));
  auto outcome = co_await std::move(appending);
  weir::result<void> done = weir::success();
  if (outcome.failure)
    done = *outcome.failure;
  else if (!outcome.decided.front())
    done = outcome.decided.front().error();
  co_return done;
}

} // namespace

struct log_opener::running {
  running() : system{configured()} {}
  caf::actor_system_config& configured() {
    weir::configure(config, {.policy = weir::scheduler_policy::sharing}); // it wakes at once
    return config;
  }
  caf::actor_system_config config;
  caf::actor_system system;
};

log_opener::log_opener() : running_{std::make_unique<running>()} {}
log_opener::~log_opener() = default;

log_reading log_opener::read(const std::filesystem::path& path, const std::string& topic) {
  auto opened = weir::sqlite::open_log({.path = path, .how = weir::sqlite::log_options::opening::must_exist, .readers = 1});
  if (!opened)
    return {.failure = opened.error()};
  return weir::sync_wait(running_->system, read_all, opened.value(), topic).value();
}

weir::result<void> log_opener::append(
  const std::filesystem::path& path, const std::string& topic, std::uint32_t shards, std::vector<weir::new_entry> entries) {
  auto opened = weir::sqlite::open_log({.path = path, .readers = 1});
  if (!opened)
    return std::move(opened).error();
  return weir::sync_wait(running_->system, append_all, opened.value(), topic, shards, std::move(entries));
}

} // namespace sqlite_tests
