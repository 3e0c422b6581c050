#pragma once

#include <weir/retention.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace weir {

/// What counts as the floor of a durable stream's lanes, and so lets the source forget.
enum class lane_floors : std::uint8_t {
  sink, ///< what the sink acknowledged
  log,  ///< what the log has stored: a sink that is down for a week holds the source up no more
};

/// How a durable stream uses its log.
struct durable_settings {
  std::string topic = "stream"; ///< its items; "<topic>.requests" has what sinks ask for
  std::string owner = {};       ///< whose stream it is: somebody else who opens it is refused; empty: anybody may
  lane_floors floors = lane_floors::sink;
  std::uint64_t budget = 64U << 20U;              ///< bytes that may be on the way to the log, of all publishers together
  std::size_t line_items = 4096;                  ///< items that one publishing actor may have on the way
  std::size_t recent_bytes = 8U << 20U;           ///< of stored items that stay in memory for lanes near the head
  retention_budget retention = {};                ///< what a lane may hold back; absent: anything
  std::chrono::milliseconds give_up_after{30000}; ///< how long what fails in passing is tried again
};

} // namespace weir
