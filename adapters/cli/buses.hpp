#pragma once

#include <weir/bus.hpp>
#include <weir/cli/bus_place.hpp>

namespace caf {
class actor_system;
} // namespace caf

namespace weir::cli {

/// Opens the bus that is there. Blocks. Fails with what its adapter says, and with unsupported where the program was built
/// without it.
/// @param may_be_down succeeds also while the server can't be reached
result<bus> open_bus(caf::actor_system& system, const bus_place& where, bool may_be_down);

/// What open_bus() would fail with. Blocks.
result<void> check_bus(const bus_place& where, bool may_be_down);

} // namespace weir::cli
