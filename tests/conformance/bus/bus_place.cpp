#include "bus_place.hpp"

#include <weir/configure.hpp>

#include <doctest/doctest.h>

#include <poll.h>

namespace bus_suite {

namespace {

caf::actor_system_config& configured(caf::actor_system_config& config) {
  weir::configure(config, {.policy = weir::scheduler_policy::sharing, .threads = 2});
  return config;
}

std::string text_of(const weir::bus_record& record) {
  if (const auto* one = std::get_if<weir::hint>(&record))
    return one->payload();
  if (const auto* missing = std::get_if<weir::lost>(&record))
    return '-' + std::to_string(missing->count) + (missing->is_exact ? "" : "+") + '(' + std::string{name_of(missing->cause)}
           + ')';
  return "gone";
}

void add(std::string& text, const std::string& more) {
  text += (text.empty() ? "" : " ") + more;
}

} // namespace

bus_place::bus_place() : system_{configured(config_)} {}

weir::result<weir::bus_record> next(weir::subscription& from, std::chrono::milliseconds at_most) {
  const auto until = std::chrono::steady_clock::now() + at_most;
  for (;;) {
    auto record = from.try_next();
    if (record || record.error() != weir::errc::would_wait)
      return record;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    if (left <= 0ms)
      return weir::error{weir::errc::timed_out};
    pollfd waited{from.descriptor(), POLLIN, 0};
    REQUIRE(waited.fd >= 0);
    ::poll(&waited, 1, static_cast<int>(left.count()));
  }
}

std::string heard(weir::subscription& from, std::size_t hints) {
  std::string text;
  while (hints > 0) {
    const auto record = next(from);
    REQUIRE_MESSAGE(record.has_value(), (text + " … " + record.error().to_string()));
    hints -= std::holds_alternative<weir::hint>(record.value()) ? 1 : 0;
    add(text, text_of(record.value()));
  }
  while (const auto record = from.try_next())
    add(text, text_of(record.value()));
  return text;
}

std::string heard_before(weir::subscription& from, const std::string& last) {
  std::string text;
  for (;;) {
    const auto record = next(from);
    REQUIRE_MESSAGE(record.has_value(), (text + " … " + record.error().to_string()));
    if (text_of(record.value()) == last)
      return text;
    add(text, text_of(record.value()));
  }
}

std::string numbers(std::uint64_t first, std::uint64_t last) {
  std::string text;
  for (auto number = first; number <= last; ++number)
    add(text, std::to_string(number));
  return text;
}

weir::subscription subscribed(weir::bus& to, const std::string& topic, weir::subscription_options how) {
  auto made = to.subscribe(topic, how);
  REQUIRE_MESSAGE(made.has_value(), made.error().to_string());
  return std::move(made).value();
}

} // namespace bus_suite
