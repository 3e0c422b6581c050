#include "lane_flow.hpp"

#include <weir/channel.hpp>
#include <weir/spawn.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace weir_bench {

using weir::lane_item;

/// What a run's coroutines share.
struct lane_flow::shared {
  explicit shared(const lane_shape& shape) : pool{shape.payload_bytes, shape.envelopes} {}

  item_pool pool;
  std::atomic<std::uint64_t> bytes_moved{0};
};

namespace {

constexpr std::size_t most_taken = 512;
constexpr std::size_t most_bytes_taken = 64u << 20;

[[noreturn]] void give_up(const char* where, const weir::error& failure) {
  std::fprintf(stderr, "%s: %s\n", where, failure.to_string().c_str());
  std::exit(1);
}

/// When the items of one run are due: one every interval, or all at once.
struct schedule {
  std::uint64_t first = 1;
  std::uint64_t count = 0;
  std::int64_t begin_ns = 0;
  std::int64_t interval_ns = 0;

  std::int64_t due(std::uint64_t number) const noexcept {
    return interval_ns == 0 ? 0 : begin_ns + static_cast<std::int64_t>(number - first) * interval_ns;
  }
};

using shared_state = std::shared_ptr<lane_flow::shared>;

weir::task<> produce(weir::self me, weir::producer<lane_item> out, schedule when, shared_state shared) {
  const auto end = when.first + when.count;
  for (auto number = when.first; number < end; ++number) {
    const auto due = when.due(number);
    while (due != 0 && now_ns() < due) {
      auto others = me.yield();
      co_await others;
    }
    auto publishing = out.publish(shared->pool.make(number, due));
    auto published = co_await publishing;
    if (!published)
      give_up("publish", published.error());
  }
}

weir::task<> produce_to_all(weir::self me, std::vector<weir::producer<lane_item>> out, schedule when, shared_state shared) {
  std::vector<weir::producer<lane_item>*> all;
  for (auto& one : out)
    all.push_back(&one);
  const auto end = when.first + when.count;
  for (auto number = when.first; number < end; ++number) {
    const auto due = when.due(number);
    while (due != 0 && now_ns() < due) {
      auto others = me.yield();
      co_await others;
    }
    auto publishing = weir::publish_all(all, shared->pool.make(number, due));
    auto published = co_await publishing;
    for (const auto& one : published)
      if (!one)
        give_up("publish_all", one.error());
  }
}

/// The record is of one sink alone, which outlives the run.
void note(const lane_item& item, const shared_state& shared, latency_histogram* record, std::int64_t done_ns) {
  const auto& delivered = std::get<weir::batch>(item);
  if (const auto moved = shared->pool.bytes_moved(delivered); moved != 0)
    shared->bytes_moved.fetch_add(moved, std::memory_order_relaxed);
  if (record != nullptr)
    record->record(done_ns - delivered.at->time);
}

weir::task<> consume_some(
  weir::self, weir::consumer<lane_item> in, std::uint64_t count, shared_state shared, latency_histogram* record) {
  std::uint64_t taken = 0;
  while (taken < count) {
    auto receiving = in.receive_some(most_taken, most_bytes_taken);
    auto received = co_await std::move(receiving);
    if (!received)
      give_up("receive_some", received.error());
    auto& deliveries = received.value();
    taken += deliveries.size();
    if (auto acknowledged = in.ack_through(deliveries.back()); !acknowledged)
      give_up("ack_through", acknowledged.error());
    const auto done_ns = record != nullptr ? now_ns() : 0;
    for (const auto& one : deliveries)
      note(one.item(), shared, record, done_ns);
  }
}

weir::task<> consume_single(
  weir::self, weir::consumer<lane_item> in, std::uint64_t count, shared_state shared, latency_histogram* record) {
  std::uint64_t taken = 0;
  for (; taken < count; ++taken) {
    auto receiving = in.receive();
    auto received = co_await receiving;
    if (!received)
      give_up("receive", received.error());
    auto& delivery = received.value();
    if (auto acknowledged = delivery.ack(); !acknowledged)
      give_up("ack", acknowledged.error());
    note(delivery.item(), shared, record, record != nullptr ? now_ns() : 0);
  }
}

weir::task<int> wait_for(weir::self, weir::watermark_view watermark, weir::position last) {
  auto reaching = watermark.reaches(last);
  auto reached = co_await reaching;
  if (!reached)
    give_up("reaches", reached.error());
  co_return 0;
}

std::string lane_name(std::size_t index) {
  return "sink-" + std::to_string(index);
}

} // namespace

weir::result<weir::stream> lane_flow::open_channel(
  caf::actor_system& system, std::vector<weir::lane_id> lanes, const lane_shape& shape) {
  weir::channel::options wanted;
  wanted.lanes = std::move(lanes);
  wanted.bound.items = shape.bound;
  wanted.bound.bytes = std::uint64_t{1} << 36; // the bound in items is what is measured
  wanted.budget = std::uint64_t{1} << 36;
  return weir::channel::open(system, std::move(wanted));
}

lane_flow::lane_flow(const std::string& policy, lane_shape shape, const opener& open)
  : shape_{shape},
    world_{policy},
    shared_{std::make_shared<shared>(shape)} {
  std::vector<weir::lane_id> lanes;
  for (std::size_t index = 0; index < shape_.lanes; ++index)
    lanes.emplace_back(lane_name(index));
  auto opened = open(world_.system(), std::move(lanes), shape_);
  if (!opened)
    give_up("open", opened.error());
  stream_.emplace(std::move(opened).value());
}

lane_flow::~lane_flow() = default;

std::uint64_t lane_flow::payload_bytes_moved() const {
  return shared_->bytes_moved.load(std::memory_order_relaxed);
}

void lane_flow::saturate(std::uint64_t items) {
  run(items, 0, nullptr);
}

void lane_flow::pace(std::uint64_t items, std::int64_t interval_ns, latency_histogram& record) {
  run(items, interval_ns, &record);
}

void lane_flow::run(std::uint64_t items, std::int64_t interval_ns, latency_histogram* record) {
  auto& system = world_.system();
  const auto consume = shape_.way == taking::some ? consume_some : consume_single;
  std::vector<weir::spawned> actors;
  std::vector<weir::producer<lane_item>> producers;
  for (std::size_t index = 0; index < shape_.lanes; ++index) {
    auto lane = stream_->lane(lane_name(index)).value();
    actors.push_back(weir::spawn(system, consume, lane.consumer(), items, shared_, index == 0 ? record : nullptr));
    producers.push_back(lane.producer());
  }
  const schedule when{next_, items, now_ns(), interval_ns};
  next_ += items;
  if (!shape_.shares)
    actors.push_back(weir::spawn(system, produce, std::move(producers.front()), when, shared_));
  else
    actors.push_back(weir::spawn(system, produce_to_all, std::move(producers), when, shared_));
  const weir::position last{1, next_ - 1, {}, 0, true};
  if (auto reached = weir::sync_wait(system, wait_for, stream_->watermark(), last); !reached)
    give_up("sync_wait", reached.error());
  for (const auto& one : actors)
    if (auto ended = one.wait(); !ended)
      give_up("actor", ended.error());
}

} // namespace weir_bench
