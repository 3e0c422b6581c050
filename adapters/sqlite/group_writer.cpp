#include "group_writer.hpp"

#include <boost/outcome/try.hpp>

#include <exception>
#include <utility>

namespace weir::sqlite_log {

namespace {

result<void> step(database& in, const char* sql) {
  BOOST_OUTCOME_TRY(auto* prepared, in.kept(sql));
  BOOST_OUTCOME_TRY(prepared->step());
  return success();
}

/// What SQLite has not undone by itself.
void roll_back(database& in) {
  if (in.is_in_transaction())
    (void)step(in, "ROLLBACK");
}

/// What it throws, a consumer's own effect perhaps, fails it like anything else: nothing may leave the transaction open.
result<void> run_caught(write_job& job, log_file& in) {
  constexpr auto sentence = "an exception left what was to be written";
  try {
    return job.run(in);
  } catch (const std::exception& thrown) {
    return error{errc::coroutine_failed, sentence, {{"exception", thrown.what()}}};
  } catch (...) {
    return error{errc::coroutine_failed, sentence, {{"exception", "of an unknown kind"}}};
  }
}

} // namespace

void group_writer::add(std::shared_ptr<write_job> job) {
  const std::lock_guard lock{mutex_};
  waiting_.push_back(std::move(job));
}

void group_writer::commit_waiting() {
  group jobs;
  {
    const std::lock_guard lock{mutex_};
    jobs.swap(waiting_);
  }
  std::erase_if(jobs, [](const std::shared_ptr<write_job>& one) { return !one->is_wanted_; });
  if (jobs.empty())
    return;
  auto committed = commit(jobs);
  if (!committed && jobs.size() > 1) { // one of them may be to blame, and the others need not suffer
    for (const auto& one : jobs) {
      one->outcome_.reset();
      if (auto alone = commit({one}); !alone)
        one->outcome_ = std::move(alone).error();
    }
  } else if (!committed) {
    jobs.front()->outcome_ = committed.error();
  }
  for (const auto& one : jobs)
    if (*one->outcome_)
      one->on_committed();
  wal_.after_commit();
}

result<void> group_writer::commit(const group& jobs) {
  auto& connection = file_.connection;
  BOOST_OUTCOME_TRY(step(connection, "BEGIN IMMEDIATE"));
  for (const auto& one : jobs) {
    one->outcome_ = run(*one);
    if (!connection.is_in_transaction()) // SQLite gave it up as a whole
      return *one->outcome_ ? error{errc::rejected, "the transaction was ended by what was to happen inside of it"}
                            : std::move(*one->outcome_).error();
    if (!*one->outcome_ && !one->needs_savepoint()) {
      roll_back(connection);
      return std::move(*one->outcome_).error();
    }
  }
  if (auto committed = step(connection, "COMMIT"); !committed) {
    roll_back(connection);
    return committed;
  }
  return success();
}

result<void> group_writer::run(write_job& job) {
  if (!job.needs_savepoint())
    return run_caught(job, file_);
  auto& connection = file_.connection;
  BOOST_OUTCOME_TRY(step(connection, "SAVEPOINT job"));
  auto done = run_caught(job, file_);
  if (!done && connection.is_in_transaction()) {
    BOOST_OUTCOME_TRY(step(connection, "ROLLBACK TO job"));
  }
  if (connection.is_in_transaction()) {
    BOOST_OUTCOME_TRY(step(connection, "RELEASE job"));
  }
  return done;
}

} // namespace weir::sqlite_log
