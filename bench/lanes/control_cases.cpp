#include <weir/channel.hpp>
#include <weir/detail/caf_actor.hpp>
#include <weir/spawn.hpp>

#include "../harness/measure.hpp"
#include "cases.hpp"
#include "items.hpp"
#include "world.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace weir_bench {

namespace {

using weir::lane_item;

/// Where the control messages go to: an endpoint of the saturated actor, addressed as a lane's acknowledgements and grants are.
class arrivals final : public weir::detail::endpoint {
public:
  explicit arrivals(weir::detail::host& owner) : endpoint{owner} {}
  void on_control(weir::detail::control& message) override;
  std::atomic<std::int64_t>* sent_ns = nullptr; // of the one message that is under way; 0: none is
  latency_histogram* record = nullptr;
  std::uint64_t wanted = 0;
  std::uint64_t seen = 0;
};

void arrivals::on_control(weir::detail::control&) {
  const auto now = now_ns();
  record->record(now - sent_ns->load(std::memory_order_acquire));
  ++seen;
  sent_ns->store(0, std::memory_order_release);
}

/// Who sends them.
enum class origin {
  peer,   ///< the coroutine that keeps the lane full, as where a lane acknowledges
  outside ///< a plain thread, as where a program asks an actor to stop
};

struct meeting {
  explicit meeting(std::uint64_t times) : wanted{times}, pool{64} {}

  const std::uint64_t wanted;
  item_pool pool;
  std::atomic<std::int64_t> sent_ns{0};
  std::atomic<bool> is_open{false};
  std::atomic<bool> is_over{false};
  weir::actor_ref actor;                  // written before is_open
  weir::detail::endpoint_address address; // written before is_open
  latency_histogram* record = nullptr;

  /// The next message, sent now: one at a time, when the one before has arrived.
  weir::detail::control_message next() {
    sent_ns.store(now_ns(), std::memory_order_release);
    return {address, weir::detail::wake{}};
  }
  bool may_send() const noexcept {
    return is_open.load(std::memory_order_acquire) && sent_ns.load(std::memory_order_acquire) == 0;
  }
};

using shared_meeting = std::shared_ptr<meeting>;

weir::task<> fill(weir::self me, weir::producer<lane_item> out, origin from, shared_meeting all) {
  constexpr std::uint64_t items_between = 512;
  for (std::uint64_t number = 1; !all->is_over.load(std::memory_order_acquire); ++number) {
    auto publishing = out.publish(all->pool.make(number));
    auto published = co_await publishing;
    if (!published)
      break;
    if (from == origin::peer && number % items_between == 0 && all->may_send())
      me.host().post(all->actor, all->next());
  }
}

/// Spends that long on each item: 0 is a sink that only counts.
weir::task<> drain(weir::self me, weir::consumer<lane_item> in, std::int64_t work_ns, shared_meeting all) {
  auto here = std::make_unique<arrivals>(me.host());
  here->sent_ns = &all->sent_ns;
  here->record = all->record;
  all->actor = me.ref();
  all->address = here->here();
  all->is_open.store(true, std::memory_order_release);
  while (here->seen < all->wanted) {
    auto receiving = in.receive();
    auto received = co_await receiving;
    if (!received)
      std::exit(1);
    if (work_ns != 0)
      for (const auto end = now_ns() + work_ns; now_ns() < end;) {
      }
    if (!received.value().ack())
      std::exit(1);
  }
  all->is_over.store(true, std::memory_order_release);
}

/// Control messages to an actor whose data lane is full all the time.
class control_exchange final : public exchange {
public:
  control_exchange(const std::string& policy, origin from, std::int64_t work_ns)
    : from_{from},
      work_ns_{work_ns},
      world_{policy} {}

  void run(std::uint64_t times, latency_histogram& record) override {
    auto all = std::make_shared<meeting>(times);
    all->record = &record;
    weir::channel::options wanted;
    wanted.lanes.emplace_back("sink");
    auto stream = weir::channel::open(world_.system(), std::move(wanted)).value();
    auto lane = stream.lane("sink").value();
    const auto consumer = weir::spawn(world_.system(), drain, lane.consumer(), work_ns_, all);
    const auto producer = weir::spawn(world_.system(), fill, lane.producer(), from_, all);
    if (from_ == origin::outside)
      while (!all->is_over.load(std::memory_order_acquire)) {
        if (all->may_send())
          weir::detail::post(all->actor, all->next());
        std::this_thread::sleep_for(std::chrono::microseconds{100});
      }
    (void)consumer.wait();
    stream.close(weir::close_mode::abort);
    (void)producer.wait();
  }

private:
  origin from_;
  std::int64_t work_ns_;
  world world_;
};

} // namespace

void add_control_cases(std::vector<bench_case>& cases) {
  const auto add = [&](std::string name, origin from, std::int64_t work_ns) {
    cases.push_back({std::move(name), true, [from, work_ns](const run_settings& settings) {
                       control_exchange subject{settings.policy, from, work_ns};
                       return measure(subject, settings);
                     }});
  };
  add("lane.control", origin::peer, 0);
  add("lane.control.outside", origin::outside, 0);
  add("lane.control.busy", origin::peer, 1000);
}

} // namespace weir_bench
