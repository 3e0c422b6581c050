#pragma once

#include <weir/error.hpp>

#include <compare>
#include <string>
#include <string_view>

namespace weir::cli {

/// Where a bus is, as a user says it.
struct bus_place {
  std::string url = {};
  std::string channel = "weir_bus";

  friend auto operator<=>(const bus_place&, const bus_place&) = default;
};

/// Whether a bus may be there. Fails with invalid_argument, which does not repeat what may hold a password. Pure.
result<void> check_bus_url(std::string_view url);

/// The same for what a server calls the buses that hear each other: 1 to 63 bytes of UTF-8 without NUL.
result<void> check_bus_channel(std::string_view channel);

} // namespace weir::cli
