#include <weir/bus.hpp>
#include <weir/detail/bus_link.hpp>
#include <weir/detail/subscription_state.hpp>

#include <boost/outcome/try.hpp>

#include <chrono>
#include <random>

namespace weir {

namespace {

constexpr std::size_t largest_buffer = std::size_t{1} << 20U;

result<void> publish_on(detail::bus_link& link, std::string_view topic, std::string_view key, std::string_view payload,
  std::shared_ptr<detail::commit_ticket> told) {
  auto outcome = check_bus_topic(topic);
  if (outcome)
    outcome = check_hint_size(key, payload);
  if (outcome)
    outcome = link.publish(topic, key, payload, std::move(told));
  if (!outcome)
    link.count_refused();
  return outcome;
}

} // namespace

bus_id detail::draw_bus_id() {
  std::random_device entropy;
  return {std::uint64_t{entropy()} << 32U | entropy()};
}

std::int64_t detail::wall_clock() noexcept {
  return std::chrono::nanoseconds{std::chrono::system_clock::now().time_since_epoch()}.count();
}

error detail::bus_is_closed() {
  return error{errc::bus_closed, "the bus was closed"};
}

result<void> bus::publish(std::string_view topic, std::string_view payload, std::string_view key) {
  return publish_on(*link_, topic, key, payload, nullptr);
}

task<result<void>> bus::publish_committed(self, std::string topic, std::string payload, std::string key) const {
  const auto link = link_;
  const auto told = std::make_shared<detail::commit_ticket>();
  auto outcome = publish_on(*link, topic, key, payload, told);
  if (!outcome)
    co_return outcome;
  auto waiting = told->wait();
  auto woken = co_await waiting;
  auto settled = told->outcome();
  outcome = settled ? std::move(*settled) : std::move(woken);
  co_return outcome;
}

result<subscription> bus::subscribe(std::string_view topic, subscription_options how) {
  BOOST_OUTCOME_TRY(check_bus_topic(topic));
  if (how.buffer == 0 || how.buffer > largest_buffer)
    return error{errc::invalid_argument, "a subscription's buffer holds 1 to 2^20 hints",
      {{"option", "buffer"}, {"given", std::to_string(how.buffer)}}};
  BOOST_OUTCOME_TRY(auto state, link_->subscribe(topic, how));
  return subscription{std::move(state)};
}

void bus::close() noexcept {
  link_->close();
}

bus_id bus::id() const noexcept {
  return link_->id();
}

bus_stats bus::stats() const {
  return link_->stats();
}

} // namespace weir
