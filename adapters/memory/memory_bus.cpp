#include <weir/detail/bus_link.hpp>
#include <weir/detail/bus_topics.hpp>
#include <weir/hint_numbers.hpp>
#include <weir/memory_bus.hpp>

namespace weir::memory {

namespace {

class memory_link final : public detail::bus_link {
public:
  explicit memory_link(std::shared_ptr<detail::bus_topics> topics)
    : topics_{std::move(topics)},
      numbers_{detail::draw_bus_id()} {}
  ~memory_link() override { close(); }

  bus_id id() const noexcept override { return numbers_.publisher(); }

  result<void> publish(std::string_view topic, std::string_view key, std::string_view payload,
    std::shared_ptr<detail::commit_ticket> told) override {
    const auto now = detail::wall_clock();
    const auto to = topics_->find(topic);
    auto left = detail::bus_topic::duty::none;
    {
      const std::lock_guard lock{mutex_}; // so that what one bus publishes is offered in the order of its numbers
      if (is_closed_)
        return detail::bus_is_closed();
      const auto at = numbers_.next(topic, now);
      if (!to)
        topics_->count(at);
      else
        left = to->take_in(hint{std::string{topic}, std::string{key}, std::string{payload}, at});
    }
    if (to)
      to->discharge(left);
    if (told)
      told->settle(success());
    return success();
  }

  result<std::shared_ptr<detail::subscription_state>> subscribe(std::string_view topic, subscription_options how) override {
    const std::lock_guard lock{mutex_};
    if (is_closed_)
      return detail::bus_is_closed();
    return topics_->subscribe(topics_, topic, how, id(), nullptr);
  }

  void close() noexcept override {
    {
      const std::lock_guard lock{mutex_};
      if (std::exchange(is_closed_, true))
        return;
    }
    topics_->for_each([this](const std::string&, detail::bus_topic& one) {
      one.end(detail::bus_is_closed(), id());
      one.offer(gone{id()});
    });
  }

  bus_stats stats() const override {
    bus_stats now;
    topics_->counts().put_into(now);
    const std::lock_guard lock{mutex_};
    now.published = numbers_.last();
    now.refused = refused();
    return now;
  }

private:
  std::shared_ptr<detail::bus_topics> topics_;
  mutable std::mutex mutex_;
  hint_numbers numbers_;
  bool is_closed_ = false;
};

} // namespace

hub::hub(caf::actor_system& system) : topics_{std::make_shared<detail::bus_topics>(system)} {}

bus hub::open() {
  return bus{std::make_shared<memory_link>(topics_)};
}

} // namespace weir::memory
