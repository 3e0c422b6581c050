#pragma once

#include <weir/configure.hpp>
#include <weir/pipeline.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace adapter_tests {

/// An actor system with threads, as an application has it.
struct threaded {
  threaded() : system{configured()} {}
  caf::actor_system_config& configured() {
    weir::configure(config);
    return config;
  }
  caf::actor_system_config config;
  caf::actor_system system;
};

/// Keeps the confirmed position for the next pipeline of the test.
class kept_position final : public weir::position_store {
public:
  explicit kept_position(std::shared_ptr<std::optional<weir::position>> kept) : kept_{std::move(kept)} {}
  weir::task<weir::result<void>> save(weir::self, weir::position at) override {
    auto saved = weir::success();
    *kept_ = at;
    co_return saved;
  }

private:
  std::shared_ptr<std::optional<weir::position>> kept_;
};

} // namespace adapter_tests
