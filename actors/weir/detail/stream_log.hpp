#pragma once

#include <weir/checkpointer.hpp>
#include <weir/credit.hpp>
#include <weir/detail/lane_ends.hpp>
#include <weir/detail/log_report.hpp>
#include <weir/detail/stream_topics.hpp>
#include <weir/durable_options.hpp>
#include <weir/lane_cursor.hpp>
#include <weir/log.hpp>
#include <weir/stream_item.hpp>
#include <weir/task.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// The log actor of a durable stream: stores what is published, reads it into the lanes, keeps their checkpoints.
namespace weir::detail {

/// A lane that the topic knew when it was opened, or that is new and begins with what is retained.
struct registered_lane {
  registered_lane(lane_id name, checkpointer of) : id{std::move(name)}, keeper{std::move(of)} {}

  lane_id id;
  checkpointer keeper; ///< claimed, unless it was only looked at
  std::int64_t acknowledged = -1;
  lane_checkpoint kept = {};
  bool is_new = false;
  bool has_expired = false;
  std::optional<position> last = {};   ///< of what is stored for it
  std::optional<position> ending = {}; ///< the last one that ends a transaction

  /// Its floor, where the stream is opened: what is stored counts, or what is acknowledged.
  lane_floor start(lane_floors floors) const { return floors == lane_floors::log ? lane_floor{last, ending} : kept.floor; }
};

/// What the topic held when it was opened.
struct opened_topic {
  std::shared_ptr<log_topic> topic;
  shard_bounds bounds;
  std::vector<std::shared_ptr<registered_lane>> lanes;
};

/// Attaches to the topic of requests, and takes over what waits there.
task<result<opened_requests>> open_stream_requests(self me, std::shared_ptr<log_store> log, durable_settings how);

/// The lanes that a stream is opened with.
struct wanted_lanes {
  std::vector<lane_id> names = {};
  std::optional<position> floor = {}; ///< of those that are new
};

/// Attaches to the stream's topic, which must be empty or a stream's. Nothing is written into it.
task<result<std::shared_ptr<log_topic>>> find_stream_topic(self me, std::shared_ptr<log_store> log, durable_settings how);

/// Fences whoever had the topic open before, and finds out how far each lane is.
task<result<std::shared_ptr<opened_topic>>> open_stream_topic(self me, std::shared_ptr<log_topic> topic, wanted_lanes wanted);

/// The lanes that opening the stream would find, without a trace; none where it would be new.
task<result<std::vector<std::shared_ptr<registered_lane>>>> look_at_stream(
  self me, std::shared_ptr<log_store> log, durable_settings how, wanted_lanes wanted);

/// A lane of the stream, as the stream hands it to the log actor.
struct kept_lane {
  lane_id id;
  std::uint64_t key = 0;
  std::shared_ptr<const lane_link> to = {}; ///< the lane's actor; holds neither the stream nor its log actor
  actor_ref watermark = {};
  actor_ref requests = {};
  std::optional<position> floor = {};               ///< that was stated for one that is added while the stream runs
  std::shared_ptr<registered_lane> registered = {}; ///< null for that one, which begins at the head
  std::optional<position> resume = {};              ///< where the stream's source goes on, otherwise
};

/// How the opening of a log actor went; handed from it to whoever opens.
struct stream_log_opening {
  std::optional<error> failure = {};
  endpoint_address inlet = {};
  std::shared_ptr<lane_gauge> gauge = std::make_shared<lane_gauge>();
  std::shared_ptr<log_budget> budget = {};
  std::shared_ptr<log_report> report = std::make_shared<log_report>();
  std::vector<std::shared_ptr<registered_lane>> lanes = {};
  std::vector<request> waiting = {};
};

/// The actor's first coroutine: opens, says so to `reply`, and serves until it is asked to stop and everything that it was
/// given is stored.
task<> run_stream_log(self me, std::shared_ptr<log_store> log, durable_settings how, wanted_lanes wanted,
  std::shared_ptr<stream_log_opening> opening, actor_ref opener, endpoint_address reply);

} // namespace weir::detail
