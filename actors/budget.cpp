#include <weir/detail/budget.hpp>
#include <weir/detail/caf_actor.hpp>

#include <vector>

namespace weir::detail {

class shared_budget::charge final : public block_attachment {
public:
  charge(std::shared_ptr<shared_budget> budget, std::uint64_t bytes)
    : block_attachment{budget.get()},
      budget_{std::move(budget)},
      bytes_{bytes} {}
  ~charge() override { budget_->release(bytes_); }

private:
  std::shared_ptr<shared_budget> budget_;
  std::uint64_t bytes_;
};

bool shared_budget::try_charge(const block& charged) {
  if (charged.has_attachment_of(this))
    return true;
  {
    const std::lock_guard lock{mutex_};
    if (!machine_.try_charge(charged.size_in_bytes()))
      return false;
  }
  attach(charged);
  return true;
}

byte_budget::ticket shared_budget::wait(const block& charged, actor_ref waiting, endpoint_address endpoint) {
  const std::lock_guard lock{mutex_};
  const auto ticket = machine_.wait(charged.size_in_bytes());
  waiting_.emplace(ticket, waiting_publisher{std::move(waiting), endpoint});
  return ticket;
}

bool shared_budget::admitted(byte_budget::ticket waiter, const block& charged) {
  {
    const std::lock_guard lock{mutex_};
    if (waiting_.contains(waiter))
      return false;
  }
  attach(charged);
  return true;
}

void shared_budget::leave(byte_budget::ticket waiter, std::uint64_t bytes) {
  {
    const std::lock_guard lock{mutex_};
    waiting_.erase(waiter);
    if (machine_.leave(waiter))
      bytes = 0;
  }
  release(bytes); // also lets in whoever stood behind
}

std::uint64_t shared_budget::used() const {
  const std::lock_guard lock{mutex_};
  return machine_.used();
}

void shared_budget::release(std::uint64_t bytes) {
  std::vector<waiting_publisher> admitted;
  {
    const std::lock_guard lock{mutex_};
    machine_.release(bytes);
    while (const auto next = machine_.admit()) {
      auto found = waiting_.extract(*next);
      admitted.push_back(std::move(found.mapped()));
    }
  }
  for (const auto& one : admitted)
    post(one.actor, control_message{one.endpoint, wake{}});
}

void shared_budget::attach(const block& charged) {
  // When another publisher was faster, this second charge ends here and its bytes come free at once.
  charged.attach(std::make_unique<charge>(shared_from_this(), charged.size_in_bytes()));
}

} // namespace weir::detail
