#pragma once

#include <weir/detail/budget.hpp>
#include <weir/detail/lane_directory.hpp>
#include <weir/detail/stream_actors.hpp>
#include <weir/durable_options.hpp>
#include <weir/request_lane.hpp>
#include <weir/stream.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace weir::detail {

struct registered_lane;

/// What a durable stream has beside one in memory.
struct stream_log {
  std::shared_ptr<const log_link> link;
  lane_floors floors = lane_floors::sink;

  stream_log(std::shared_ptr<const log_link> to, lane_floors of) : link{std::move(to)}, floors{of} {}
  ~stream_log(); ///< its actor ends, behind everything that was published
  stream_log(const stream_log&) = delete;
  stream_log& operator=(const stream_log&) = delete;
};

/// What the lanes of every stream are opened with.
struct lane_options {
  const std::vector<lane_id>& lanes;
  lane_bound bound;
  std::uint64_t budget;
  std::optional<std::uint32_t> max_attempts;
};

/// invalid_argument (a bound of zero or beyond 2^40, an empty name) or duplicate_lane.
std::optional<error> find_fault(const lane_options& wanted);

struct stream_settings {
  lane_policy policy;
  std::uint64_t budget = 0;
  std::vector<std::string> collections;
  std::shared_ptr<shared_wiring> wiring;
  std::unique_ptr<const stream_log> log = {}; ///< of a durable stream
  std::vector<request> waiting = {};          ///< which backfills its log says that are not served
};

/// What all handles and ends of one stream share: its actors, its lanes, its budget.
class stream_state : public std::enable_shared_from_this<stream_state> {
public:
  stream_state(caf::actor_system& system, stream_settings settings);
  stream_state(const stream_state&) = delete;
  stream_state& operator=(const stream_state&) = delete;

  result<void> add_lane(const lane_id& id, std::optional<position> floor);

  /// Of a durable stream, as it opens: a lane that the log knows, or that begins with what is retained.
  result<void> add_registered(const std::shared_ptr<registered_lane>& known, const std::optional<position>& resume);
  result<void> retire_lane(const lane_id& id);
  void close(bool drain);
  void suspend();
  bool idle() const;
  stream_figures figures() const;
  std::optional<error> failure() const;
  std::optional<error> trouble() const;

  const lane_directory& directory() const noexcept { return directory_; }
  const actor_ref& watermark() const noexcept { return watermark_.ref(); }
  std::shared_ptr<const lane_link> link(const lane_id& id, const lane_directory::lane& lane) const;
  std::shared_ptr<const request_link> request_link_of() const;

private:
  request_settings settings_of_requests();
  struct beginning;
  result<void> add(const lane_id& id, const beginning& where);

  caf::actor_system& system_;
  stream_settings settings_;
  lane_directory directory_;
  std::shared_ptr<shared_budget> budget_;
  std::shared_ptr<lane_gauge> request_gauge_;
  owned_actor watermark_;
  owned_actor requests_;

  std::mutex changing_;
  std::uint64_t next_key_ = 1;
  bool closed_ = false;
};

} // namespace weir::detail
