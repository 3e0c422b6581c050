#pragma once

#include <weir/change_lines.hpp>
#include <weir/checkpointer.hpp>
#include <weir/error.hpp>
#include <weir/feed.hpp>
#include <weir/log.hpp>
#include <weir/sink.hpp>
#include <weir/source.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir {

class worker;

/// Opens a store. Called on a thread that may block, again after each failure.
using log_opener = std::function<result<std::shared_ptr<log_store>>()>;

/// What a log source makes of an entry.
enum class log_format {
  changes, ///< its payload is a change as one line of JSON (see <weir/change_text.hpp>): what a log sink writes
  entries, ///< itself: its key, or its offset where it has none, is written with its payload
};

struct log_source_options {
  log_opener store = {};
  std::string topic = "main"; ///< of one shard
  std::string consumer = {};  ///< whose checkpoint is kept in the log; trimming honours it
  bool follow = false;        ///< waits for more at the head; otherwise the source ends there
  log_format format = log_format::changes;
  std::string collection = "entries";                 ///< of log_format::entries
  bad_record_policy on_bad = bad_record_policy::stop; ///< of an entry that is no change
};

/// A topic of a log as a source, read through a changefeed.
///
/// Positions: seq is the entry's offset + 1, the stamp names store, topic epoch and the entry's digest, so that the source
/// finds a place again, or sees that it is another log now, and then opens an epoch. What the pipeline confirms is acknowledged
/// to the feed and committed as the consumer's checkpoint: another pipeline of the same consumer fails the older one
/// (checkpoint_conflict).
///
/// An entry that is no change ends the source, or is set aside (bad_record). A cursor that expired ends the source with
/// cursor_expired: its entries were trimmed by force, and are not skipped in silence.
class log_source final : public source {
public:
  explicit log_source(log_source_options options);
  ~log_source() override;

  task<result<void>> open(self me, resume_point from) override;
  task<result<std::optional<reading>>> read(self me, read_limit limit) override;
  task<result<void>> confirm(self me, position at) override;

private:
  struct state;
  log_source_options options_;
  std::unique_ptr<worker> files_;
  std::unique_ptr<state> state_;
};

struct log_sink_options {
  log_opener store = {};
  std::string topic = "main"; ///< created with one shard where it is not there
  std::string pipeline = {};  ///< whose log it is; another pipeline's is refused
};

/// A topic of a log as a destination: each change is an entry, and its payload the same line of JSON that the jsonl sink
/// writes. Its key is the collection, a NUL, and the change's key; its dedupe key says which change it is, so that what comes
/// again after a crash is not there twice, also where the log was trimmed behind a consumer. Backfills are passed over, as
/// every log of changes does.
class log_sink final : public sink {
public:
  explicit log_sink(log_sink_options options);
  ~log_sink() override;

  task<result<sink_state>> open(self me) override;
  task<result<write_outcome>> write(self me, std::vector<lane_item> items) override;
  task<result<void>> flush(self me) override;
  task<result<void>> close(self me) override;

private:
  struct state;
  task<result<void>> send(self me);

  log_sink_options options_;
  std::unique_ptr<worker> files_;
  std::unique_ptr<state> state_;
};

/// What a log sink would say it holds, if it were opened: for checking a configuration. Blocks; changes nothing. `store` must
/// look only.
task<result<sink_state>> look_at_log_sink(self me, log_sink_options options);

} // namespace weir
