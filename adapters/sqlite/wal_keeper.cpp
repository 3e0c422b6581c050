#include "wal_keeper.hpp"

#include "gathered_writes.hpp"

#include <sqlite3.h>

#include <pthread.h>

namespace weir::sqlite_log {

namespace {

/// In pages of 8 KiB: 4 MiB between checkpoints beside the writer, and 8 MiB before it waits for one. Not more: a write-ahead
/// log that begins anew is written over, which syncs in two thirds of the time that a growing one takes.
constexpr std::uint64_t pages_between_checkpoints = 512;
constexpr std::uint64_t pages_before_waiting = 1024;
constexpr int milliseconds_for_readers = 50;

} // namespace

wal_keeper::wal_keeper(database own, database& writer, std::chrono::milliseconds busy_timeout)
  : own_{std::move(own)},
    writer_{writer},
    busy_milliseconds_{static_cast<int>(busy_timeout.count())} {
  gather_log_writes(writer_);
  sqlite3_wal_autocheckpoint(own_.handle(), 0);
  // In the place of the automatic checkpoint, which would run on the writer's connection.
  sqlite3_wal_hook(
    writer_.handle(),
    [](void* keeper, sqlite3*, const char*, int pages) {
      static_cast<wal_keeper*>(keeper)->pages_ = static_cast<std::uint64_t>(pages);
      return SQLITE_OK;
    },
    this);
  thread_ = std::thread{[this] { run(); }};
  pthread_setname_np(thread_.native_handle(), "weir.log.wal");
}

wal_keeper::~wal_keeper() {
  {
    const std::lock_guard lock{mutex_};
    is_ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
  sqlite3_wal_hook(writer_.handle(), nullptr, nullptr);
}

void wal_keeper::after_commit() {
  if (pages_ < pages_at_checkpoint_) // it began anew
    pages_at_checkpoint_ = pages_at_wait_ = 0;
  if (pages_ >= pages_at_checkpoint_ + pages_between_checkpoints) {
    pages_at_checkpoint_ = pages_;
    const std::lock_guard lock{mutex_};
    is_wanted_ = true;
    changed_.notify_one();
  }
  if (pages_ >= pages_at_wait_ + pages_before_waiting) {
    // Readers come and go, and one that is there when the next begins would let the log grow for ever: they are waited for.
    sqlite3_busy_timeout(writer_.handle(), milliseconds_for_readers);
    const auto code = sqlite3_wal_checkpoint_v2(writer_.handle(), nullptr, SQLITE_CHECKPOINT_RESTART, nullptr, nullptr);
    sqlite3_busy_timeout(writer_.handle(), busy_milliseconds_);
    pages_at_wait_ = pages_;
    if (code != SQLITE_OK) // somebody else reads or writes for longer: again when it has grown a little more
      pages_at_wait_ -= pages_before_waiting - pages_between_checkpoints;
  }
}

void wal_keeper::run() {
  for (;;) {
    {
      std::unique_lock lock{mutex_};
      changed_.wait(lock, [this] { return is_ending_ || is_wanted_; });
      if (is_ending_)
        return;
      is_wanted_ = false;
    }
    sqlite3_wal_checkpoint_v2(own_.handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  }
}

} // namespace weir::sqlite_log
