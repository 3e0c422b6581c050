#include "conformance/stream/ends.hpp"

#include <algorithm>
#include <cstdio>

namespace stream_suite {

bool no_lane_fills_up() {
  const auto tested = new_implementation();
  if (tested->holds_up_publishers())
    return false;
  const std::string name = doctest::getContextOptions()->currentTest->m_name;
  std::printf("SKIP %s: %s: no publisher waits for a lane\n", tested->name(), name.c_str());
  return true;
}

using weir::lane_item;
using weir::result;
using weir::self;
using weir::task;

// publisher -------------------------------------------------------------------------------------------------------------------

struct publisher::belongings {
  std::vector<weir::producer<lane_item>> to;

  static task<outcome> publish(self, belongings* mine, lane_item item, weir::deadline until, std::size_t which) {
    auto op = mine->to.at(which).publish_until(std::move(item), until);
    co_return co_await op;
  }
  static task<outcome> try_publish(self, belongings* mine, lane_item item) {
    auto tried = mine->to.front().try_publish(item);
    co_return std::move(tried);
  }
  static task<std::vector<outcome>> publish_all(self, belongings* mine, lane_item item) {
    std::vector<weir::producer<lane_item>*> all;
    for (auto& one : mine->to)
      all.push_back(&one);
    auto op = weir::publish_all(std::move(all), std::move(item));
    co_return co_await op;
  }
  static task<result<std::uint64_t>> attach(self, belongings* mine, std::size_t which) {
    auto op = mine->to.at(which).attach();
    co_return co_await op;
  }
  static task<bool> drop_ends(self, belongings* mine) {
    const bool there = !mine->to.empty();
    mine->to.clear();
    co_return there;
  }
};

publisher::publisher(simulation& world, const weir::stream& over, std::vector<weir::lane_id> lanes)
  : publisher{world, [&] {
                auto mine = std::make_shared<belongings>();
                for (const auto& lane : lanes)
                  mine->to.push_back(over.lane(lane).value().producer());
                return mine;
              }()} {}

publisher::publisher(simulation& world, std::shared_ptr<belongings> mine)
  : mine_{mine.get()},
    script_{world, "publisher", std::exchange(mine, nullptr)} {}

pending<outcome> publisher::begin_publish(lane_item item, std::size_t which) {
  return begin_publish_until(std::move(item), weir::deadline::never(), which);
}

pending<outcome> publisher::begin_publish_until(lane_item item, weir::deadline until, std::size_t which) {
  return script_.begin(&belongings::publish, mine_, std::move(item), until, which);
}

pending<std::vector<outcome>> publisher::begin_publish_all(lane_item item) {
  return script_.begin(&belongings::publish_all, mine_, std::move(item));
}

pending<result<std::uint64_t>> publisher::begin_attach(std::size_t which) {
  return script_.begin(&belongings::attach, mine_, which);
}

outcome publisher::publish(lane_item item) {
  return script_.complete(begin_publish(std::move(item)));
}

outcome publisher::try_publish(lane_item item) {
  return script_.complete(script_.begin(&belongings::try_publish, mine_, std::move(item)));
}

std::vector<outcome> publisher::publish_all(lane_item item) {
  return script_.complete(begin_publish_all(std::move(item)));
}

result<std::uint64_t> publisher::attach() {
  return script_.complete(begin_attach());
}

void publisher::drop_ends() {
  (void)script_.complete(script_.begin(&belongings::drop_ends, mine_));
}

// subscriber ------------------------------------------------------------------------------------------------------------------

struct subscriber::belongings {
  std::optional<weir::consumer<lane_item>> in;
  std::map<std::size_t, weir::delivery<lane_item>> held; // goes before the end
  std::size_t next_handle = 1;

  arrival keep(weir::delivery<lane_item> lease) {
    arrival seen{next_handle++, lease.sequence(), lease.attempt(), lease.item()};
    if (auto* carried = std::get_if<weir::batch>(&seen.item))
      carried->envelopes.reset(); // a test that looks on holds no charge
    held.emplace(seen.handle, std::move(lease));
    return seen;
  }

  static task<result<arrival>> receive(self, belongings* mine, weir::deadline until) {
    auto op = mine->in->receive(until);
    auto received = co_await op;
    if (!received)
      co_return std::move(received).error();
    co_return mine->keep(std::move(received).value());
  }
  static task<arrivals> receive_some(self, belongings* mine, std::size_t max_items, std::size_t max_bytes) {
    auto op = mine->in->receive_some(max_items, max_bytes);
    auto received = co_await std::move(op);
    if (!received)
      co_return std::move(received).error();
    std::vector<arrival> seen;
    for (auto& one : received.value())
      seen.push_back(mine->keep(std::move(one)));
    co_return std::move(seen);
  }
  static task<result<arrival>> try_receive(self, belongings* mine) {
    auto received = mine->in->try_receive();
    if (!received)
      co_return std::move(received).error();
    co_return mine->keep(std::move(received).value());
  }
  static task<result<std::uint64_t>> attach(self, belongings* mine) {
    auto op = mine->in->attach();
    co_return co_await op;
  }
  static task<outcome> ack(self, belongings* mine, std::size_t handle) {
    auto done = mine->held.at(handle).ack();
    co_return std::move(done);
  }
  static task<outcome> nack(self, belongings* mine, std::size_t handle, std::chrono::milliseconds after) {
    auto done = mine->held.at(handle).nack(after);
    co_return std::move(done);
  }
  static task<outcome> ack_through(self, belongings* mine, std::size_t handle) {
    auto done = mine->in->ack_through(mine->held.at(handle));
    co_return std::move(done);
  }
  static task<bool> drop(self, belongings* mine, std::size_t handle) {
    const bool there = mine->held.erase(handle) == 1;
    co_return there;
  }
  static task<bool> is_empty(self, belongings* mine) {
    const bool empty = mine->in->empty();
    co_return empty;
  }
  static task<bool> drop_end(self, belongings* mine) {
    const bool there = mine->in.has_value();
    mine->in.reset();
    co_return there;
  }
};

subscriber::subscriber(simulation& world, const weir::stream& over, const weir::lane_id& lane, weir::window granted)
  : subscriber{world, over.lane(lane).value().consumer(granted)} {}

subscriber::subscriber(simulation& world, weir::consumer<lane_item> end)
  : subscriber{world, [&] {
                 auto mine = std::make_shared<belongings>();
                 mine->in.emplace(std::move(end));
                 return mine;
               }()} {}

subscriber::subscriber(simulation& world, std::shared_ptr<belongings> mine)
  : mine_{mine.get()},
    script_{world, "subscriber", std::exchange(mine, nullptr)} {}

pending<result<arrival>> subscriber::begin_receive(weir::deadline until) {
  return script_.begin(&belongings::receive, mine_, until);
}

pending<result<std::uint64_t>> subscriber::begin_attach() {
  return script_.begin(&belongings::attach, mine_);
}

pending<outcome> subscriber::begin_ack(std::size_t handle) {
  return script_.begin(&belongings::ack, mine_, handle);
}

pending<outcome> subscriber::begin_ack_through(std::size_t handle) {
  return script_.begin(&belongings::ack_through, mine_, handle);
}

pending<outcome> subscriber::begin_nack(std::size_t handle, std::chrono::milliseconds after) {
  return script_.begin(&belongings::nack, mine_, handle, after);
}

pending<bool> subscriber::begin_drop(std::size_t handle) {
  return script_.begin(&belongings::drop, mine_, handle);
}

result<arrival> subscriber::receive() {
  return script_.complete(begin_receive());
}

arrivals subscriber::receive_some(std::size_t max_items, std::size_t max_bytes) {
  return script_.complete(script_.begin(&belongings::receive_some, mine_, max_items, max_bytes));
}

result<arrival> subscriber::try_receive() {
  return script_.complete(script_.begin(&belongings::try_receive, mine_));
}

result<std::uint64_t> subscriber::attach() {
  return script_.complete(begin_attach());
}

outcome subscriber::ack(std::size_t handle) {
  return script_.complete(begin_ack(handle));
}

outcome subscriber::nack(std::size_t handle, std::chrono::milliseconds after) {
  return script_.complete(begin_nack(handle, after));
}

outcome subscriber::ack_through(std::size_t handle) {
  return script_.complete(begin_ack_through(handle));
}

void subscriber::drop(std::size_t handle) {
  CHECK(script_.complete(begin_drop(handle)));
}

bool subscriber::is_empty() {
  return script_.complete(script_.begin(&belongings::is_empty, mine_));
}

std::vector<arrival> subscriber::receive_all() {
  std::vector<arrival> all;
  for (;;) {
    auto next = begin_receive();
    script_.world().settle();
    if (!next.is_done()) {
      next.request_stop();
      script_.world().settle();
      REQUIRE(next.is_done());
      if (!next.value())
        return all;
    }
    if (!next.value())
      return all;
    all.push_back(next.value().value());
  }
}

std::vector<std::uint64_t> subscriber::take(std::size_t count) {
  std::vector<std::uint64_t> taken;
  for (std::size_t number = 0; number < count; ++number) {
    const auto next = receive();
    REQUIRE(next.has_value());
    taken.push_back(next.value().seq());
    REQUIRE(ack(next.value().handle).has_value());
  }
  return taken;
}

void subscriber::drop_end() {
  (void)script_.complete(script_.begin(&belongings::drop_end, mine_));
}

// the stream ------------------------------------------------------------------------------------------------------------------

weir::watermark_reading read_watermark(simulation& world, const weir::stream& over) {
  script reader{world, "reader"};
  auto reading = reader.perform(
    [](self, weir::stream from) -> task<result<weir::watermark_reading>> {
      auto op = from.watermark().read();
      co_return co_await op;
    },
    over);
  REQUIRE(reading.is_done());
  REQUIRE(reading.value().has_value());
  return reading.value().value();
}

weir::lane_figures figures_of(const weir::stream& over, const weir::lane_id& lane) {
  const auto all = over.figures().lanes;
  const auto found = std::ranges::find(all, lane, &weir::lane_figures::id);
  REQUIRE(found != all.end());
  return *found;
}

} // namespace stream_suite
