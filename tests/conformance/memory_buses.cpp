#include <weir/memory_bus.hpp>

#include "bus/bus_place.hpp"

namespace bus_suite {

namespace {

class memory_place final : public bus_place {
public:
  weir::bus open() override { return hub_.open(); }

private:
  weir::memory::hub hub_{system()};
};

} // namespace

std::unique_ptr<bus_place> make_place() {
  return std::make_unique<memory_place>();
}

} // namespace bus_suite
