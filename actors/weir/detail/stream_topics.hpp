#pragma once

#include <weir/durable_options.hpp>
#include <weir/log.hpp>
#include <weir/stream_item.hpp>
#include <weir/task.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// What a log has of a durable stream. Nothing here writes.
namespace weir::detail {

/// What a lane's checkpoint is called in the log. Injective; and back.
std::string consumer_of(const lane_id& lane);
std::optional<lane_id> lane_of(const std::string& consumer);

/// Why no stream can be kept in a topic of that name, beside the one with its requests; absent where it can.
std::optional<error> find_topic_fault(const std::string& topic);

/// Fails with wrong_owner where a stream is kept in the topic, or what its sinks ask for: whoever else writes into it destroys
/// that.
task<result<void>> check_no_stream(self me, std::shared_ptr<log_topic> topic);

/// Why no log can keep a lane of that name; absent where it can.
std::optional<error> find_fault(const lane_id& name);

/// The topic beside the stream's, with what sinks ask for.
std::string requests_topic(const std::string& topic);

/// What a lane has, in a part of the topic.
struct lane_end {
  std::optional<position> last = {};
  std::optional<position> ending = {}; ///< the last one that ends a transaction
};

/// What the entries from `first` up to `last` (not with it) hold for each of those lanes.
task<result<std::vector<lane_end>>> look_through(
  self me, std::shared_ptr<log_topic> topic, std::int64_t first, std::int64_t last, std::vector<lane_id> lanes);

/// A topic without lanes is new, or somebody else's: fails where its last entries are no stream's.
task<result<void>> check_foreign(self me, std::shared_ptr<log_topic> topic);

/// What the topic of requests held.
struct opened_requests {
  std::shared_ptr<log_topic> topic;
  std::int64_t head = 0;
  std::string owner = {}; ///< the last entry's key
  std::vector<request> waiting = {};
};

/// The last entry of the topic of requests.
task<result<opened_requests>> read_requests(self me, std::shared_ptr<log_topic> topic);

/// Why the stream is not that owner's to open; absent where it is.
std::optional<error> find_owner_fault(const opened_requests& there, const durable_settings& how);

} // namespace weir::detail
