// An application outside of Weir's tree: opens a stream with two lanes in its own actor system, publishes three changes, and
// says what the consumers got.
#include <weir/channel.hpp>
#include <weir/configure.hpp>
#include <weir/spawn.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <cstdint>
#include <cstdio>
#include <string>

namespace {

weir::batch change(std::uint64_t number) {
  weir::batch live;
  live.at = weir::position{.epoch = 1, .seq = number};
  live.changes = 1;
  live.envelopes = weir::make_block({{.collection = "files", .key = "key " + std::to_string(number), .payload = "{}"}});
  return live;
}

weir::task<weir::result<std::uint64_t>> publish(
  weir::self, weir::stream stream, weir::producer<weir::lane_item> left, weir::producer<weir::lane_item> right) {
  std::uint64_t published = 0;
  while (published < 3) {
    auto to_left = left.publish(change(published + 1));
    auto left_has_it = co_await to_left;
    if (!left_has_it)
      co_return std::move(left_has_it).error();
    auto to_right = right.publish(change(published + 1));
    auto right_has_it = co_await to_right;
    if (!right_has_it)
      co_return std::move(right_has_it).error();
    ++published;
  }
  auto reached = stream.watermark().reaches(weir::position{.epoch = 1, .seq = published});
  auto acknowledged = co_await reached;
  stream.close(weir::close_mode::drain);
  if (!acknowledged)
    co_return std::move(acknowledged).error();
  co_return published;
}

weir::task<> consume(weir::self, weir::consumer<weir::lane_item> in) {
  std::uint64_t got = 0;
  for (;;) {
    auto next = in.receive();
    auto delivery = co_await next;
    if (!delivery)
      break;
    ++got;
    (void)delivery.value().ack();
  }
  std::printf("%s: %llu delivered\n", to_string(in.lane()).c_str(), static_cast<unsigned long long>(got));
}

} // namespace

int main() {
  caf::actor_system_config config;
  weir::configure(config);
  caf::actor_system system{config};
  auto opened = weir::channel::open(system, {.lanes = {"search", "audit"}});
  if (!opened) {
    std::printf("%s\n", opened.error().to_string().c_str());
    return 1;
  }
  auto stream = opened.value();
  auto search = stream.lane("search").value();
  auto audit = stream.lane("audit").value();
  auto first = weir::spawn(system, consume, search.consumer());
  auto second = weir::spawn(system, consume, audit.consumer());
  auto published = weir::sync_wait(system, publish, stream, search.producer(), audit.producer());
  if (!published) {
    std::printf("publishing failed\n");
    return 1;
  }
  auto both_ended = first.wait().has_value() && second.wait().has_value();
  std::printf("%llu published and acknowledged by both\n", static_cast<unsigned long long>(published.value()));
  return both_ended ? 0 : 1;
}
