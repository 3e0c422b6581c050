#pragma once

#include <weir/error.hpp>
#include <weir/worker.hpp>

#include "log_rows.hpp"
#include "wal_keeper.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace weir::sqlite_log {

/// Something to be written in a transaction. run() may be called again, when the transaction that it was in has failed.
class write_job {
public:
  write_job() = default;
  virtual ~write_job() = default;
  write_job(const write_job&) = delete;
  write_job& operator=(const write_job&) = delete;

  /// In a transaction. A failure undoes this job alone, as long as the transaction can go on.
  virtual result<void> run(log_file& in) = 0;

  /// It is committed. On the writer's thread.
  virtual void on_committed() {}

  /// Whether it can be left without a trace by itself: then run() is given a savepoint.
  virtual bool needs_savepoint() const noexcept { return true; }

  result<void> take_outcome() { return std::move(*outcome_); }

private:
  friend class group_writer;
  friend class wanted_job;
  std::optional<result<void>> outcome_;
  std::atomic<bool> is_wanted_{true};
};

/// A job, as the coroutine holds it that waits for it: destroyed with the coroutine, a job that has not begun never does. What
/// somebody was to write who is not there any more must not be written at a time when nobody expects it.
class wanted_job {
public:
  explicit wanted_job(std::shared_ptr<write_job> job) noexcept : job_{std::move(job)} {}
  ~wanted_job() { job_->is_wanted_ = false; }
  wanted_job(const wanted_job&) = delete;
  wanted_job& operator=(const wanted_job&) = delete;

private:
  std::shared_ptr<write_job> job_;
};

/// Group commit: one connection, one thread, and whatever waits is committed together. Any thread adds jobs.
class group_writer {
public:
  /// Both are connections to the same file.
  group_writer(log_file in, database for_checkpoints, std::chrono::milliseconds busy_timeout)
    : file_{std::move(in)},
      wal_{std::move(for_checkpoints), file_.connection, busy_timeout},
      thread_{"weir.log.write"} {}
  group_writer(const group_writer&) = delete;
  group_writer& operator=(const group_writer&) = delete;

  void add(std::shared_ptr<write_job> job);

  /// Waits until the job is committed, or has failed; it was added before. Anything that waits with it is committed with it.
  /// Whoever awaits it holds a wanted_job.
  auto wait_for(std::shared_ptr<write_job> job) {
    return thread_.run([this, job] {
      if (!job->outcome_)
        commit_waiting();
    });
  }

  const log_file& file() const noexcept { return file_; }

private:
  using group = std::vector<std::shared_ptr<write_job>>;

  void commit_waiting();
  result<void> commit(const group& jobs);
  result<void> run(write_job& job);

  log_file file_; // the thread's
  wal_keeper wal_;
  std::mutex mutex_;
  group waiting_;
  worker thread_; // last: it uses the others
};

} // namespace weir::sqlite_log
