#include "fault_vfs.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <string>
#include <unistd.h>
#include <vector>

namespace sqlite_tests {

namespace {

std::atomic<fault> armed{fault::none};
std::atomic<std::uint64_t> armed_at{0};
std::atomic<std::uint64_t> calls{0};

/// SQLite's file object: ours, and behind it the usual one.
struct faulty_file {
  sqlite3_file base;
  const char* path; // SQLite keeps it as long as the file is open
  sqlite3_file* real() noexcept { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

faulty_file& ours_of(sqlite3_file* file) noexcept {
  return *reinterpret_cast<faulty_file*>(file);
}

sqlite3_file* real_of(sqlite3_file* file) noexcept {
  return ours_of(file).real();
}

/// What a write or truncation since the last sync has replaced.
struct replaced {
  std::int64_t at;
  std::string bytes;
  std::int64_t size; // of the file before
};

std::mutex unsynced_mutex;
std::map<std::string, std::vector<replaced>> unsynced;

void remember(sqlite3_file* file, std::int64_t at, std::int64_t size) {
  if (armed != fault::power || ours_of(file).path == nullptr)
    return;
  auto* real = real_of(file);
  replaced before{at, {}, 0};
  real->pMethods->xFileSize(real, reinterpret_cast<sqlite3_int64*>(&before.size));
  before.bytes.resize(static_cast<std::size_t>(std::clamp<std::int64_t>(before.size - at, 0, size)));
  if (!before.bytes.empty())
    real->pMethods->xRead(real, before.bytes.data(), static_cast<int>(before.bytes.size()), at);
  const std::lock_guard lock{unsynced_mutex};
  unsynced[ours_of(file).path].push_back(std::move(before));
}

/// Files are as of their last syncs.
void lose_what_was_not_synced() {
  const std::lock_guard lock{unsynced_mutex};
  for (auto& [path, all] : unsynced) {
    const int file = ::open(path.c_str(), O_WRONLY);
    for (auto one = all.rbegin(); one != all.rend() && file >= 0; ++one) {
      (void)!::pwrite(file, one->bytes.data(), one->bytes.size(), one->at);
      (void)!::ftruncate(file, one->size);
    }
  }
}

[[noreturn]] void die() {
  ::kill(::getpid(), SIGKILL);
  for (;;)
    ::pause();
}

/// SQLITE_OK: go on.
int next_call(int failure) {
  const auto number = ++calls;
  const auto what = armed.load();
  const auto at = armed_at.load();
  switch (what) {
  case fault::fail_once: return number == at ? failure : SQLITE_OK;
  case fault::fail: return number >= at ? failure : SQLITE_OK;
  case fault::full: return number >= at ? SQLITE_FULL : SQLITE_OK;
  case fault::kill:
    if (number == at)
      die();
    return SQLITE_OK;
  case fault::power:
    if (number == at) {
      lose_what_was_not_synced();
      die();
    }
    return SQLITE_OK;
  default: return SQLITE_OK;
  }
}

int on_write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 at) {
  if (const auto code = next_call(SQLITE_IOERR_WRITE); code != SQLITE_OK)
    return code;
  auto* real = real_of(file);
  if (armed == fault::torn && calls == armed_at) {
    real->pMethods->xWrite(real, bytes, size / 2, at);
    die();
  }
  remember(file, at, size);
  return real->pMethods->xWrite(real, bytes, size, at);
}

int on_sync(sqlite3_file* file, int flags) {
  if (const auto code = next_call(SQLITE_IOERR_FSYNC); code != SQLITE_OK)
    return code;
  auto* real = real_of(file);
  const auto code = real->pMethods->xSync(real, flags);
  if (code == SQLITE_OK && ours_of(file).path != nullptr) {
    const std::lock_guard lock{unsynced_mutex};
    unsynced.erase(ours_of(file).path);
  }
  return code;
}

int on_truncate(sqlite3_file* file, sqlite3_int64 size) {
  if (const auto code = next_call(SQLITE_IOERR_TRUNCATE); code != SQLITE_OK)
    return code;
  remember(file, size, INT64_MAX);
  auto* real = real_of(file);
  return real->pMethods->xTruncate(real, size);
}

int on_close(sqlite3_file* file) {
  auto* real = real_of(file);
  return real->pMethods->xClose(real);
}

template <auto Member, class... Args>
int pass(sqlite3_file* file, Args... args) {
  auto* real = real_of(file);
  return (real->pMethods->*Member)(real, args...);
}

void barrier(sqlite3_file* file) {
  auto* real = real_of(file);
  real->pMethods->xShmBarrier(real);
}

const sqlite3_io_methods methods{
  .iVersion = 2,
  .xClose = on_close,
  .xRead = pass<&sqlite3_io_methods::xRead, void*, int, sqlite3_int64>,
  .xWrite = on_write,
  .xTruncate = on_truncate,
  .xSync = on_sync,
  .xFileSize = pass<&sqlite3_io_methods::xFileSize, sqlite3_int64*>,
  .xLock = pass<&sqlite3_io_methods::xLock, int>,
  .xUnlock = pass<&sqlite3_io_methods::xUnlock, int>,
  .xCheckReservedLock = pass<&sqlite3_io_methods::xCheckReservedLock, int*>,
  .xFileControl = pass<&sqlite3_io_methods::xFileControl, int, void*>,
  .xSectorSize = pass<&sqlite3_io_methods::xSectorSize>,
  .xDeviceCharacteristics = pass<&sqlite3_io_methods::xDeviceCharacteristics>,
  .xShmMap = pass<&sqlite3_io_methods::xShmMap, int, int, int, void volatile**>,
  .xShmLock = pass<&sqlite3_io_methods::xShmLock, int, int, int>,
  .xShmBarrier = barrier,
  .xShmUnmap = pass<&sqlite3_io_methods::xShmUnmap, int>,
  .xFetch = nullptr,
  .xUnfetch = nullptr,
};

sqlite3_vfs* usual = nullptr;

int on_open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* flags_out) {
  auto* ours = reinterpret_cast<faulty_file*>(file);
  ours->base.pMethods = nullptr;
  ours->path = name;
  const auto code = usual->xOpen(usual, name, ours->real(), flags, flags_out);
  if (ours->real()->pMethods != nullptr)
    ours->base.pMethods = &methods;
  return code;
}

int on_delete(sqlite3_vfs*, const char* name, int sync_directory) {
  if (const auto code = next_call(SQLITE_IOERR_DELETE); code != SQLITE_OK)
    return code;
  return usual->xDelete(usual, name, sync_directory);
}

} // namespace

void register_fault_vfs() {
  static sqlite3_vfs ours;
  usual = sqlite3_vfs_find(nullptr);
  ours = *usual; // whatever is not ours takes the usual one's data with it
  ours.szOsFile = static_cast<int>(sizeof(faulty_file)) + usual->szOsFile;
  ours.zName = fault_vfs;
  ours.xOpen = on_open;
  ours.xDelete = on_delete;
  sqlite3_vfs_register(&ours, 0);
}

void arm_fault(fault what, std::uint64_t at) {
  calls = 0;
  armed_at = at;
  armed = what;
}

std::uint64_t counted_calls() {
  return calls;
}

} // namespace sqlite_tests
