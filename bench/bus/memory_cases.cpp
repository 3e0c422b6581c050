#include <weir/memory_bus.hpp>

#include "../harness/measure.hpp"
#include "../lanes/world.hpp"
#include "../log/scratch.hpp"
#include "cases.hpp"

#include <functional>
#include <mutex>
#include <thread>
#include <unordered_map>

namespace weir_bench {

namespace {

constexpr std::size_t burst = 32;

std::string topic_of(std::size_t number) {
  return "topic " + std::to_string(number);
}

/// Hints in bursts that no buffer overflows, each read by all subscriptions of its topic. An item is one delivery.
class hub_deliveries final : public labour {
public:
  hub_deliveries(const std::string& policy, std::size_t subscribers, std::size_t topics)
    : world_{policy},
      subscribers_{subscribers},
      all_(topics) {
    for (std::size_t topic = 0; topic < topics; ++topic)
      for (std::size_t one = 0; one < subscribers; ++one)
        all_[topic].push_back(std::move(bus_.subscribe(topic_of(topic), {.buffer = burst})).value());
  }

  void run(std::uint64_t items) override {
    const std::string payload(hint_bytes, 'x');
    for (std::uint64_t done = 0; done < items; done += burst * subscribers_) {
      const auto topic = next_++ % all_.size();
      for (std::size_t one = 0; one < burst; ++one)
        if (!bus_.publish(topic_of(topic), payload))
          give_up("publish");
      for (auto& one : all_[topic])
        for (std::size_t hint = 0; hint < burst; ++hint)
          read(one);
    }
  }

private:
  static void read(weir::subscription& from) {
    for (;;) {
      const auto record = from.try_next();
      if (record && std::holds_alternative<weir::hint>(record.value()))
        return;
      if (record || record.error() != weir::errc::would_wait)
        give_up("a hint is lost");
      std::this_thread::yield();
    }
  }

  world world_;
  weir::memory::hub hub_{world_.system()};
  weir::bus bus_ = hub_.open();
  std::size_t subscribers_;
  std::size_t next_ = 0;
  std::vector<std::vector<weir::subscription>> all_;
};

/// How long publish() takes, with ten that read, and with one more that never does.
class hub_publish final : public exchange {
public:
  hub_publish(const std::string& policy, bool has_stuck) : world_{policy} {
    for (int one = 0; one < 10; ++one)
      live_.push_back(std::move(bus_.subscribe("t", {.policy = weir::drop_policy::drop_oldest})).value());
    if (has_stuck)
      live_.push_back(std::move(bus_.subscribe("t")).value());
  }

  void run(std::uint64_t times, latency_histogram& record) override {
    const std::string payload(hint_bytes, 'x');
    for (std::uint64_t one = 0; one < times; ++one) {
      const auto begun = now_ns();
      if (!bus_.publish("t", payload))
        give_up("publish");
      record.record(now_ns() - begun);
      for (std::size_t reader = 0; reader < 10; ++reader)
        while (live_[reader].try_next()) {
        }
    }
  }

private:
  world world_;
  weir::memory::hub hub_{world_.system()};
  weir::bus bus_ = hub_.open();
  std::vector<weir::subscription> live_;
};

/// What everybody writes once: a map from topics to callbacks, under a mutex that is held while they are called.
class callbacks final : public labour {
public:
  explicit callbacks(std::size_t subscribers) : subscribers_{subscribers}, queues_(subscribers) {
    for (std::size_t one = 0; one < subscribers; ++one)
      map_["t"].push_back([queue = &queues_[one]](const std::string& payload) { queue->push_back(payload); });
  }

  void run(std::uint64_t items) override {
    const std::string payload(hint_bytes, 'x');
    for (std::uint64_t done = 0; done < items; done += burst * subscribers_) {
      for (std::size_t one = 0; one < burst; ++one) {
        const std::lock_guard lock{mutex_};
        for (const auto& call : map_["t"])
          call(payload);
      }
      for (auto& queue : queues_)
        queue.clear();
    }
  }

private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::vector<std::function<void(const std::string&)>>> map_;
  std::size_t subscribers_;
  std::vector<std::vector<std::string>> queues_;
};

} // namespace

void add_memory_cases(std::vector<bench_case>& cases) {
  for (const auto subscribers : std::initializer_list<std::size_t>{1, 10, 1'000}) {
    cases.push_back({"callbacks." + std::to_string(subscribers), false, [=](const run_settings& settings) {
                       callbacks subject{subscribers};
                       return measure(subject, settings);
                     }});
    cases.push_back({"bus.memory." + std::to_string(subscribers), true, [=](const run_settings& settings) {
                       hub_deliveries subject{settings.policy, subscribers, 1};
                       return measure(subject, settings);
                     }});
  }
  cases.push_back({"bus.memory.1.topics10000", true, [](const run_settings& settings) {
                     hub_deliveries subject{settings.policy, 1, 10'000};
                     return measure(subject, settings);
                   }});
  for (const bool has_stuck : {false, true})
    cases.push_back({has_stuck ? "bus.memory.publish.stuck" : "bus.memory.publish", true, [=](const run_settings& settings) {
                       hub_publish subject{settings.policy, has_stuck};
                       return measure(subject, settings);
                     }});
}

} // namespace weir_bench
