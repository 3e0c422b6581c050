#pragma once

#include <weir/stream.hpp>

#include "../harness/measure.hpp"
#include "items.hpp"
#include "world.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir_bench {

/// How the sink of a lane takes and acknowledges.
enum class taking {
  some,  ///< what is ready, at most 512 items, with one cumulative acknowledgement: what the sink engine does
  single ///< one item and one acknowledgement at a time
};

struct lane_shape {
  std::size_t lanes = 1;
  std::size_t bound = 1024;
  std::size_t payload_bytes = 64;
  std::size_t envelopes = 1; ///< in each item
  taking way = taking::some;
  bool shares = false; ///< publishes with publish_all, also to one lane; otherwise with publish, to one
};

/// Producer coroutine → lanes → one sink coroutine for each → acknowledgements → watermark. With several lanes, every item goes
/// to all of them and shares one block. An item is through when the watermark has passed it.
class lane_flow final : public flow {
public:
  /// Opens a stream of those lanes.
  using opener = std::function<weir::result<weir::stream>(caf::actor_system&, std::vector<weir::lane_id>, const lane_shape&)>;

  lane_flow(const std::string& policy, lane_shape shape, const opener& open = open_channel);
  ~lane_flow() override;

  void saturate(std::uint64_t items) override;
  void pace(std::uint64_t items, std::int64_t interval_ns, latency_histogram& record) override;
  std::size_t payload_bytes() const override { return shape_.payload_bytes; }
  std::uint64_t payload_bytes_moved() const override;

  struct shared;

private:
  static weir::result<weir::stream> open_channel(
    caf::actor_system& system, std::vector<weir::lane_id> lanes, const lane_shape& shape);
  void run(std::uint64_t items, std::int64_t interval_ns, latency_histogram* record);

  lane_shape shape_;
  world world_;
  std::shared_ptr<shared> shared_;
  std::optional<weir::stream> stream_;
  std::uint64_t next_ = 1;
};

} // namespace weir_bench
