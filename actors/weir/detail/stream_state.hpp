#pragma once

#include <weir/detail/budget.hpp>
#include <weir/detail/lane_directory.hpp>
#include <weir/detail/stream_actors.hpp>
#include <weir/request_lane.hpp>
#include <weir/stream.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace weir::detail {

struct stream_settings {
  lane_policy policy;
  std::uint64_t budget = 0;
  std::vector<std::string> collections;
  std::shared_ptr<shared_wiring> wiring;
};

/// What all handles and ends of one stream share: its actors, its lanes, its budget.
class stream_state : public std::enable_shared_from_this<stream_state> {
public:
  stream_state(caf::actor_system& system, stream_settings settings);
  stream_state(const stream_state&) = delete;
  stream_state& operator=(const stream_state&) = delete;

  result<void> add_lane(const lane_id& id, std::optional<position> floor);
  result<void> retire_lane(const lane_id& id);
  void close(bool drain);
  bool idle() const;
  stream_figures figures() const;

  const lane_directory& directory() const noexcept { return directory_; }
  const actor_ref& watermark() const noexcept { return watermark_.ref(); }
  std::shared_ptr<const lane_link> link(const lane_id& id, const lane_directory::lane& lane) const;
  std::shared_ptr<const request_link> request_link_of() const;

private:
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
