#include <weir/configure.hpp>

#include "../harness/measure.hpp"
#include "cases.hpp"
#include "items.hpp"
#include "world.hpp"

#include <caf/actor_system.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>

namespace weir_bench {

namespace {

/// Lets a plain thread wait for actors to be done.
class finish {
public:
  void reach() {
    const std::lock_guard lock{mutex_};
    reached_ = true;
    changed_.notify_one();
  }
  void wait() {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return reached_; });
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false;
};

/// A small message that owns nothing: the cheapest thing that CAF can send.
struct numbered {
  std::uint64_t number;
  std::int64_t due_ns;
};
struct carried {
  weir::lane_item item;
};
struct go_on {};
struct question {
  std::uint64_t number;
};

} // namespace

} // namespace weir_bench

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(weir_bench::numbered)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(weir_bench::carried)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(weir_bench::go_on)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(weir_bench::question)

namespace weir_bench {

namespace {

struct errand {
  std::uint64_t count = 0;
  std::int64_t begin_ns = 0;
  std::int64_t interval_ns = 0;
  latency_histogram* record = nullptr;
  finish* done = nullptr;

  std::int64_t due(std::uint64_t number) const noexcept {
    return interval_ns == 0 ? 0 : begin_ns + static_cast<std::int64_t>(number) * interval_ns;
  }
};

class receiver final : public caf::event_based_actor {
public:
  receiver(caf::actor_config& config, errand given) : caf::event_based_actor(config), errand_{given} {}

  caf::behavior make_behavior() override {
    return {
      [this](const numbered& one) { take(one.due_ns); },
      [this](const carried& one) { take(std::get<weir::batch>(one.item).at->time); },
    };
  }

private:
  void take(std::int64_t due_ns) {
    if (errand_.record != nullptr)
      errand_.record->record(now_ns() - due_ns);
    if (++seen_ < errand_.count)
      return;
    errand_.done->reach();
    quit();
  }

  errand errand_;
  std::uint64_t seen_ = 0;
};

/// One plain send for each item, with nothing that holds it back.
class sender final : public caf::event_based_actor {
public:
  sender(caf::actor_config& config, errand given, caf::actor to, const item_pool* pool)
    : caf::event_based_actor(config),
      errand_{given},
      to_{std::move(to)},
      pool_{pool} {}

  caf::behavior make_behavior() override {
    send(this, go_on{});
    return {[this](go_on) { send_share(); }};
  }

private:
  static constexpr std::uint64_t per_turn = 64;

  void send_share() {
    const auto end = std::min(sent_ + per_turn, errand_.count);
    for (; sent_ < end; ++sent_) {
      const auto due = errand_.due(sent_);
      if (due != 0 && now_ns() < due)
        break;
      if (pool_ != nullptr)
        send(to_, carried{pool_->make(sent_, due)});
      else
        send(to_, numbered{sent_, due});
    }
    if (sent_ < errand_.count)
      send(this, go_on{});
    else
      quit();
  }

  errand errand_;
  caf::actor to_;
  const item_pool* pool_;
  std::uint64_t sent_ = 0;
};

class send_flow final : public flow {
public:
  send_flow(const std::string& policy, bool carries_items) : carries_items_{carries_items}, pool_{64}, world_{policy} {}

  void saturate(std::uint64_t items) override { run(items, 0, nullptr); }
  void pace(std::uint64_t items, std::int64_t interval_ns, latency_histogram& record) override {
    run(items, interval_ns, &record);
  }
  std::size_t payload_bytes() const override { return pool_.payload_bytes(); }
  std::uint64_t payload_bytes_moved() const override { return 0; }

private:
  void run(std::uint64_t items, std::int64_t interval_ns, latency_histogram* record) {
    finish done;
    const errand given{items, now_ns(), interval_ns, record, &done};
    auto to = world_.system().spawn<receiver>(given);
    world_.system().spawn<sender>(given, to, carries_items_ ? &pool_ : nullptr);
    done.wait();
  }

  bool carries_items_;
  item_pool pool_;
  world world_;
};

class answerer final : public caf::event_based_actor {
public:
  explicit answerer(caf::actor_config& config) : caf::event_based_actor(config) {}
  caf::behavior make_behavior() override {
    return {[](const question& asked) { return asked; }};
  }
};

class asker final : public caf::event_based_actor {
public:
  asker(caf::actor_config& config, errand given, caf::actor to)
    : caf::event_based_actor(config),
      errand_{given},
      to_{std::move(to)} {}

  caf::behavior make_behavior() override {
    ask();
    return {[](go_on) {}};
  }

private:
  void ask() {
    const auto begin = now_ns();
    request(to_, caf::infinite, question{asked_}).then([this, begin](const question&) {
      errand_.record->record(now_ns() - begin);
      if (++asked_ < errand_.count) {
        ask();
        return;
      }
      errand_.done->reach();
      quit();
    });
  }

  errand errand_;
  caf::actor to_;
  std::uint64_t asked_ = 0;
};

class request_exchange final : public exchange {
public:
  explicit request_exchange(const std::string& policy) : world_{policy}, answerer_{world_.system().spawn<answerer>()} {}

  void run(std::uint64_t times, latency_histogram& record) override {
    finish done;
    const errand given{times, 0, 0, &record, &done};
    world_.system().spawn<asker>(given, answerer_);
    done.wait();
  }

private:
  world world_;
  caf::actor answerer_;
};

} // namespace

void add_caf_cases(std::vector<bench_case>& cases) {
  cases.push_back({"caf.send", true, [](const run_settings& settings) {
                     send_flow subject{settings.policy, false};
                     return measure(subject, settings);
                   }});
  cases.push_back({"caf.send.item", true, [](const run_settings& settings) {
                     send_flow subject{settings.policy, true};
                     return measure(subject, settings);
                   }});
  cases.push_back({"caf.request", true, [](const run_settings& settings) {
                     request_exchange subject{settings.policy};
                     return measure(subject, settings);
                   }});
}

} // namespace weir_bench
