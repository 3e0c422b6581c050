#include "conformance/durable/durable_place.hpp"
#include "conformance/stream/implementation.hpp"

// The stream suite runs against a durable stream that is opened in an empty log.

namespace stream_suite {

namespace {

class durable_implementation final : public implementation {
public:
  const char* name() const noexcept override { return place_->name(); }
  bool holds_up_publishers() const noexcept override { return false; }

  weir::result<weir::stream> open(actor_tests::simulation& world, const stream_options& wanted) override {
    weir::durable::options options;
    options.lanes = wanted.lanes;
    options.floor = wanted.floor;
    options.bound = wanted.bound;
    options.collections = wanted.collections;
    options.max_attempts = wanted.max_attempts;
    options.dead_letters = wanted.dead_letters;
    options.log.budget = wanted.budget;
    auto log = durable_suite::relayed(place_->open(), std::make_shared<durable_suite::relay>(place_->elsewhere()));
    actor_tests::script opener{world, "opener"};
    auto opened = opener.complete(opener.begin(weir::durable::open_in, &world.system(), std::move(log), std::move(options)));
    if (!opened)
      return std::move(opened).error();
    return std::move(opened).value().stream;
  }

private:
  std::unique_ptr<durable_suite::durable_place> place_ = durable_suite::new_place();
};

} // namespace

std::unique_ptr<implementation> new_implementation() {
  return std::make_unique<durable_implementation>();
}

} // namespace stream_suite
