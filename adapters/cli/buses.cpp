#include "buses.hpp"

#if WEIR_HAS_POSTGRES
#include <weir/postgres_bus.hpp>
#endif

namespace weir::cli {

#if WEIR_HAS_POSTGRES

namespace {

postgres::bus_options options_of(const bus_place& where, bool may_be_down) {
  return {.server = where.url, .channel = where.channel, .may_be_down = may_be_down};
}

} // namespace

result<bus> open_bus(caf::actor_system& system, const bus_place& where, bool may_be_down) {
  return postgres::open_bus(system, options_of(where, may_be_down));
}

result<void> check_bus(const bus_place& where, bool may_be_down) {
  return postgres::check_bus(options_of(where, may_be_down));
}

#else

namespace {

error no_postgres() {
  return error{errc::unsupported, "this program was built without libpq, which a bus over PostgreSQL needs"};
}

} // namespace

result<bus> open_bus(caf::actor_system&, const bus_place&, bool) {
  return no_postgres();
}

result<void> check_bus(const bus_place&, bool) {
  return no_postgres();
}

#endif

} // namespace weir::cli
