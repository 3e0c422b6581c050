#pragma once

#include <weir/postgres_bus.hpp>

#include "conformance/bus/bus_place.hpp"
#include "postgres_server.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

/// What tests of buses over PostgreSQL share.
namespace postgres_tests {

using namespace std::chrono_literals;

/// One for the whole program.
postgres_server& server();

/// Buses on a channel of their own.
struct actors final : bus_suite::bus_place {
  weir::bus open() override { return open_at(server().url()); }
  weir::bus open_at(const std::string& url, bool may_be_down = false) { return open_with(options(url, may_be_down)); }
  weir::bus open_with(const weir::postgres::bus_options& how);

  /// How opening fails, which it has to.
  weir::error refused(const weir::postgres::bus_options& how, const std::string& must_not_say = "secret");

  /// Publishes, and waits until the server has it.
  weir::result<void> commit(const weir::bus& to, const std::string& topic, const std::string& payload);

  weir::postgres::bus_options options(const std::string& url, bool may_be_down = false) const {
    return {.server = url, .channel = channel, .may_be_down = may_be_down, .beacon = 200ms, .patience = 2000ms};
  }

  std::string channel = "weir faults " + std::to_string(++number);
  static inline int number = 0;
};

/// What one subscription was told. Checks on the way that each publisher's hints come in order, and each once.
struct account {
  std::uint64_t received = 0;
  std::uint64_t lost = 0;
  bool has_gap = false;
  bool is_exact = true; ///< but for those that are told before anybody knows how many
  std::optional<weir::loss_cause> first_loss = {};
  std::map<weir::bus_id, std::uint64_t> heard = {}; ///< the last one on the topic of each publisher

  void take(const weir::bus_record& record);

  /// Up to a hint with that payload.
  void read(weir::subscription& from, const std::string& last);

  /// Until that many are accounted for.
  void read(weir::subscription& from, std::uint64_t sent);
};

/// Publishes until one is heard.
void wait_until_heard(weir::bus& by, weir::subscription& in, const std::string& topic, std::uint64_t& sent, account& told);

/// Fails the test where it does not come about.
void wait_until(const std::function<bool()>& is_so);

/// SQL that ends the connections that listen on a channel, and says how many.
std::string end_listeners(const std::string& channel);

} // namespace postgres_tests
