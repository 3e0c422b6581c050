#include <weir/durable.hpp>

#include "../lanes/lane_flow.hpp"
#include "cases.hpp"
#include "logs.hpp"

namespace weir_bench {

namespace {

const lane_shape shape{.payload_bytes = entry_bytes};

/// A lane as the program has it: items that one producer publishes, stored, read into the lane, acknowledged, and told to the
/// watermark when the checkpoint is stored.
class durable_flow final : public flow {
public:
  durable_flow(adapter which, const std::string& policy)
    : lane_{policy, shape, [&](caf::actor_system& system, std::vector<weir::lane_id> lanes, const lane_shape& wanted) {
              return open(which, system, std::move(lanes), wanted);
            }} {}

  void saturate(std::uint64_t items) override { lane_.saturate(items); }
  void pace(std::uint64_t items, std::int64_t interval_ns, latency_histogram& record) override {
    lane_.pace(items, interval_ns, record);
  }
  std::size_t payload_bytes() const override { return lane_.payload_bytes(); }
  std::uint64_t payload_bytes_moved() const override { return lane_.payload_bytes_moved(); }

private:
  weir::result<weir::stream> open(
    adapter which, caf::actor_system& system, std::vector<weir::lane_id> lanes, const lane_shape& wanted) {
    weir::durable::options options;
    options.lanes = std::move(lanes);
    options.bound = {.items = wanted.bound, .bytes = std::uint64_t{1} << 36};
    auto opened = weir::durable::open(system, open_log(which, directory_), std::move(options));
    if (!opened)
      return std::move(opened).error();
    return std::move(opened).value().stream;
  }

  scratch directory_;
  lane_flow lane_;
};

} // namespace

void add_lane_cases(std::vector<bench_case>& cases) {
  cases.push_back({"lane.channel", true, [](const run_settings& settings) {
                     lane_flow subject{settings.policy, shape};
                     return measure(subject, settings);
                   }});
  for (const auto which : {adapter::memory, adapter::sqlite})
    cases.push_back({"lane.durable." + name_of(which), true, [which](const run_settings& settings) {
                       durable_flow subject{which, settings.policy};
                       return measure(subject, settings);
                     }});
}

} // namespace weir_bench
