#include <weir/configure.hpp>
#include <weir/detail/caf_actor.hpp>

#include <caf/actor_system_config.hpp>

#include <algorithm>
#include <thread>

namespace weir {

actor_ref::actor_ref(const actor_ref& other) noexcept : control_block_{other.control_block_} {
  if (control_block_ != nullptr)
    intrusive_ptr_add_ref(static_cast<caf::actor_control_block*>(control_block_));
}

actor_ref::~actor_ref() {
  if (control_block_ != nullptr)
    intrusive_ptr_release(static_cast<caf::actor_control_block*>(control_block_));
}

actor_ref actor_ref_access::make(const caf::strong_actor_ptr& actor) noexcept {
  actor_ref made;
  made.control_block_ = actor.get();
  if (made.control_block_ != nullptr)
    intrusive_ptr_add_ref(actor.get());
  return made;
}

caf::actor_control_block* actor_ref_access::get(const actor_ref& ref) noexcept {
  return static_cast<caf::actor_control_block*>(ref.control_block_);
}

void configure(caf::actor_system_config& config, scheduler_settings settings) {
  const auto threads = settings.threads != 0 ? settings.threads : std::max(2U, std::thread::hardware_concurrency());
  config.set("scheduler.max-threads", static_cast<std::size_t>(threads));
  config.set("scheduler.max-throughput", std::size_t{64});
  config.set("scheduler.policy", settings.policy == scheduler_policy::stealing ? caf::atom("stealing") : caf::atom("sharing"));
  config.set("work-stealing.relaxed-sleep-duration", caf::timespan{std::chrono::microseconds{500}});
}

} // namespace weir
