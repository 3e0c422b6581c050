#include "world.hpp"

#include <weir/configure.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

namespace weir_bench {

struct world::state {
  explicit state(const std::string& policy) : config{policy}, system{config} {}

  struct configuration : caf::actor_system_config {
    explicit configuration(const std::string& policy) {
      weir::scheduler_settings settings;
      settings.policy = policy == "sharing" ? weir::scheduler_policy::sharing : weir::scheduler_policy::stealing;
      weir::configure(*this, settings);
    }
  };

  configuration config;
  caf::actor_system system;
};

world::world(const std::string& policy) : state_{std::make_unique<state>(policy)} {}
world::~world() = default;

caf::actor_system& world::system() noexcept {
  return state_->system;
}

} // namespace weir_bench
