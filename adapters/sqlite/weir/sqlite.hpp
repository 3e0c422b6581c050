#pragma once

#include <weir/error.hpp>
#include <weir/sink.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace weir {

class sqlite_store;
class worker;

/// A SQLite database as a sink: one table per collection, with the state that the lane has reached.
///
/// The table of a collection is named like it and has the columns
///
///     key TEXT PRIMARY KEY   the key's bytes, as text: WHERE key = 'README.md' finds it
///     payload TEXT           the payload as text; as a blob where it is not UTF-8 or holds a NUL
///     position INTEGER       seq of the change that wrote the row; of a row from a backfill, where the lane stood then
///     epoch INTEGER          and its epoch
///     generation INTEGER     for the sink itself: 2 g from backfill number g, 2 g + 1 from a live change since it began
///
/// More columns, indices, triggers and other tables beside them are welcome. Seq and epoch are stored as SQLite's signed
/// integers: above 2^63 - 1 they look negative. Deletes delete the row.
///
/// Who opens a database to write fences whoever wrote to it before: that one's next flush fails with fenced, and leaves
/// nothing behind.
///
/// Everything between two flushes is one transaction together with the lane's position (in the table weir_lane), so that a
/// change that comes again has no second effect, and a reader never sees half a flush. Readers never wait: the database is in
/// WAL mode, synchronously written (synchronous=FULL: what is acknowledged survives a power failure).
///
/// A backfill and live changes may interleave. A key that a live change touched since the backfill began keeps what that said
/// (the snapshot can't know better, and may come again after a crash, when the live change does not); rows that neither the
/// backfill nor a live change has touched are deleted when its marker comes. Batches and markers of any other request than the
/// one under way are passed over: what asked for them was superseded, and the backfill under way brings all rows itself.
///
/// A table that was dropped while nothing wrote to it is made anew, and the sink asks for a backfill.
struct sqlite_sink_options {
  std::filesystem::path path = {};           ///< created if it is not there; its directory must be
  std::string pipeline = {};                 ///< whose database this is: another pipeline's is refused
  std::string lane = {};                     ///< one database holds one lane's state
  std::vector<std::string> collections = {}; ///< only these are written; empty: all that come
};

class sqlite_sink final : public sink {
public:
  explicit sqlite_sink(sqlite_sink_options options);
  ~sqlite_sink() override;

  /// Fails with not_found (the directory), permission_denied, invalid_argument (a directory, a bad collection name), corrupt
  /// (no SQLite database), wrong_owner (another pipeline's database; a table of a collection's name that the sink did not
  /// make), unsupported (another format; a database that is not UTF-8), in_use (locked for seconds), storage_full or io_failed.
  /// The state names all collections that it ever made a table for, also where no row is left, or the table was dropped.
  task<result<sink_state>> open(self me) override;

  bool wants_backfill() const noexcept override { return true; }

  /// Durable when it completes. Refuses with invalid_argument to resume behind a key that this database has not walked to.
  task<result<void>> begin_backfill(self me, request asked, std::uint64_t epoch) override;

  /// Asks to try later while another connection holds the database locked for writing. Rejects records whose collection's name
  /// can't be that of a table, that are too large for SQLite (10^9 bytes), and that a constraint or trigger on the table
  /// refuses. After a failure nothing that was not flushed is there.
  task<result<write_outcome>> write(self me, std::vector<lane_item> items) override;
  task<result<void>> flush(self me) override;
  task<result<void>> close(self me) override;

private:
  std::shared_ptr<sqlite_store> store_;
  std::unique_ptr<worker> files_;
};

/// Whether the sink would open, and `committed` as it would say; changes nothing. Blocks.
result<sink_state> check(const sqlite_sink_options& options);

} // namespace weir
