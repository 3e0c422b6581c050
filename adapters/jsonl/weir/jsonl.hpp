#pragma once

#include <weir/error.hpp>
#include <weir/sink.hpp>
#include <weir/source.hpp>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir {

class jsonl_feed;
class jsonl_log;
class worker;

/// A file of changes, one JSON object per line (see <weir/change_text.hpp> for the members), as a sink. Every change is in it
/// once: after a crash a torn last line is cut off, and what the file holds already is left out when it comes again, by (epoch,
/// seq, index). It is a log: it wants no backfill, and snapshot batches and markers that reach it all the same are passed over,
/// because they say what is, not what changed.
///
/// The last line always says up to where the log is complete: where the newest transactions changed nothing, each flush()
/// writes one line that says so. Therefore a log that was cut, or put back from an older copy, is noticed. A file without lines
/// is a new log, which begins with what comes next.
///
/// The file is only ever appended to, so a reader may follow it; it is cut only where a line was broken off or not yet
/// acknowledged. A file that was moved away while it was open is written to until the next open().
struct jsonl_sink_options {
  std::filesystem::path path = {};
  std::string pipeline = {}; ///< whose log this is, as every line says: another pipeline's is refused
};

class jsonl_sink final : public sink {
public:
  explicit jsonl_sink(jsonl_sink_options options);
  ~jsonl_sink() override;

  /// Fails with not_found (the directory), permission_denied, invalid_argument (no regular file), in_use, wrong_owner (another
  /// pipeline's log, or a file of something else), corrupt, storage_full or io_failed.
  task<result<sink_state>> open(self me) override;

  /// After storage_full, or any failure, the file ends where the last flush() left it.
  task<result<write_outcome>> write(self me, std::vector<lane_item> items) override;
  task<result<void>> flush(self me) override;

private:
  std::shared_ptr<jsonl_log> log_;
  std::unique_ptr<worker> files_;
};

/// Whether the sink would open, and what it would say; changes nothing. Blocks.
result<sink_state> check(const jsonl_sink_options& options);

/// What standard input (or any pipe) stands for when the pipeline has confirmed lines of an earlier one: it can't be rewound.
enum class pipe_restart {
  refuse,         ///< open() fails with unsupported: it can't be known
  new_epoch,      ///< more lines: all of them are new, in an epoch of their own
  skip_confirmed, ///< the same lines from the start: the confirmed ones are passed over, and checked to be the same
};

/// A file of changes, or standard input, as a source. Each line is a transaction of one change. Members of a line: collection
/// (string), key (string) or key_base64, op ("upsert" or "delete"), payload (any JSON value, handed on in exactly the bytes
/// that stand there) or payload_base64, and optionally headers; all others are ignored, so a log that the JSONL sink wrote can
/// be read back. Blank lines and lines with an `event` and no `op` carry no change.
///
/// Positions: the epoch is 1, the seq is the line's number from 1, the time is 0 (not known). The stamp is 16 bytes: the offset
/// behind the line, big-endian, and a hash of the up to 256 bytes before it. By it a restart finds its place, and notices that
/// the file is another one, or shorter. Then (and when a followed file is cut or replaced while it is open) a new epoch begins
/// with an empty batch of seq 0, and the file is read from its start. Lines that were read must not be rewritten.
///
/// Without `follow`, the source ends at the file's end, and a last line needs no line feed. With `follow` a file is read on as
/// it grows, at most 50 ms late, lines count once their line feed is there, and when another file takes its path (a log that is
/// rotated), the old one is read to its end first. On standard input and on pipes `follow` means nothing: they end by
/// themselves.
///
/// There are no snapshots (unsupported): a sink that wants a backfill gets what the file says.
struct jsonl_source_options {
  std::filesystem::path path = "-"; ///< "-" is standard input
  bool follow = false;
  bad_record_policy on_bad = bad_record_policy::stop;
  pipe_restart on_restart = pipe_restart::refuse;
  std::size_t max_line = 16U << 20U; ///< bytes; a longer line is a bad one, and is never held in memory as a whole
};

class jsonl_source final : public source {
public:
  explicit jsonl_source(jsonl_source_options options);
  ~jsonl_source() override;

  /// Fails with not_found, permission_denied, invalid_argument (a directory), io_failed, wrong_owner (the confirmed position
  /// was made by another source), unsupported (see pipe_restart).
  task<result<void>> open(self me, resume_point from) override;

  /// Fails with bad_record under bad_record_policy::stop, source_failed where skip_confirmed finds other lines than it should,
  /// io_failed, and cancelled when the coroutine is asked to stop.
  task<result<std::optional<reading>>> read(self me, read_limit limit) override;

  /// Nothing to do: a file keeps its lines.
  task<result<void>> confirm(self me, position at) override;

private:
  std::shared_ptr<jsonl_feed> feed_;
  std::unique_ptr<worker> files_;
};

/// Whether the source would open, found out without reading from it. Blocks.
result<void> check(const jsonl_source_options& options);

} // namespace weir
