#pragma once

#include <weir/log.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

/// A log in memory: everything that a log does, but that nothing of it outlives its store. For tests, and for topics that are
/// worth nothing after a restart.
namespace weir::memory {

struct log_options {
  std::size_t largest_entry = 16u << 20;  ///< bytes
  std::function<std::int64_t()> now = {}; ///< nanoseconds since the Unix epoch; absent: the system's clock
};

/// An empty store. Its topics live as long as it does.
std::shared_ptr<log_store> open_log(log_options wanted = {});

} // namespace weir::memory
