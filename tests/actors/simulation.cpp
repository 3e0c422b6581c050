#include "simulation.hpp"

#include <weir/configure.hpp>
#include <weir/detail/caf_actor.hpp>

#include <caf/actor_registry.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace actor_tests {

namespace {

caf::actor_system_config& configured(caf::actor_system_config& config) {
  weir::configure(config);
  config.set("scheduler.policy", caf::atom("testing"));
  return config;
}

constexpr std::size_t endless = 5'000'000;

bool runs(const caf::resumable* job, const weir::actor_ref& actor) {
  const auto* running = dynamic_cast<const caf::abstract_actor*>(job);
  return running != nullptr && running->ctrl() == weir::actor_ref_access::get(actor);
}

} // namespace

struct simulation::parts {
  explicit parts(std::uint64_t seed)
    : random{seed},
      system{configured(config)},
      coordinator{dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler())} {}

  core_tests::random_source random;
  caf::actor_system_config config;
  caf::actor_system system;
  caf::scheduler::test_coordinator& coordinator;
  std::size_t steps = 0;
  std::vector<weir::actor_ref> held;
};

simulation::simulation(std::uint64_t seed) : parts_{std::make_unique<parts>(seed)} {}

simulation::~simulation() {
  parts_->held.clear();
  settle();
  const auto left = running_actors();
  CHECK_MESSAGE(left == 0, "actors that nobody holds have not ended: ", left);
  if (left != 0)
    parts_->system.await_actors_before_shutdown(false);
}

caf::actor_system& simulation::system() noexcept {
  return parts_->system;
}

core_tests::random_source& simulation::random() noexcept {
  return parts_->random;
}

bool simulation::step() {
  auto& jobs = parts_->coordinator.jobs;
  std::vector<std::size_t> runnable;
  for (std::size_t index = 0; index < jobs.size(); ++index)
    if (std::ranges::none_of(parts_->held, [&](const weir::actor_ref& one) { return runs(jobs[index], one); }))
      runnable.push_back(index);
  if (runnable.empty())
    return false;
  const auto chosen = jobs.begin() + static_cast<std::ptrdiff_t>(parts_->random.pick(runnable));
  std::rotate(jobs.begin(), chosen, chosen + 1);
  parts_->coordinator.run_once();
  ++parts_->steps;
  return true;
}

void simulation::settle() {
  for (std::size_t count = 0; step(); ++count)
    REQUIRE_MESSAGE(count < endless, "the actors never come to rest");
}

void simulation::advance(std::chrono::milliseconds by) {
  auto& clock = parts_->coordinator.clock();
  settle();
  const auto target = clock.now() + by;
  while (!clock.schedule().empty() && clock.schedule().begin()->first <= target)
    advance_to_next_timer();
  if (clock.now() < target)
    clock.advance_time(target - clock.now());
  settle();
}

void simulation::pass_time(std::chrono::milliseconds by) {
  parts_->coordinator.clock().advance_time(by);
}

bool simulation::advance_to_next_timer() {
  auto& clock = parts_->coordinator.clock();
  settle();
  if (!clock.trigger_timeout())
    return false;
  settle();
  return true;
}

void simulation::hold(const weir::actor_ref& actor) {
  parts_->held.push_back(actor);
}

void simulation::let_go(const weir::actor_ref& actor) {
  std::erase(parts_->held, actor);
}

std::size_t simulation::mailbox_depth(const weir::actor_ref& actor) const {
  for (auto* job : parts_->coordinator.jobs)
    if (runs(job, actor))
      return dynamic_cast<caf::scheduled_actor&>(*job).mailbox().size(); // it does not wait, so it may be looked into
  return 0;
}

const weir::detail::meter& simulation::mailbox_meter(const weir::actor_ref& actor) const {
  auto* const metered = dynamic_cast<weir::detail::metered_actor*>(weir::actor_ref_access::get(actor)->get());
  REQUIRE(metered != nullptr);
  return *metered->mailbox_meter();
}

std::size_t simulation::steps() const noexcept {
  return parts_->steps;
}

std::size_t simulation::pending_timeouts() const {
  return parts_->coordinator.clock().schedule().size();
}

std::size_t simulation::running_actors() const {
  return parts_->system.registry().running();
}

std::chrono::steady_clock::time_point simulation::now() const {
  return parts_->coordinator.clock().now();
}

void send_data_from_outside(const weir::actor_ref& actor) {
  weir::detail::post(actor, weir::detail::data_message{{9999, 1}, std::make_shared<weir::detail::published_items>()});
}

void wake_from_outside(const weir::actor_ref& actor, weir::detail::endpoint_address to) {
  weir::detail::post(actor, weir::detail::control_message{to, weir::detail::wake{}});
}

} // namespace actor_tests
