#include <weir/memory_log.hpp>

#include "conformance/durable/durable_place.hpp"

namespace durable_suite {

namespace {

class memory_place final : public durable_place {
public:
  const char* name() const noexcept override { return "durable over memory"; }
  std::shared_ptr<weir::log_store> open() override { return log_; }
  caf::actor_system* elsewhere() override { return nullptr; }

private:
  std::shared_ptr<weir::log_store> log_ = weir::memory::open_log({});
};

} // namespace

std::unique_ptr<durable_place> new_place() {
  return std::make_unique<memory_place>();
}

} // namespace durable_suite
