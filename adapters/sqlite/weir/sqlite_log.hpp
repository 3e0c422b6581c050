#pragma once

#include <weir/error.hpp>
#include <weir/log.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

struct sqlite3;

/// A log in one SQLite file: the durable log that needs no server. The file's format is described in docs/sqlite-log.md.
///
/// What is stored has been written and synced (WAL mode, synchronous=FULL) before its ticket completes. What waits meanwhile is
/// committed together. Several processes may have the file open, append and commit checkpoints; each sees at once what the
/// others committed. Reads never wait for writes. Every entry is verified when it is read.
namespace weir::sqlite {

inline constexpr std::size_t largest_entry_limit = 256U << 20U; ///< what log_options::largest_entry may be at most

struct log_options {
  std::filesystem::path path = {};

  enum class opening : std::uint8_t {
    create_if_missing,
    must_exist,
    must_be_new,
    look_only,  ///< reads, and leaves no trace: whatever would write is refused with read_only
    look_first, ///< the same before it is to be written: fails also where that could not be
  };
  opening how = opening::create_if_missing;

  // What is absent is taken from the environment, or else is the default that stands here.
  std::optional<std::size_t> readers = {};       ///< connections that read at the same time, 1 to 64 (WEIR_SQLITE_READERS; 2)
  std::optional<std::size_t> cache_bytes = {};   ///< of each connection (WEIR_SQLITE_CACHE_BYTES; 2 MiB)
  std::optional<std::size_t> largest_entry = {}; ///< bytes, up to 256 MiB (WEIR_SQLITE_LARGEST_ENTRY; 16 MiB)
  std::optional<std::chrono::milliseconds> busy_timeout =
    {}; ///< how long another process's write is waited for (WEIR_SQLITE_BUSY_TIMEOUT_MS; 5000)

  std::function<std::int64_t()> now = {}; ///< nanoseconds since the Unix epoch; absent: the system's clock
  const char* vfs = nullptr;              ///< a file system that was registered with SQLite; null: the usual one
};

/// What is in force, by name, for logs and displays.
result<std::vector<std::pair<std::string, std::string>>> resolved(const log_options& wanted);

/// Opens the file and its threads: one that writes, and the readers. Blocks the calling thread for a few milliseconds. Fails
/// with not_found, permission_denied, not_a_log (another program's database, or none), newer_format, layout_mismatch (a table
/// of ours that looks otherwise), corrupt, in_use, storage_full, io_failed, and invalid_argument (an option, by name).
result<std::shared_ptr<log_store>> open_log(log_options wanted);

/// Entries of a shard that are not what was appended, one behind the other.
struct damaged_entries {
  std::string topic = {};
  std::uint32_t shard = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::string why = {};
  bool is_given_up = false; ///< a repair has recorded it: reads pass over them
};

/// What a scrub has looked at and found.
struct scrub_report {
  std::uint64_t entries = 0; ///< that are retained
  std::uint64_t bytes = 0;   ///< of their records
  std::uint64_t snapshots = 0;
  std::vector<damaged_entries> damaged = {};
  std::vector<std::string> others =
    {}; ///< everything else that is not as it was written: checkpoints, dedupe keys, snapshots, SQLite's own pages

  /// Nothing is damaged but what was given up before.
  bool is_sound() const noexcept;
};

/// How far a scrub is: bytes of records, of all there are.
using scrub_progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// Reads all of a log, and verifies every entry, the chain of digests from the first retained entry to the head, every
/// snapshot, and the rows that say where things are. Changes nothing. Blocks the calling thread. Fails as open_log() does.
result<scrub_report> scrub_log(const log_options& wanted, const scrub_progress& progress = {});

/// Scrubs, and records each damaged entry as given up, with why and when: from then on reads pass over it, and the report says
/// so. An entry of which only the stored digest is damaged is mended instead. Nothing is deleted.
result<scrub_report> repair_log(const log_options& wanted, const scrub_progress& progress = {});

/// In a log_effect: the connection on which the checkpoint will be committed, inside of its transaction. Use it for tables of
/// your own (their names don't begin with weir_) in the same file; neither begin nor end a transaction on it, and keep nothing
/// of it.
sqlite3* connection_of(log_transaction open) noexcept;

} // namespace weir::sqlite
