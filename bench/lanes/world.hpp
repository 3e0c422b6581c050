#pragma once

#include <memory>
#include <string>

namespace caf {
class actor_system;
} // namespace caf

namespace weir_bench {

/// An actor system as weir::configure() recommends it, under that policy. Ends with its actors.
class world {
public:
  explicit world(const std::string& policy);
  ~world();
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  caf::actor_system& system() noexcept;

private:
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace weir_bench
