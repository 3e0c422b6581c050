#pragma once

#include <weir/announcer.hpp>
#include <weir/sink.hpp>
#include <weir/source.hpp>
#include <weir/spawn.hpp>
#include <weir/stream.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir {

/// Where the confirmed position is kept, so that the next process begins there. Called on the ingest engine's actor, one call
/// at a time; durable when it returns.
class position_store {
public:
  position_store() = default;
  virtual ~position_store() = default;
  position_store(const position_store&) = delete;
  position_store& operator=(const position_store&) = delete;

  virtual task<result<void>> save(self me, position at) = 0;
};

/// What could not be delivered, and is set aside so that the rest can go on.
struct dead_letter {
  std::string lane = {};           ///< the sink, or "source"
  error reason;                    ///< bad_record, rejected, or why a sink failed again and again
  std::optional<position> at = {}; ///< of the batch that it came with
  std::optional<envelope> record;  ///< absent for a bad record of a source
  std::string bytes = {};          ///< a bad record as it came, cut to 4 KiB
};

/// Where dead letters go. Called on the engines' actors, from several at once; durable when it returns.
class dead_letter_store {
public:
  dead_letter_store() = default;
  virtual ~dead_letter_store() = default;
  dead_letter_store(const dead_letter_store&) = delete;
  dead_letter_store& operator=(const dead_letter_store&) = delete;

  virtual task<result<void>> add(self me, std::vector<dead_letter> letters) = 0;
};

/// What happens in a pipeline, for logs and displays. Called on the engines' actors, from several at once; must not block.
class pipeline_observer {
public:
  pipeline_observer() = default;
  virtual ~pipeline_observer() = default;
  pipeline_observer(const pipeline_observer&) = delete;
  pipeline_observer& operator=(const pipeline_observer&) = delete;

  virtual void on_read(std::uint64_t /*changes*/, const position& /*at*/) {}
  virtual void on_confirmed(const position& /*at*/) {}
  virtual void on_source_ended() {}
  virtual void on_written(const std::string& /*sink*/, std::uint64_t /*changes*/) {}
  virtual void on_overload(const std::string& /*sink*/, std::chrono::milliseconds /*wait*/) {}
  virtual void on_failure(const std::string& /*sink*/, const error& /*why*/, std::chrono::milliseconds /*next_try*/) {}
  virtual void on_recovery(const std::string& /*sink*/) {}
  virtual void on_dead_letters(const std::string& /*lane*/, std::size_t /*count*/, const error& /*first*/) {}
  virtual void on_backfill(const std::string& /*sink*/, bool /*complete*/) {}

  /// Something that the sink has committed can't be announced.
  virtual void on_unannounced(const std::string& /*sink*/, const error& /*why*/) {}
};

/// What a sink engine does about records and writes that don't succeed.
enum class failure_policy {
  stop,        ///< nothing is skipped: it waits with growing pauses, opens the destination again and gives the same items
  dead_letter, ///< rejected records, and items that failed too often, go to the dead letters; the rest goes on
};

struct sink_policy {
  failure_policy on_failure = failure_policy::stop;
  std::uint32_t failures_before_dead_letter = 5;  ///< of one item
  std::chrono::milliseconds first_pause{1000};    ///< after a failure; doubles
  std::chrono::milliseconds longest_pause{60000}; ///< starts again at the first after progress
  std::size_t items_per_write = 64;               ///< at most so many items go to one write() and flush()
  std::size_t bytes_per_write = 4u << 20;
};

struct pipeline_sink {
  std::string name = {}; ///< the lane's
  std::unique_ptr<sink> destination = {};
  sink_policy policy = {};
  std::optional<position> confirmed = {};        ///< with `resume`: what its lane won't bring again
  std::optional<announce_options> announce = {}; ///< where others are told what it has committed, after the commit
};

struct pipeline_options {
  std::unique_ptr<source> from = {};
  std::vector<pipeline_sink> to = {};
  std::vector<std::string> collections = {}; ///< what a backfill asks for; empty: the source has no snapshots, and nobody asks
  std::optional<position> confirmed = {};    ///< what the source was told that it may forget
  std::optional<position> resume =
    {}; ///< where the source goes on: what a durable stream has stored; absent: `confirmed`, for the sinks, too
  read_limit limit = {};
  std::chrono::milliseconds confirm_every{200};         ///< at most that often, and at the end
  std::unique_ptr<position_store> store = {};           ///< absent: nothing is kept
  std::unique_ptr<dead_letter_store> dead_letters = {}; ///< absent: whatever would go there stops its engine
  std::shared_ptr<pipeline_observer> observer = {};
};

/// One source, a stream, and its sinks, each engine in an actor of its own. Opens every destination first: a pipeline that
/// can't be opened does not begin.
class pipeline {
public:
  /// Starts the engines over a stream that has a lane for each sink. Blocks the calling thread until the destinations are open.
  /// Fails with what a destination's open() says (and the fact "sink"), with unknown_lane, and with invalid_argument.
  static result<pipeline> start(caf::actor_system& system, stream over, pipeline_options options);

  /// Stops reading, lets the sinks have what was read, confirms, and ends. Any thread.
  void request_stop() const;

  /// Ends every engine at its next turn: what is not acknowledged comes again with the next start. Any thread.
  void abort() const;

  /// Blocks until all engines have ended: success when the source ended or the stop was asked for, otherwise the first error.
  result<void> wait();
  std::optional<result<void>> wait_for(std::chrono::milliseconds timeout);

private:
  class setback;

  pipeline(stream over, spawned ingest, std::vector<spawned> sinks, std::shared_ptr<setback> setbacks)
    : stream_{std::move(over)},
      ingest_{std::move(ingest)},
      sinks_{std::move(sinks)},
      setbacks_{std::move(setbacks)} {}

  stream stream_;
  spawned ingest_;
  std::vector<spawned> sinks_;
  std::shared_ptr<setback> setbacks_;
};

} // namespace weir
