#pragma once

#include "figures.hpp"
#include "histogram.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace weir_bench {

/// Nanoseconds on the monotonic clock.
std::int64_t now_ns() noexcept;

/// Moves items from a producer to a consumer.
class flow {
public:
  virtual ~flow() = default;

  /// As many as possible per second; returns when the last one is through.
  virtual void saturate(std::uint64_t items) = 0;

  /// One item every `interval_ns`; records for each how long after it was due it was done with. The producer is awake all the
  /// time, so that what is measured is the way and not the producer's alarm clock.
  virtual void pace(std::uint64_t items, std::int64_t interval_ns, latency_histogram& record) = 0;

  /// The size of each item's payload in the std::string that holds it; an even number above 15.
  virtual std::size_t payload_bytes() const = 0;

  /// Of payloads whose block did not arrive at the address that it was published from, since the start. Copies on the way are
  /// seen as allocations of a payload's size.
  virtual std::uint64_t payload_bytes_moved() const = 0;
};

/// Saturates for about the wanted time and then offers items at the smaller of 250,000/s and half of what it has reached.
figures measure(flow& subject, const run_settings& settings);

/// Does a number of things as fast as they go, in whatever pieces it likes.
class labour {
public:
  virtual ~labour() = default;
  virtual void run(std::uint64_t items) = 0;
};

figures measure(labour& subject, const run_settings& settings);

/// Does one thing after another, each when the one before has come back.
class exchange {
public:
  virtual ~exchange() = default;
  virtual void run(std::uint64_t times, latency_histogram& record) = 0;
};

figures measure(exchange& subject, const run_settings& settings);

} // namespace weir_bench
