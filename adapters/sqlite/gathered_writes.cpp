#include "gathered_writes.hpp"

#include <sqlite3.h>

#include <memory>
#include <string>

namespace weir::sqlite_log {

namespace {

/// SQLite's own file system writes less than 128 KiB at a time.
constexpr std::size_t longest_write = 120U << 10U;

/// In the place of a file's methods, which it forwards to.
class gathered final : public sqlite3_io_methods {
public:
  explicit gathered(const sqlite3_io_methods& of) : sqlite3_io_methods{of}, to_{of} {
    waiting_.reserve(longest_write);
    xClose = [](sqlite3_file* file) {
      const std::unique_ptr<gathered> last{&methods_of(file)};
      const auto flushed = last->flush(file);
      const auto closed = last->to_.xClose(file);
      return flushed != SQLITE_OK ? flushed : closed;
    };
    xWrite = [](sqlite3_file* file, const void* bytes, int count, sqlite3_int64 at) {
      return methods_of(file).write(file, static_cast<const char*>(bytes), static_cast<std::size_t>(count), at);
    };
    xRead = [](sqlite3_file* file, void* to, int count, sqlite3_int64 at) {
      return flushed(file, &sqlite3_io_methods::xRead, to, count, at);
    };
    xTruncate = [](sqlite3_file* file, sqlite3_int64 size) { return flushed(file, &sqlite3_io_methods::xTruncate, size); };
    xSync = [](sqlite3_file* file, int how) { return flushed(file, &sqlite3_io_methods::xSync, how); };
    xFileSize = [](sqlite3_file* file, sqlite3_int64* size) { return flushed(file, &sqlite3_io_methods::xFileSize, size); };
  }

private:
  static gathered& methods_of(sqlite3_file* file) {
    // Made by gather_log_writes, and not const there.
    return const_cast<gathered&>(static_cast<const gathered&>(*file->pMethods));
  }

  template <class... Args>
  static int flushed(sqlite3_file* file, int (*sqlite3_io_methods::*method)(sqlite3_file*, Args...), Args... args) {
    auto& own = methods_of(file);
    const auto code = own.flush(file);
    return code != SQLITE_OK ? code : (own.to_.*method)(file, args...);
  }

  int write(sqlite3_file* file, const char* bytes, std::size_t count, sqlite3_int64 at) {
    const bool follows = at == at_ + static_cast<sqlite3_int64>(waiting_.size());
    if (!follows || waiting_.size() + count > longest_write)
      if (const auto code = flush(file); code != SQLITE_OK)
        return code;
    if (waiting_.empty())
      at_ = at;
    waiting_.append(bytes, count);
    return SQLITE_OK;
  }

  /// What can't be written is kept: SQLite takes it for written, also where it hears of the failure in a read and goes on. What
  /// is left of a transaction that was given up lies behind the end of the log, where the next one writes over it.
  int flush(sqlite3_file* file) {
    if (waiting_.empty())
      return SQLITE_OK;
    const auto code = to_.xWrite(file, waiting_.data(), static_cast<int>(waiting_.size()), at_);
    if (code == SQLITE_OK)
      waiting_.clear();
    return code;
  }

  const sqlite3_io_methods& to_;
  std::string waiting_;
  sqlite3_int64 at_ = 0;
};

} // namespace

void gather_log_writes(database& of) {
  sqlite3_file* log = nullptr;
  if (sqlite3_file_control(of.handle(), "main", SQLITE_FCNTL_JOURNAL_POINTER, static_cast<void*>(&log)) == SQLITE_OK
      && log != nullptr && log->pMethods != nullptr)
    log->pMethods = std::make_unique<gathered>(*log->pMethods).release();
}

} // namespace weir::sqlite_log
