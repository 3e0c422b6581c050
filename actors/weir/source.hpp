#pragma once

#include <weir/batch.hpp>
#include <weir/error.hpp>
#include <weir/resume_point.hpp>
#include <weir/self.hpp>
#include <weir/task.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace weir {

/// How much one read may return. A source stops at the first limit it reaches, but never returns nothing because one change
/// alone is larger.
struct read_limit {
  std::size_t changes = 512;
  std::size_t bytes = 1u << 20;
};

/// An input record that could not be read, set aside by the source so that the ones after it can go on.
struct bad_record {
  error reason;      ///< bad_record, with the facts of where
  std::string bytes; ///< the record as it came, cut to 4 KiB
};

/// What becomes of an input record that can't be read.
enum class bad_record_policy {
  stop,        ///< read() fails with bad_record, after everything before it was returned
  dead_letter, ///< it is set aside, and the next one follows
};

/// What one read brought: a live batch, and the records that the source could not read on the way to it. `live.at` stands
/// behind all of both.
struct reading {
  batch live;
  std::vector<bad_record> bad;
};

/// A part of a snapshot: the rows of one key range.
struct snapshot_chunk {
  std::vector<envelope> rows;
  std::string walked; ///< the last key of the range; the next chunk starts behind it
  bool last = false;  ///< nothing is left behind `walked`
};

/// Which rows, as of when.
struct snapshot_query {
  std::vector<std::string> collections;
  std::optional<std::string> after; ///< rows behind this key only
  position as_of;                   ///< the state right after this position, which the engine published last
  read_limit limit;
};

/// The port that a source of changes implements. All functions are coroutines on the ingest engine's actor; confirm() and
/// snapshot() may be called while a read() waits, never two of the same kind at once. Blocking calls belong on a weir::worker.
///
/// Order: open() once, then read() again and again. An error from any of them ends the pipeline's ingest side; what may pass
/// (a remote end that went away) is for the source to wait out by itself. Positions must follow one another as may_follow()
/// says; the first epoch is 1, and a source that numbers from the start again opens a new one.
class source {
public:
  source() = default;
  virtual ~source() = default;
  source(const source&) = delete;
  source& operator=(const source&) = delete;

  virtual task<result<void>> open(self me, resume_point from) = 0;

  /// Waits until something is there, then returns what is ready, up to the limit; it never waits in order to return more.
  /// Absent: the source has ended and nothing more will come.
  virtual task<result<std::optional<reading>>> read(self me, read_limit limit) = 0;

  /// Everything up to `at`, which ends a transaction, is acknowledged by all lanes: the source may forget it.
  virtual task<result<void>> confirm(self me, position at) = 0;

  /// One chunk of a snapshot. A source that has none answers unsupported (the default).
  virtual task<result<snapshot_chunk>> snapshot(self me, snapshot_query query);
};

} // namespace weir
