#include "cases.hpp"
#include "thread_flow.hpp"

#include <condition_variable>
#include <cstddef>
#include <initializer_list>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace weir_bench {

namespace {

/// The bounded queue that everybody has written once: a ring under a mutex, a condition for each side, no notification that
/// nobody waits for, none under the lock.
class bounded_queue {
public:
  explicit bounded_queue(std::size_t bound) : ring_(bound) {}

  void push(weir::lane_item item) {
    std::unique_lock lock{mutex_};
    while (size_ == ring_.size()) {
      ++waiting_producers_;
      has_room_.wait(lock);
      --waiting_producers_;
    }
    ring_[(begin_ + size_) % ring_.size()] = std::move(item);
    ++size_;
    const bool is_awaited = waiting_consumers_ != 0;
    lock.unlock();
    if (is_awaited)
      has_items_.notify_one();
  }

  weir::lane_item pop() {
    std::unique_lock lock{mutex_};
    while (size_ == 0) {
      ++waiting_consumers_;
      has_items_.wait(lock);
      --waiting_consumers_;
    }
    auto item = std::move(ring_[begin_]);
    begin_ = (begin_ + 1) % ring_.size();
    --size_;
    const bool is_awaited = waiting_producers_ != 0;
    lock.unlock();
    if (is_awaited)
      has_room_.notify_one();
    return item;
  }

private:
  std::mutex mutex_;
  std::condition_variable has_room_;
  std::condition_variable has_items_;
  std::vector<weir::lane_item> ring_;
  std::size_t begin_ = 0;
  std::size_t size_ = 0;
  std::size_t waiting_producers_ = 0;
  std::size_t waiting_consumers_ = 0;
};

class queue_flow final : public thread_flow {
public:
  queue_flow(std::size_t bound, bool copies) : queue_{bound}, copies_{copies} {}

private:
  void produce(const production& wanted) override {
    for (std::uint64_t number = 0; number < wanted.count; ++number) {
      wanted.wait_until_due(number);
      auto item = pool().make(number, wanted.due(number));
      if (copies_)
        item.envelopes = weir::make_block(item.envelopes->envelopes());
      queue_.push(std::move(item));
    }
  }

  void consume(const production& wanted) override {
    for (std::uint64_t taken = 0; taken < wanted.count; ++taken)
      done(queue_.pop(), wanted);
  }

  bounded_queue queue_;
  bool copies_;
};

} // namespace

void add_queue_cases(std::vector<bench_case>& cases) {
  const auto add = [&](std::string name, std::size_t bound, bool copies) {
    cases.push_back({std::move(name), false, [bound, copies](const run_settings& settings) {
                       queue_flow subject{bound, copies};
                       return measure(subject, settings);
                     }});
  };
  for (const auto bound : std::initializer_list<std::size_t>{1, 8, 64, 256, 1024, 8192})
    add("mutex.queue." + std::to_string(bound), bound, false);
  // Copies each payload on purpose: shows that bytes_copied_per_item counts.
  add("mutex.queue.copying", 1024, true);
}

} // namespace weir_bench
