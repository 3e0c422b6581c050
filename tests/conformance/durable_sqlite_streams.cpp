#include <weir/configure.hpp>
#include <weir/sqlite_log.hpp>

#include "conformance/durable/durable_place.hpp"
#include "jsonl/scratch.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

namespace durable_suite {

namespace {

/// One for the whole program: the log's calls are short, and nothing of them stays.
caf::actor_system& system_elsewhere() {
  static caf::actor_system_config config;
  static const bool is_configured = [] {
    weir::configure(config, {.policy = weir::scheduler_policy::sharing, .threads = 1});
    return true;
  }();
  (void)is_configured;
  static caf::actor_system system{config};
  return system;
}

class sqlite_place final : public durable_place {
public:
  const char* name() const noexcept override { return "durable over sqlite"; }

  std::shared_ptr<weir::log_store> open() override {
    auto opened = weir::sqlite::open_log({.path = directory_ / "log.db"});
    REQUIRE_MESSAGE(opened, opened.error().to_string());
    return std::move(opened).value();
  }

  caf::actor_system* elsewhere() override { return &system_elsewhere(); }

private:
  adapter_tests::scratch_directory directory_;
};

} // namespace

std::unique_ptr<durable_place> new_place() {
  return std::make_unique<sqlite_place>();
}

} // namespace durable_suite
