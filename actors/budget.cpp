#include <weir/detail/budget.hpp>
#include <weir/detail/caf_actor.hpp>

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

bool shared_budget::try_charge(const block_ptr& charged) {
  if (has_charged(*charged))
    return true;
  {
    const std::lock_guard lock{mutex_};
    if (!machine_.try_charge(charged->size_in_bytes()))
      return false;
  }
  attach(charged);
  return true;
}

byte_budget::ticket shared_budget::wait(const block_ptr& charged, actor_ref waiting, endpoint_address endpoint) {
  byte_budget::ticket ticket = 0;
  {
    const std::lock_guard lock{mutex_};
    ticket = machine_.wait(charged->size_in_bytes());
    waiting_.emplace(ticket, waiting_publisher{charged, std::move(waiting), endpoint});
    // Another publisher may have charged the block since we looked: then nobody would wake us.
    if (charged->has_attachment_of(this)) {
      machine_.leave(ticket);
      waiting_.erase(ticket);
    }
  }
  admit(); // so may room have come free
  return ticket;
}

bool shared_budget::admitted(byte_budget::ticket waiter) const {
  const std::lock_guard lock{mutex_};
  return !waiting_.contains(waiter);
}

void shared_budget::leave(byte_budget::ticket waiter) {
  line::node_type gone; // its block may end here, which takes the lock again
  {
    const std::lock_guard lock{mutex_};
    gone = waiting_.extract(waiter);
    machine_.leave(waiter);
  }
  gone = {};
  admit(); // whoever stood behind may fit
}

std::uint64_t shared_budget::used() const {
  const std::lock_guard lock{mutex_};
  return machine_.used();
}

void shared_budget::release(std::uint64_t bytes) {
  {
    const std::lock_guard lock{mutex_};
    machine_.release(bytes);
  }
  admit();
}

void shared_budget::admit() {
  for (;;) {
    block_ptr next;
    {
      const std::lock_guard lock{mutex_};
      const auto ticket = machine_.admit();
      if (!ticket)
        return;
      const auto found = waiting_.find(*ticket);
      next = found->second.wanted;
    }
    attach(next);
  }
}

void shared_budget::attach(const block_ptr& charged) {
  // When another publisher was faster, this second charge ends here and its bytes come free at once.
  charged->attach(std::make_unique<charge>(shared_from_this(), charged->size_in_bytes()));
  for (const auto& one : take_out(charged))
    post(one.actor, control_message{one.endpoint, wake{}});
}

std::vector<shared_budget::waiting_publisher> shared_budget::take_out(const block_ptr& charged) {
  std::vector<waiting_publisher> out;
  const std::lock_guard lock{mutex_};
  for (auto one = waiting_.begin(); one != waiting_.end();) {
    if (one->second.wanted != charged) {
      ++one;
      continue;
    }
    machine_.leave(one->first);
    out.push_back(std::move(one->second));
    one = waiting_.erase(one);
  }
  return out;
}

} // namespace weir::detail
