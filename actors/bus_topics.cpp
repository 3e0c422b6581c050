#include <weir/detail/bus_link.hpp>
#include <weir/detail/bus_topics.hpp>
#include <weir/detail/caf_actor.hpp>

#include <algorithm>
#include <bit>

namespace weir::detail {

namespace {

/// A topic's actor: hands out what waits in the inlet. Mailbox: one call, and one stop.
class topic_actor final : public metered_actor {
public:
  topic_actor(caf::actor_config& config, std::weak_ptr<bus_topic> of) : metered_actor(config), of_{std::move(of)} {}

  const char* name() const override { return "weir.bus.topic"; }

protected:
  caf::behavior make_behavior() override {
    return {
      [this](control_message& message) {
        if (std::holds_alternative<stop_host>(message.what))
          quit();
        else if (const auto of = of_.lock())
          of->drain();
      },
    };
  }

private:
  std::weak_ptr<bus_topic> of_;
};

} // namespace

void bus_counts::count(const hint_place& one, std::int64_t now) noexcept {
  heard.fetch_add(1, std::memory_order_relaxed);
  const auto microseconds = static_cast<std::uint64_t>(std::max<std::int64_t>(now - one.published_at, 0)) / 1000;
  const auto place = std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(microseconds)), lag.size() - 1);
  lag[place].fetch_add(1, std::memory_order_relaxed);
}

void bus_counts::put_into(bus_stats& figures) const noexcept {
  figures.heard = heard.load(std::memory_order_relaxed);
  figures.subscriptions = subscriptions.load(std::memory_order_relaxed);
  for (std::size_t place = 0; place < lag.size(); ++place)
    figures.lag[place] = lag[place].load(std::memory_order_relaxed);
}

bus_topic::duty bus_topic::take_in(bus_record what, std::optional<missed_span> missed) {
  const std::lock_guard lock{mutex_};
  if (members_->empty())
    return duty::none;
  inlet_.emplace_back(next_place_++, std::move(what), missed);
  if (inlet_.size() >= room_)
    return duty::make_room;
  if (is_called_)
    return duty::none;
  if (members_->size() <= most_in_place)
    return duty::hand_out;
  is_called_ = true;
  return duty::wake_actor;
}

void bus_topic::discharge(duty left) {
  switch (left) {
  case duty::none: return;
  case duty::make_room: return drain();
  case duty::hand_out:
    if (const std::unique_lock turn{draining_, std::try_to_lock})
      return hand_out();
    if (!call()) // whoever hands out may have passed over it
      return;
    break;
  case duty::wake_actor: break;
  }
  post(actor_, control_message{{}, wake{}});
}

/// True for the first one who calls the actor.
bool bus_topic::call() {
  const std::lock_guard lock{mutex_};
  return !std::exchange(is_called_, true);
}

void bus_topic::drain() {
  const std::lock_guard turn{draining_};
  hand_out();
}

void bus_topic::hand_out() {
  std::vector<offered_record> taken;
  std::shared_ptr<const members> all;
  {
    const std::lock_guard lock{mutex_};
    is_called_ = false;
    taken.reserve(inlet_.size());
    while (!inlet_.empty()) {
      taken.push_back(std::move(inlet_.front()));
      inlet_.pop_front();
    }
    all = members_;
  }
  if (taken.empty())
    return;
  const auto now = wall_clock();
  for (const auto& one : taken)
    if (const auto* said = std::get_if<hint>(&one.what))
      counts_->count(said->at(), now);
  for (const auto& one : *all)
    one.state->take(taken);
}

std::shared_ptr<subscription_state> bus_topic::add(subscription_options how, bus_id own, std::uint64_t began) {
  const std::lock_guard lock{mutex_};
  auto made = std::make_shared<subscription_state>(how, own, next_place_, began);
  auto all = *members_;
  all.push_back({own, made});
  members_ = std::make_shared<const members>(std::move(all));
  room_ += made->limit();
  return made;
}

bool bus_topic::remove(const subscription_state& one) {
  const std::lock_guard lock{mutex_};
  auto all = *members_;
  std::erase_if(all, [&](const member& other) { return other.state.get() == &one; });
  if (all.size() < members_->size())
    room_ -= one.limit();
  members_ = std::make_shared<const members>(std::move(all));
  return members_->empty();
}

void bus_topic::end(const error& why, std::optional<bus_id> of) {
  drain(); // what was published before is still heard
  const auto all = current();
  for (const auto& one : *all)
    if (!of || one.own == *of)
      if (one.state->end(why))
        one.state->leave();
}

std::shared_ptr<const bus_topic::members> bus_topic::current() const {
  const std::lock_guard lock{mutex_};
  return members_;
}

bus_topics::~bus_topics() {
  for (auto& some : parts_)
    for (const auto& [name, topic] : some.topics)
      post(topic->actor(), control_message{{}, stop_host{}});
}

std::shared_ptr<bus_topic> bus_topics::find(std::string_view topic) const {
  const auto& in = part_of(topic);
  const std::lock_guard lock{in.mutex};
  const auto found = in.topics.find(topic);
  return found == in.topics.end() ? nullptr : found->second;
}

std::shared_ptr<subscription_state> bus_topics::subscribe(const std::shared_ptr<bus_topics>& self, std::string_view topic,
  subscription_options how, bus_id own, std::function<void(const std::string&)> left, std::uint64_t began) {
  auto& in = part_of(topic);
  const std::lock_guard lock{in.mutex};
  auto& place = in.topics.try_emplace(std::string{topic}).first->second;
  if (!place) {
    place = std::make_shared<bus_topic>(counts_);
    place->start(actor_ref_access::make(
      caf::actor_cast<caf::strong_actor_ptr>(system_.spawn<topic_actor>(std::weak_ptr<bus_topic>{place}))));
  }
  auto made = place->add(how, own, began);
  counts_->subscriptions.fetch_add(1, std::memory_order_relaxed);
  made->on_leaving(
    [self, of = std::weak_ptr<bus_topic>{place}, who = made.get(), name = std::string{topic}, left = std::move(left)] {
      const auto topic_left = of.lock();
      if (!topic_left)
        return;
      self->counts_->subscriptions.fetch_sub(1, std::memory_order_relaxed);
      {
        auto& from = self->part_of(name);
        const std::lock_guard gone{from.mutex};
        if (!topic_left->remove(*who))
          return;
        post(topic_left->actor(), control_message{{}, stop_host{}});
        from.topics.erase(name);
      }
      if (left)
        left(name);
    });
  return made;
}

void bus_topics::count(const hint_place& one) noexcept {
  counts_->count(one, wall_clock());
}

void bus_topics::for_each(const std::function<void(const std::string&, bus_topic&)>& action) const {
  for (const auto& some : parts_) {
    std::vector<std::pair<std::string, std::shared_ptr<bus_topic>>> all;
    {
      const std::lock_guard lock{some.mutex};
      all.assign(some.topics.begin(), some.topics.end());
    }
    for (const auto& [name, topic] : all)
      action(name, *topic);
  }
}

} // namespace weir::detail
