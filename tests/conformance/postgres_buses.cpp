#include <weir/postgres_bus.hpp>

#include "bus/bus_place.hpp"
#include "postgres/postgres_server.hpp"

#include <doctest/doctest.h>

namespace bus_suite {

namespace {

/// One server for all, and a channel for each place.
class postgres_place final : public bus_place {
public:
  weir::bus open() override {
    auto opened = weir::postgres::open_bus(system(), {.server = server().url(), .channel = channel_, .may_be_down = false});
    REQUIRE_MESSAGE(opened.has_value(), opened.error().to_string());
    return std::move(opened).value();
  }

private:
  static postgres_tests::postgres_server& server() {
    static postgres_tests::postgres_server started;
    return started;
  }

  static std::string next_channel() {
    static int number = 0;
    return "weir test \"" + std::to_string(++number);
  }

  std::string channel_ = next_channel();
};

} // namespace

std::unique_ptr<bus_place> make_place() {
  return std::make_unique<postgres_place>();
}

} // namespace bus_suite
