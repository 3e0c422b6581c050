#pragma once

#include "connection.hpp"

namespace weir::postgres {

/// Whether the server can carry a bus: it is new enough, stores UTF-8, and what one connection says meets one session. Takes
/// two connections for a moment. Fails with unsupported, and as connections do.
result<void> check_server(const server_settings& at, const wake_event& stop, clock::time_point until);

} // namespace weir::postgres
