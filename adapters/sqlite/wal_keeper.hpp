#pragma once

#include "database.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace weir::sqlite_log {

/// Moves what a log's write-ahead log holds into the database, beside the writer and not in its way: on a thread and a
/// connection of its own. Only where the write-ahead log grows all the same, because writes never pause, does the writer have
/// to wait for a moment.
class wal_keeper {
public:
  /// `writer` commits the log's transactions, and waits for so long where others write; its own checkpoints end here. The
  /// keeper must live no longer than it.
  wal_keeper(database own, database& writer, std::chrono::milliseconds busy_timeout);
  ~wal_keeper();
  wal_keeper(const wal_keeper&) = delete;
  wal_keeper& operator=(const wal_keeper&) = delete;

  /// On the writer's thread, outside of a transaction, after each commit.
  void after_commit();

private:
  void run();

  database own_;
  database& writer_;
  int busy_milliseconds_;
  std::uint64_t pages_ = 0;               // that the write-ahead log holds, as of the last commit
  std::uint64_t pages_at_checkpoint_ = 0; // as of the last checkpoint that was begun
  std::uint64_t pages_at_wait_ = 0;       // as of the last time that the writer waited
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_wanted_ = false;
  bool is_ending_ = false;
  std::thread thread_; // last: it uses the others
};

} // namespace weir::sqlite_log
