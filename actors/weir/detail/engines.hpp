#pragma once

#include <weir/pipeline.hpp>

#include <memory>
#include <string>
#include <vector>

namespace weir::detail {

/// What the engines of one pipeline share.
struct pipeline_parts {
  stream over;
  std::vector<std::string> collections;
  std::shared_ptr<dead_letter_store> dead_letters;
  std::shared_ptr<pipeline_observer> observer; ///< never null
};

struct ingest_parts {
  std::shared_ptr<source> from;
  std::shared_ptr<position_store> store; ///< may be null
  std::vector<std::string> lanes;
  resume_point from_here;
  std::optional<position> confirmed; ///< that the source was told
  read_limit limit;
  std::chrono::milliseconds confirm_every;
};

/// The ingest engine: reads the source, publishes to all lanes, serves backfills, confirms. Ends the stream when the source
/// ends or the actor is asked to stop and everything is acknowledged. Its first coroutine is shielded.
task<> run_ingest(self me, std::shared_ptr<const pipeline_parts> shared, ingest_parts parts);

struct sink_parts {
  std::string name;
  std::shared_ptr<sink> destination;
  sink_policy policy;
  std::optional<position> confirmed; ///< what the source won't bring again
  std::optional<announce_options> announce;
  std::function<void(result<sink_state>)> on_opened;         ///< called once, after the first open()
  std::function<void(const std::string&, error)> on_failing; ///< the engine ends for good before its lane does
};

/// A sink engine: opens the destination, asks for a backfill where it is not seeded, writes what its lane delivers, flushes,
/// and acknowledges.
task<> run_sink(self me, std::shared_ptr<const pipeline_parts> shared, sink_parts parts);

} // namespace weir::detail
