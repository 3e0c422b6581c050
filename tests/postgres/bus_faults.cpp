#include "bus_faults.hpp"

#include <doctest/doctest.h>

#include <thread>

namespace bus_suite {

/// The suite itself is another program's.
std::unique_ptr<bus_place> make_place() {
  return nullptr;
}

} // namespace bus_suite

namespace postgres_tests {

namespace {

weir::task<weir::result<void>> publish_committed(weir::self me, weir::bus to, std::string topic, std::string payload) {
  auto publishing = to.publish_committed(me, std::move(topic), std::move(payload));
  auto published = co_await std::move(publishing);
  co_return published;
}

} // namespace

postgres_server& server() {
  static postgres_server started;
  return started;
}

weir::bus actors::open_with(const weir::postgres::bus_options& how) {
  auto opened = weir::postgres::open_bus(system(), how);
  REQUIRE_MESSAGE(opened.has_value(), opened.error().to_string());
  return std::move(opened).value();
}

weir::error actors::refused(const weir::postgres::bus_options& how, const std::string& must_not_say) {
  auto opened = weir::postgres::open_bus(system(), how);
  REQUIRE_FALSE(opened);
  INFO(opened.error().to_string());
  CHECK(!opened.error().sentence().empty());
  CHECK(opened.error().to_string().find(must_not_say) == std::string::npos);
  return std::move(opened).error();
}

weir::result<void> actors::commit(const weir::bus& to, const std::string& topic, const std::string& payload) {
  return weir::sync_wait(system(), publish_committed, to, topic, payload);
}

void account::take(const weir::bus_record& record) {
  if (const auto* one = std::get_if<weir::hint>(&record)) {
    ++received;
    auto& before = heard[one->publisher()];
    CHECK(one->at().on_topic > before);
    before = one->at().on_topic;
  } else if (const auto* missing = std::get_if<weir::lost>(&record)) {
    lost += missing->count;
    has_gap = has_gap || missing->cause == weir::loss_cause::link_gap;
    is_exact = is_exact && (missing->is_exact || missing->count == 0);
    if (!first_loss)
      first_loss = missing->cause;
  }
}

void account::read(weir::subscription& from, const std::string& last) {
  for (;;) {
    const auto record = bus_suite::next(from);
    REQUIRE_MESSAGE(record.has_value(), record.error().to_string());
    take(record.value());
    if (const auto* one = std::get_if<weir::hint>(&record.value()); one != nullptr && one->payload() == last)
      return;
  }
}

void account::read(weir::subscription& from, std::uint64_t sent) {
  while (received + lost < sent) {
    const auto record = bus_suite::next(from);
    REQUIRE_MESSAGE(record.has_value(), record.error().to_string());
    take(record.value());
  }
  CHECK(received + lost == sent);
}

void wait_until_heard(weir::bus& by, weir::subscription& in, const std::string& topic, std::uint64_t& sent, account& told) {
  for (;;) {
    if (by.publish(topic, "probe"))
      ++sent;
    for (auto until = std::chrono::steady_clock::now() + 100ms; std::chrono::steady_clock::now() < until;) {
      const auto record = bus_suite::next(in, 100ms);
      if (!record)
        break;
      told.take(record.value());
      if (std::holds_alternative<weir::hint>(record.value()))
        return;
    }
  }
}

void wait_until(const std::function<bool()>& is_so) {
  const auto until = std::chrono::steady_clock::now() + 60s;
  while (!is_so()) {
    REQUIRE(std::chrono::steady_clock::now() < until);
    std::this_thread::sleep_for(10ms);
  }
}

std::string end_listeners(const std::string& channel) {
  return "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query = 'LISTEN \"" + channel + "\"'";
}

} // namespace postgres_tests
