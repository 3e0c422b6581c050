#include <weir/channel.hpp>
#include <weir/spawn.hpp>

#include "cases.hpp"
#include "lane_flow.hpp"

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>

namespace weir_bench {

namespace {

using weir::lane_item;

void add_flow(std::vector<bench_case>& cases, std::string name, lane_shape shape) {
  cases.push_back({std::move(name), true, [shape](const run_settings& settings) {
                     lane_flow subject{settings.policy, shape};
                     return measure(subject, settings);
                   }});
}

/// What ends a round trip.
enum class back {
  credit,   ///< the publisher has its credit back: in a lane of one item, the acknowledgement has come back to it
  watermark ///< the publisher has seen the watermark pass the item
};

weir::task<> ask(weir::self, weir::producer<lane_item> out, weir::watermark_view watermark, std::uint64_t first,
  std::uint64_t count, std::shared_ptr<item_pool> pool, latency_histogram* record, back end) {
  // The first publish attaches, and counts for nothing; then the lane's one place is taken, and each publish completes when
  // the acknowledgement of the item before has come back.
  std::int64_t begin_ns = 0;
  for (auto number = first; number <= first + count; ++number) {
    if (end == back::watermark)
      begin_ns = now_ns();
    auto publishing = out.publish(pool->make(number));
    auto published = co_await publishing;
    if (!published) {
      std::fprintf(stderr, "publish: %s\n", published.error().to_string().c_str());
      std::exit(1);
    }
    if (end == back::watermark) {
      auto reaching = watermark.reaches(weir::position{1, number, {}, 0, true});
      auto reached = co_await reaching;
      if (!reached)
        std::exit(1);
    }
    const auto now = now_ns();
    if (number != first)
      record->record(now - begin_ns);
    begin_ns = now;
  }
}

weir::task<> answer(weir::self, weir::consumer<lane_item> in, std::uint64_t count) {
  std::uint64_t taken = 0;
  for (; taken < count; ++taken) {
    auto receiving = in.receive();
    auto received = co_await receiving;
    if (!received || !received.value().ack()) {
      std::fputs("receive or ack failed\n", stderr);
      std::exit(1);
    }
  }
}

/// publish → deliver → ack → the publisher knows, with nothing else under way.
class lane_exchange final : public exchange {
public:
  lane_exchange(const std::string& policy, back end) : end_{end}, pool_{std::make_shared<item_pool>(64)}, world_{policy} {
    weir::channel::options wanted;
    wanted.lanes.emplace_back("sink");
    wanted.bound.items = end == back::credit ? 1 : 1024;
    stream_.emplace(weir::channel::open(world_.system(), std::move(wanted)).value());
  }

  void run(std::uint64_t times, latency_histogram& record) override {
    auto lane = stream_->lane("sink").value();
    const auto answering = weir::spawn(world_.system(), answer, lane.consumer(), times + 1);
    const auto asking =
      weir::spawn(world_.system(), ask, lane.producer(), stream_->watermark(), next_, times, pool_, &record, end_);
    next_ += times + 1;
    if (!asking.wait() || !answering.wait())
      std::exit(1);
  }

private:
  back end_;
  std::shared_ptr<item_pool> pool_;
  world world_;
  std::optional<weir::stream> stream_;
  std::uint64_t next_ = 1;
};

void add_exchange(std::vector<bench_case>& cases, std::string name, back end) {
  cases.push_back({std::move(name), true, [end](const run_settings& settings) {
                     lane_exchange subject{settings.policy, end};
                     return measure(subject, settings);
                   }});
}

} // namespace

void add_lane_cases(std::vector<bench_case>& cases) {
  for (const auto bound : std::initializer_list<std::size_t>{1, 8, 64, 256, 1024, 8192})
    add_flow(cases, "lane.acked." + std::to_string(bound), {.bound = bound});
  add_flow(cases, "lane.acked.1024.single", {.way = taking::single});
  add_exchange(cases, "lane.roundtrip", back::credit);
  add_exchange(cases, "lane.roundtrip.watermark", back::watermark);
  for (const auto lanes : std::initializer_list<std::size_t>{1, 2, 4, 8, 16, 32, 64})
    add_flow(cases, "lanes." + std::to_string(lanes) + ".shared", {.lanes = lanes, .shares = true});
  for (const auto envelopes : std::initializer_list<std::size_t>{1, 4, 16, 64, 256, 1024, 4096})
    add_flow(cases, "lane.batch." + std::to_string(envelopes), {.bound = 64, .payload_bytes = 16, .envelopes = envelopes});
  for (const auto bytes : std::initializer_list<std::size_t>{16, 64, 256, 1024, 4096, 16384, 65536})
    add_flow(cases, "lane.payload." + std::to_string(bytes), {.payload_bytes = bytes});
}

} // namespace weir_bench
