#include <weir/channel.hpp>

#include "conformance/stream/implementation.hpp"

namespace stream_suite {

namespace {

class channel_implementation final : public implementation {
public:
  const char* name() const noexcept override { return "channel"; }

  bool holds_up_publishers() const noexcept override { return true; }

  weir::result<weir::stream> open(actor_tests::simulation& world, const stream_options& wanted) override {
    return weir::channel::open(world.system(), {
                                                 .lanes = wanted.lanes,
                                                 .floor = wanted.floor,
                                                 .bound = wanted.bound,
                                                 .budget = wanted.budget,
                                                 .collections = wanted.collections,
                                                 .max_attempts = wanted.max_attempts,
                                                 .dead_letters = wanted.dead_letters,
                                               });
  }
};

} // namespace

std::unique_ptr<implementation> new_implementation() {
  return std::make_unique<channel_implementation>();
}

} // namespace stream_suite
