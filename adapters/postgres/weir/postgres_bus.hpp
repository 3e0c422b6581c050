#pragma once

#include <weir/bus.hpp>
#include <weir/error.hpp>

#include <chrono>
#include <cstddef>
#include <string>

namespace caf {
class actor_system;
} // namespace caf

/// A bus over LISTEN and NOTIFY of PostgreSQL 13 or later.
///
/// A process has one connection that listens and one that publishes, each on a thread of its own. Hints that wait go out in one
/// statement, in the order in which they were accepted; all buses on one channel hear all of them in one order. Publishing is
/// never part of anybody's transaction.
namespace weir::postgres {

struct bus_options {
  std::string server = {}; ///< a postgres:// URL or key=value text, as libpq takes it; what is absent there, as libpq does
  std::string channel = "weir_bus"; ///< 1 to 63 bytes of UTF-8 without NUL
  bool may_be_down = true;          ///< open_bus() succeeds while the server can't be reached, and goes on trying
  /// Between beacons, 100 ms to 1 h. A listener that misses three of its own connects again: a link that is half open is
  /// noticed within 12 s.
  std::chrono::milliseconds beacon{4000};
  std::size_t outgoing = 8192;               ///< hints that may be on their way, 1 to 2^20
  std::size_t outgoing_bytes = 8U << 20U;    ///< … and their bytes as text, 8 KiB to 1 GiB
  std::chrono::milliseconds patience{10000}; ///< for the server's answer; after that the connection counts as dead
};

/// Opens a bus. Blocks until both connections are there, or one has failed; never call it on an actor's turn. Fails with
/// invalid_argument (the fact "option" says which), permission_denied, not_found (no such database), unsupported (an older
/// server, one that does not store UTF-8, or a transaction pooler in the way), and, unless it may be down, with disconnected.
result<bus> open_bus(caf::actor_system& system, bus_options how);

/// Whether open_bus() would succeed, without a bus. Blocks.
result<void> check_bus(const bus_options& how);

} // namespace weir::postgres
