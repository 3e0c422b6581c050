#include <weir/log_rules.hpp>
#include <weir/sqlite_log.hpp>
#include <weir/topic_name.hpp>

#include "log_append.hpp"
#include "log_consumers.hpp"
#include "log_core.hpp"
#include "log_read.hpp"
#include "log_snapshots.hpp"
#include "log_trim.hpp"

#include <boost/outcome/try.hpp>

#include <type_traits>

namespace weir::sqlite {

namespace {

using namespace sqlite_log;

/// A job that is one call of a function, which returns a result.
template <class F>
class call_job final : public write_job {
public:
  using outcome = std::invoke_result_t<F&, log_file&>;

  explicit call_job(F made) : call_{std::move(made)} {}

  result<void> run(log_file& in) override {
    auto returned = call_(in);
    if (!returned)
      return std::move(returned).error();
    if constexpr (!std::is_same_v<outcome, result<void>>)
      value_.emplace(std::move(returned).value());
    return success();
  }

  outcome take() {
    auto done = take_outcome();
    if (!done)
      return std::move(done).error();
    if constexpr (std::is_same_v<outcome, result<void>>)
      return success();
    else
      return std::move(*value_);
  }

private:
  F call_;
  std::optional<std::conditional_t<std::is_same_v<outcome, result<void>>, bool, typename outcome::value_type>> value_;
};

class append_job final : public write_job {
public:
  /// The core has the writer that runs the job. The job does not keep it: the last to let go of it would then be the writer's
  /// own thread.
  append_job(const log_core& core, std::shared_ptr<open_topic> to, std::vector<append_call> calls)
    : core_{core},
      to_{std::move(to)},
      calls_{std::move(calls)} {}

  result<void> run(log_file& in) override {
    decided_.clear();
    append_transaction appending{in, to_->known, to_->id, core_.how().now()};
    for (const auto& one : calls_) {
      BOOST_OUTCOME_TRY(appending.add(one, decided_));
    }
    BOOST_OUTCOME_TRY(appending.finish());
    heads_ = appending.heads();
    return success();
  }

  void on_committed() override {
    for (const auto& [shard, head] : heads_)
      to_->heads.publish(shard, head);
  }

  bool needs_savepoint() const noexcept override { return false; }

  append_outcome take() {
    auto done = take_outcome();
    if (done)
      return {std::move(decided_), {}, {}};
    return {{}, std::move(done).error(), std::move(calls_)};
  }

private:
  const log_core& core_;
  std::shared_ptr<open_topic> to_;
  std::vector<append_call> calls_;
  std::vector<result<std::vector<entry_place>>> decided_;
  std::vector<std::pair<std::uint32_t, std::int64_t>> heads_;
};

error read_only(const log_core& core) {
  return error{errc::read_only, "the log was opened to be looked at only", {{"path", core.how().path.string()}}};
}

/// Runs `write(file)` in a transaction, together with whatever else waits.
template <class F>
task<std::invoke_result_t<F&, log_file&>> write(std::shared_ptr<log_core> core, F call) {
  auto* writer = core->writer();
  using outcome = std::invoke_result_t<F&, log_file&>;
  if (writer == nullptr) {
    outcome refused = read_only(*core);
    co_return refused;
  }
  auto job = std::make_shared<call_job<F>>(std::move(call));
  const wanted_job wanted{job};
  writer->add(job);
  auto waiting = writer->wait_for(job);
  co_await waiting;
  auto done = job->take();
  co_return done;
}

template <class F>
task<std::invoke_result_t<F&, log_file&>> read(std::shared_ptr<log_core> core, F call) {
  auto reading = core->read(std::move(call));
  auto done = co_await reading;
  co_return done;
}

/// The topic's row, which is there for as long as it is open.
result<topic_row> row_of(log_file& in, const open_topic& topic) {
  BOOST_OUTCOME_TRY(auto found, find_topic(in, topic.known.name));
  if (!found || found->id != topic.id)
    return error{errc::unknown_topic, "the topic is not there any more", {{"topic", topic.known.name}}};
  return std::move(*found);
}

/// Whether what follows each offset is retained and known.
result<void> check_retained(log_file& in, const topic_row& topic, const std::vector<std::int64_t>& offsets) {
  BOOST_OUTCOME_TRY(log_rules::check_offsets(offsets, topic.shards));
  BOOST_OUTCOME_TRY(const auto shards, read_shards(in, topic));
  BOOST_OUTCOME_TRY(const auto snapshots, read_snapshots(in, topic));
  for (const auto& one : shards) {
    BOOST_OUTCOME_TRY(log_rules::check_after(topic.name, one.shard, offsets[one.shard], one.bounds, snapshots));
  }
  return success();
}

result<checkpoint> commit(log_file& in, const open_topic& topic, const checkpoint_commit& wanted, std::int64_t now) {
  BOOST_OUTCOME_TRY(const auto row, row_of(in, topic));
  BOOST_OUTCOME_TRY(const auto shards, read_shards(in, row));
  BOOST_OUTCOME_TRY(const auto stored, read_checkpoint(in, row.id, wanted.consumer));
  BOOST_OUTCOME_TRY(auto next, next_checkpoint(stored, wanted, bounds_of(shards), now));
  BOOST_OUTCOME_TRY(write_checkpoint(in, row.id, next));
  return next;
}

class topic final : public log_topic {
public:
  topic(std::shared_ptr<log_core> core, std::shared_ptr<open_topic> open)
    : log_topic{open->known},
      core_{std::move(core)},
      open_{std::move(open)} {}

  task<append_outcome> append(self, std::vector<append_call> calls) override {
    auto* writer = core_->writer();
    if (writer == nullptr) {
      append_outcome refused{{}, read_only(*core_), std::move(calls)};
      co_return refused;
    }
    auto job = std::make_shared<append_job>(*core_, open_, std::move(calls));
    const wanted_job wanted{job};
    writer->add(job);
    auto waiting = writer->wait_for(job);
    co_await waiting;
    auto outcome = job->take();
    co_return outcome;
  }

  task<result<std::vector<shard_bounds>>> bounds(self) override {
    auto call = [open = open_](log_file& in) -> result<std::vector<shard_bounds>> {
      BOOST_OUTCOME_TRY(const auto row, row_of(in, *open));
      BOOST_OUTCOME_TRY(const auto shards, read_shards(in, row));
      return bounds_of(shards);
    };
    return sqlite::read(core_, std::move(call));
  }

  task<result<log_reading>> read(self, std::uint32_t shard, std::int64_t after, entry_limits limits) override {
    auto call = [open = open_, shard, after, limits](log_file& in) -> result<log_reading> {
      BOOST_OUTCOME_TRY(log_rules::check_shard(shard, open->known.shards));
      BOOST_OUTCOME_TRY(const auto row, row_of(in, *open));
      BOOST_OUTCOME_TRY(const auto of, read_shard(in, row.id, shard));
      open->heads.publish(shard, of.bounds.head);
      if (auto there = log_rules::check_after(row.name, shard, after, of.bounds, {}); !there) {
        BOOST_OUTCOME_TRY(const auto snapshots, read_snapshots(in, row));
        return log_rules::check_after(row.name, shard, after, of.bounds, snapshots).error();
      }
      return read_entries(in, row, of, after, limits);
    };
    return sqlite::read(core_, std::move(call));
  }

  task<result<void>> wait(self, std::vector<std::int64_t> after, deadline until) override {
    auto sound = log_rules::check_offsets(after, description().shards);
    if (!sound)
      co_return sound;
    if (auto watched = core_->watch(*open_); !watched)
      co_return watched;
    auto waiting = open_->heads.wait(std::move(after), until);
    auto woken = co_await waiting;
    co_return woken;
  }

  task<result<std::vector<shard_lag>>> lag(self, std::vector<std::int64_t> after) override {
    auto call = [open = open_, core = core_.get(), after = std::move(after)](log_file& in) -> result<std::vector<shard_lag>> {
      BOOST_OUTCOME_TRY(log_rules::check_offsets(after, open->known.shards));
      BOOST_OUTCOME_TRY(const auto row, row_of(in, *open));
      std::vector<shard_lag> all;
      for (std::uint32_t shard = 0; shard < row.shards; ++shard) {
        BOOST_OUTCOME_TRY(const auto of, read_shard(in, row.id, shard));
        BOOST_OUTCOME_TRY(const auto one, lag_behind(in, of, after[shard], core->how().now()));
        all.push_back(one);
      }
      return all;
    };
    return sqlite::read(core_, std::move(call));
  }

  task<result<std::int64_t>> offset_at(self, std::uint32_t shard, std::chrono::nanoseconds since_epoch) override {
    auto call = [open = open_, shard, since_epoch](log_file& in) -> result<std::int64_t> {
      BOOST_OUTCOME_TRY(log_rules::check_shard(shard, open->known.shards));
      BOOST_OUTCOME_TRY(const auto of, read_shard(in, open->id, shard));
      return find_time(in, of, since_epoch.count());
    };
    return sqlite::read(core_, std::move(call));
  }

  task<result<std::uint64_t>> begin_snapshot(self, std::vector<std::int64_t> offsets) override {
    auto call = [open = open_, core = core_.get(), offsets = std::move(offsets)](log_file& in) -> result<std::uint64_t> {
      BOOST_OUTCOME_TRY(const auto row, row_of(in, *open));
      BOOST_OUTCOME_TRY(check_retained(in, row, offsets));
      return sqlite_log::begin_snapshot(in, row, offsets, core->how().now());
    };
    return write(core_, std::move(call));
  }

  task<result<void>> add_chunk(self, std::uint64_t id, std::string chunk) override {
    auto call = [open = open_, id, chunk = std::move(chunk)](log_file& in) -> result<void> {
      BOOST_OUTCOME_TRY(log_rules::check_chunk(chunk.size()));
      BOOST_OUTCOME_TRY(const auto row, row_of(in, *open));
      return sqlite_log::add_chunk(in, row, id, chunk);
    };
    return write(core_, std::move(call));
  }

  task<result<snapshot_info>> finish_snapshot(self, std::uint64_t id) override {
    auto call = [open = open_, core = core_.get(), id](log_file& in) -> result<snapshot_info> {
      BOOST_OUTCOME_TRY(const auto row, row_of(in, *open));
      return sqlite_log::finish_snapshot(in, row, id, core->how().now());
    };
    return write(core_, std::move(call));
  }

  task<result<std::vector<snapshot_info>>> snapshots(self) override {
    auto call = [open = open_](log_file& in) -> result<std::vector<snapshot_info>> {
      BOOST_OUTCOME_TRY(const auto row, row_of(in, *open));
      return read_snapshots(in, row);
    };
    return sqlite::read(core_, std::move(call));
  }

  task<result<std::string>> read_chunk(self, std::uint64_t id, std::uint64_t index) override {
    auto call = [open = open_, id, index](log_file& in) -> result<std::string> {
      BOOST_OUTCOME_TRY(const auto row, row_of(in, *open));
      return sqlite_log::read_chunk(in, row, id, index);
    };
    return sqlite::read(core_, std::move(call));
  }

  task<result<trim_outcome>> trim(self, trim_request wanted) override {
    auto call = [open = open_, core = core_.get(), wanted = std::move(wanted)](log_file& in) -> result<trim_outcome> {
      BOOST_OUTCOME_TRY(const auto row, row_of(in, *open));
      return sqlite_log::trim(in, row, wanted, core->how().now());
    };
    return write(core_, std::move(call));
  }

  task<result<std::uint64_t>> pin(self, std::vector<std::int64_t> offsets, std::chrono::seconds at_most) override {
    auto call = [open = open_, core = core_.get(), offsets = std::move(offsets), at_most](
                  log_file& in) -> result<std::uint64_t> {
      BOOST_OUTCOME_TRY(const auto row, row_of(in, *open));
      BOOST_OUTCOME_TRY(check_retained(in, row, offsets));
      BOOST_OUTCOME_TRY(const auto until, log_rules::pin_end(core->how().now(), at_most));
      BOOST_OUTCOME_TRY(const auto id, add_pin(in, row.id, offsets, until));
      return static_cast<std::uint64_t>(id);
    };
    return write(core_, std::move(call));
  }

  task<result<void>> unpin(self, std::uint64_t pin) override {
    auto call = [open = open_, pin](
                  log_file& in) -> result<void> { return erase_pin(in, open->id, static_cast<std::int64_t>(pin)); };
    return write(core_, std::move(call));
  }

  task<result<std::optional<checkpoint>>> read_checkpoint(self, std::string consumer) override {
    auto call = [open = open_, consumer = std::move(consumer)](log_file& in) -> result<std::optional<checkpoint>> {
      return sqlite_log::read_checkpoint(in, open->id, consumer);
    };
    return sqlite::read(core_, std::move(call));
  }

  task<result<std::vector<checkpoint>>> checkpoints(self) override {
    auto call = [open = open_](log_file& in) -> result<std::vector<checkpoint>> { return read_checkpoints(in, open->id); };
    return sqlite::read(core_, std::move(call));
  }

  task<result<checkpoint>> commit_checkpoint(self, checkpoint_commit wanted) override {
    auto call = [open = open_, core = core_.get(), wanted = std::move(wanted)](
                  log_file& in) -> result<checkpoint> { return commit(in, *open, wanted, core->how().now()); };
    return write(core_, std::move(call));
  }

  task<result<void>> drop_checkpoint(self, std::string consumer, std::uint64_t expected) override {
    auto call = [open = open_, consumer = std::move(consumer), expected](log_file& in) -> result<void> {
      BOOST_OUTCOME_TRY(const auto stored, sqlite_log::read_checkpoint(in, open->id, consumer));
      const auto actual = stored ? std::optional{stored->revision} : std::nullopt;
      if (actual != expected)
        return log_rules::checkpoint_conflict(consumer, expected, actual);
      return erase_checkpoint(in, open->id, consumer);
    };
    return write(core_, std::move(call));
  }

  task<result<checkpoint>> commit_together(self, checkpoint_commit wanted, log_effect effect) override {
    auto call = [open = open_, core = core_.get(), wanted = std::move(wanted), effect = std::move(effect)](
                  log_file& in) -> result<checkpoint> {
      BOOST_OUTCOME_TRY(auto committed, commit(in, *open, wanted, core->how().now()));
      BOOST_OUTCOME_TRY(effect(log_transaction{in.connection.handle()}));
      return committed;
    };
    return write(core_, std::move(call));
  }

private:
  std::shared_ptr<log_core> core_;
  std::shared_ptr<open_topic> open_;
};

class store final : public log_store {
public:
  explicit store(std::shared_ptr<log_core> core) : core_{std::move(core)} {}

  log_capabilities capabilities() const noexcept override {
    return {.survives_process = true, .verifies = true, .atomic_append = true, .transaction = true, .offset_at = true};
  }

  std::uint64_t id() const noexcept override { return core_->store(); }

  task<result<std::shared_ptr<log_topic>>> open_topic(self me, std::string name, topic_layout layout) override {
    auto sound = log_rules::check_layout(layout.shards, layout.dedupe_horizon);
    if (!sound) {
      result<std::shared_ptr<log_topic>> refused = std::move(sound).error();
      co_return refused;
    }
    auto finding = find_topic(me, name);
    auto found = co_await std::move(finding);
    if (!found && found.error() == errc::unknown_topic && core_->writer() != nullptr) {
      auto call = [name, layout](log_file& in) -> result<topic_row> {
        BOOST_OUTCOME_TRY(auto there, sqlite_log::find_topic(in, name));
        if (there)
          return std::move(*there);
        return make_topic(in, name, layout.shards, layout.dedupe_horizon.value_or(log_rules::usual_dedupe_horizon));
      };
      auto making = write(core_, std::move(call));
      auto made = co_await std::move(making);
      found = made ? result<std::shared_ptr<log_topic>>{opened(made.value())} : std::move(made).error();
    }
    if (!found)
      co_return found;
    const auto& known = found.value()->description();
    auto same = log_rules::check_same_layout(known.shards, known.dedupe_horizon, name, layout.shards, layout.dedupe_horizon);
    if (!same)
      found = std::move(same).error();
    co_return found;
  }

  task<result<std::shared_ptr<log_topic>>> find_topic(self, std::string name) override {
    auto call = [name](log_file& in) -> result<topic_row> {
      BOOST_OUTCOME_TRY(check_topic_name(name));
      BOOST_OUTCOME_TRY(auto row, sqlite_log::find_topic(in, name));
      if (row)
        return std::move(*row);
      BOOST_OUTCOME_TRY(const auto all, read_topics(in));
      std::vector<std::string> known;
      for (const auto& one : all)
        known.push_back(one.name);
      return log_rules::unknown_topic(name, known);
    };
    auto looking = core_->read(std::move(call));
    auto row = co_await looking;
    result<std::shared_ptr<log_topic>> found =
      row ? result<std::shared_ptr<log_topic>>{opened(row.value())} : std::move(row).error();
    co_return found;
  }

  task<result<std::vector<topic_description>>> topics(self) override {
    auto call = [this](log_file& in) -> result<std::vector<topic_description>> {
      BOOST_OUTCOME_TRY(const auto rows, read_topics(in));
      std::vector<topic_description> all;
      for (const auto& one : rows)
        all.push_back(described(one));
      return all;
    };
    return sqlite::read(core_, std::move(call));
  }

private:
  topic_description described(const topic_row& row) const {
    return {row.name, core_->store(), row.epoch, row.shards, core_->how().largest_entry, row.dedupe_horizon};
  }

  std::shared_ptr<log_topic> opened(const topic_row& row) {
    return std::make_shared<topic>(core_, core_->attach(described(row), row.id));
  }

  std::shared_ptr<log_core> core_;
};

} // namespace

result<std::vector<std::pair<std::string, std::string>>> resolved(const log_options& wanted) {
  BOOST_OUTCOME_TRY(const auto how, resolve(wanted));
  return std::vector<std::pair<std::string, std::string>>{{"path", how.path.string()}, {"readers", std::to_string(how.readers)},
    {"cache_bytes", std::to_string(how.cache_bytes)}, {"largest_entry", std::to_string(how.largest_entry)},
    {"busy_timeout_ms", std::to_string(how.busy_timeout.count())}};
}

result<std::shared_ptr<log_store>> open_log(log_options wanted) {
  BOOST_OUTCOME_TRY(auto how, resolve(wanted));
  std::unique_ptr<group_writer> writer;
  if (!looks(how.how)) {
    BOOST_OUTCOME_TRY(auto file, open_file(how));
    if (how.how == log_options::opening::must_be_new)
      how.how = log_options::opening::must_exist;
    BOOST_OUTCOME_TRY(auto for_checkpoints, open_file(how));
    writer = std::make_unique<group_writer>(std::move(file), std::move(for_checkpoints.connection), how.busy_timeout);
  }
  std::vector<log_file> readers;
  for (std::size_t one = 0; one < how.readers; ++one) {
    BOOST_OUTCOME_TRY(auto file, open_file(how));
    readers.push_back(std::move(file));
  }
  auto core = std::make_shared<log_core>(std::move(how), std::move(writer), std::move(readers));
  return std::shared_ptr<log_store>{std::make_shared<store>(std::move(core))};
}

sqlite3* connection_of(log_transaction open) noexcept {
  return static_cast<sqlite3*>(open.native);
}

} // namespace weir::sqlite
