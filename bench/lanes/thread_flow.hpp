#pragma once

#include "../harness/measure.hpp"
#include "items.hpp"

#include <cstddef>
#include <cstdint>
#include <thread>

namespace weir_bench {

/// What the two threads of a run are to do.
struct production {
  std::uint64_t count = 0;
  std::int64_t begin_ns = 0;
  std::int64_t interval_ns = 0; ///< 0: everything at once
  latency_histogram* record = nullptr;

  std::int64_t due(std::uint64_t number) const noexcept {
    return interval_ns == 0 ? 0 : begin_ns + static_cast<std::int64_t>(number) * interval_ns;
  }

  /// Stays awake.
  void wait_until_due(std::uint64_t number) const noexcept {
    if (interval_ns != 0)
      while (now_ns() < due(number))
        std::this_thread::yield();
  }
};

/// A producer thread and a consumer thread with something between them that holds a bounded number of items.
class thread_flow : public flow {
public:
  void saturate(std::uint64_t items) override { run({items, now_ns(), 0, nullptr}); }
  void pace(std::uint64_t items, std::int64_t interval_ns, latency_histogram& record) override {
    run({items, now_ns(), interval_ns, &record});
  }
  std::size_t payload_bytes() const override { return pool_.payload_bytes(); }
  std::uint64_t payload_bytes_moved() const override { return bytes_moved_; }

protected:
  thread_flow() : pool_{64} {}
  virtual void produce(const production& wanted) = 0;
  virtual void consume(const production& wanted) = 0;

  const item_pool& pool() const noexcept { return pool_; }

  /// Called by the consumer for each item.
  void done(const weir::lane_item& item, const production& wanted) {
    const auto& delivered = std::get<weir::batch>(item);
    bytes_moved_ += pool_.bytes_moved(delivered);
    if (wanted.record != nullptr)
      wanted.record->record(now_ns() - delivered.at->time);
  }

private:
  void run(const production& wanted) {
    std::thread producer{[&] { produce(wanted); }};
    std::thread consumer{[&] { consume(wanted); }};
    producer.join();
    consumer.join();
  }

  item_pool pool_;
  std::uint64_t bytes_moved_ = 0; // of the consumer
};

} // namespace weir_bench
