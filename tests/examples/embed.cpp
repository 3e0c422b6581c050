#include <weir/channel.hpp>
#include <weir/configure.hpp>
#include <weir/spawn.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <iostream>

using lane_producer = weir::producer<weir::lane_item>;
using lane_consumer = weir::consumer<weir::lane_item>;

weir::task<> ingest(weir::self me, lane_producer search, lane_producer audit, weir::stream stream) {
  for (std::uint64_t seq = 1; seq <= 1000; ++seq) {
    weir::batch live{.at = weir::position{.epoch = 1, .seq = seq}, .changes = 1};
    live.envelopes = weir::make_block({{.collection = "users", .key = std::to_string(seq), .payload = "{}"}});
    auto offering = weir::publish_all({&search, &audit}, std::move(live)); // one block, two lanes, no copy
    auto outcomes = co_await offering;
    if (!outcomes[0] || !outcomes[1])
      co_return me.fail(weir::error{weir::errc::source_failed, "a lane refused a batch"});
  }
  auto reaching = stream.watermark().reaches(weir::position{.epoch = 1, .seq = 1000});
  auto reached = co_await reaching;
  std::cout << "every sink has everything up to " << to_string(*reached.value().watermark) << '\n';
  stream.close(weir::close_mode::drain);
}

weir::task<> sink(weir::self, lane_consumer in) {
  for (;;) {
    auto receiving = in.receive();
    auto delivery = co_await receiving;
    if (!delivery)
      co_return;                  // the lane is closed, and everything was delivered
    (void)delivery.value().ack(); // once its item() is written somewhere: moves the lane's floor, and so the watermark
  }
}

int main() {
  caf::actor_system_config config;
  weir::configure(config);
  caf::actor_system system{config};
  auto stream = weir::channel::open(system, {.lanes = {"search", "audit"}, .bound = {.items = 64}}).value();
  weir::spawn(system, sink, stream.lane("search").value().consumer());
  weir::spawn(system, sink, stream.lane("audit").value().consumer());
  weir::spawn(system, ingest, stream.lane("search").value().producer(), stream.lane("audit").value().producer(), stream);
} // waits for all three
