#pragma once

#include <weir/cli/bus_place.hpp>
#include <weir/cli/early_end.hpp>
#include <weir/hint_buffer.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>

namespace weir::cli {

// What each command of `weir bus` is asked for.

struct bus_publish {
  std::string topic = {}; ///< a valid one
  std::string key = {};   ///< of each hint; empty: none
};

struct bus_subscribe {
  std::string topic = {};
  std::optional<std::uint64_t> count = {}; ///< end after so many hints
  drop_policy policy = drop_policy::drop_newest;
  std::size_t buffer = 1024;
};

struct bus_stat {
  std::chrono::milliseconds time{6000}; ///< to listen: buses send a beacon every 4 s
};

/// What `weir bus COMMAND …` asks for.
struct bus_arguments {
  std::string command = {}; ///< as it was called: "publish"
  bus_place where = {};
  bool json = false;
  std::variant<bus_publish, bus_subscribe, bus_stat> what = bus_stat{};
};

/// Reads the arguments that follow `weir bus`. Pure.
std::variant<bus_arguments, early_end> parse_bus_arguments(std::span<const std::string> given);

} // namespace weir::cli
