#pragma once

#include <weir/error.hpp>
#include <weir/head_signal.hpp>
#include <weir/log.hpp>
#include <weir/sqlite_log.hpp>
#include <weir/worker.hpp>

#include "group_writer.hpp"
#include "log_watch.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace weir::sqlite_log {

/// The options that are in force.
struct settings {
  std::filesystem::path path;
  sqlite::log_options::opening how;
  std::size_t readers;
  std::size_t cache_bytes;
  std::size_t largest_entry;
  std::chrono::milliseconds busy_timeout;
  std::function<std::int64_t()> now;
  const char* vfs;
};

/// Whether it is opened to be looked at, and not written.
bool looks(sqlite::log_options::opening how) noexcept;

result<settings> resolve(const sqlite::log_options& wanted);

/// A connection to the log, checked, and set up to be used.
result<log_file> open_file(const settings& how);

/// Whether somebody writes, or has written, to what is read as a file that nobody changes: open it again, and don't rely on
/// what was read.
bool is_outdated(const log_file& looked_at);

/// How often something is read again for that: each is for a writer that comes and goes within one read.
inline constexpr int most_repeats = 8;

/// What is known of an open topic by everybody who has it open.
struct open_topic {
  open_topic(topic_description description, std::int64_t number)
    : known{std::move(description)},
      id{number},
      heads{known.shards} {}

  topic_description known;
  std::int64_t id;
  head_signal heads;
  std::atomic<bool> is_awaited{false}; ///< somebody is about to wait, and has not looked since
};

/// An open file: a writer, readers, and the topics that are open. Any thread.
class log_core {
public:
  log_core(settings how, std::unique_ptr<group_writer> writer, std::vector<log_file> readers);

  const settings& how() const noexcept { return how_; }
  std::uint64_t store() const noexcept { return store_; }

  /// Null where the file is only looked at.
  group_writer* writer() noexcept { return writer_.get(); }

  /// Runs `read(file)` on a reader's thread, in one transaction, so that all of what it sees was there at the same time. Await
  /// what it returns.
  template <class F>
  auto read(F read) {
    auto& one = *readers_[next_.fetch_add(1, std::memory_order_relaxed) % readers_.size()];
    return one.thread.run([this, &file = one.file, read = std::move(read)]() -> std::invoke_result_t<F&, log_file&> {
      for (int again = 0;; ++again) {
        auto found = read_once(file, read);
        if (again == most_repeats || !is_outdated(file))
          return found;
        if (auto opened = open_again(file); !opened)
          return std::move(opened).error();
      }
    });
  }

  /// The one that is open already, or a new one.
  std::shared_ptr<open_topic> attach(topic_description known, std::int64_t id);

  /// Somebody is about to wait: what other processes have written, and will write, is to wake him.
  result<void> watch(open_topic& awaited);

private:
  struct reader {
    explicit reader(log_file opened) : file{std::move(opened)}, thread{"weir.log.read"} {}
    log_file file;
    worker thread; // last: it uses the file
  };

  struct read_transaction {
    explicit read_transaction(log_file& in);
    ~read_transaction();
    read_transaction(const read_transaction&) = delete;
    read_transaction& operator=(const read_transaction&) = delete;
    log_file& file;
    std::optional<error> failure;
  };

  template <class F>
  static std::invoke_result_t<F&, log_file&> read_once(log_file& file, F& read) {
    read_transaction open{file};
    if (open.failure)
      return std::move(*open.failure);
    return read(file);
  }

  result<void> open_again(log_file& outdated);
  bool look();
  std::vector<std::shared_ptr<open_topic>> awaited_topics();

  settings how_;
  std::uint64_t store_;
  std::mutex mutex_;
  std::map<std::int64_t, std::weak_ptr<open_topic>> topics_;
  std::atomic<std::size_t> next_{0};
  std::vector<std::unique_ptr<reader>> readers_;
  std::unique_ptr<group_writer> writer_;
  std::optional<log_file> looked_at_; // the watch's
  std::unique_ptr<log_watch> watch_;  // last: its thread uses the others
};

} // namespace weir::sqlite_log
