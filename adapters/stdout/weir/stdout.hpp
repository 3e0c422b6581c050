#pragma once

#include <weir/sink.hpp>

#include <memory>
#include <vector>

namespace weir {

class descriptor_log;
class worker;

/// Changes on standard output, or any other open descriptor, one JSON object per line (see <weir/change_text.hpp> for the
/// members), as a sink.
///
/// What was written can't be looked at again, so nothing is left out: after a crash or a failure changes come twice, each time
/// with the same (epoch, seq, index), by which a reader may tell. It is a log: it wants no backfill, and snapshot batches and
/// markers that reach it all the same are passed over.
struct stdout_sink_options {
  int descriptor = 1; ///< neither closed nor changed
};

class stdout_sink final : public sink {
public:
  explicit stdout_sink(stdout_sink_options options = {});
  ~stdout_sink() override;

  task<result<sink_state>> open(self me) override;

  /// Waits while the reader does not read. Fails with sink_failed when the reader has gone (no SIGPIPE is raised, whatever the
  /// process does with it), storage_full or io_failed.
  task<result<write_outcome>> write(self me, std::vector<lane_item> items) override;

  /// Hands everything to the descriptor; where that is a file, waits until the disk has it.
  task<result<void>> flush(self me) override;

private:
  std::shared_ptr<descriptor_log> log_;
  std::unique_ptr<worker> files_;
};

} // namespace weir
