#include "bus_place.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <thread>

using namespace bus_suite;
using weir::errc;

namespace {

std::string every_byte() {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte)
    bytes += static_cast<char>(byte);
  return bytes;
}

errc fault(const weir::result<void>& outcome) {
  REQUIRE_FALSE(outcome);
  return outcome.error().code();
}

} // namespace

TEST_CASE("bus: two buses hear each other, and each itself") {
  const auto place = make_place();
  auto one = place->open();
  auto other = place->open();
  auto at_one = subscribed(one, "t");
  auto at_other = subscribed(other, "t");
  REQUIRE(one.publish("t", "from one"));
  CHECK(heard(at_one, 1) == "from one");
  CHECK(heard(at_other, 1) == "from one");
  REQUIRE(other.publish("t", "from other"));
  CHECK(heard(at_one, 1) == "from other");
  CHECK(heard(at_other, 1) == "from other");
  CHECK(one.id() != other.id());
}

TEST_CASE("bus: own hints can be passed over") {
  const auto place = make_place();
  auto one = place->open();
  auto other = place->open();
  auto in = subscribed(one, "t", {.skip_own = true});
  auto all = subscribed(one, "t");
  REQUIRE(one.publish("t", "own"));
  CHECK(heard(all, 1) == "own");
  REQUIRE(other.publish("t", "other's"));
  CHECK(heard(in, 1) == "other's");
}

TEST_CASE("bus: a hint says who published it, which one it is, and when") {
  const auto place = make_place();
  auto bus = place->open();
  auto in = subscribed(bus, "t");
  const auto before = std::chrono::nanoseconds{std::chrono::system_clock::now().time_since_epoch()}.count();
  REQUIRE(bus.publish("other", "x"));
  REQUIRE(bus.publish("t", "a", "key"));
  REQUIRE(bus.publish("t", "b"));
  for (std::uint64_t number = 1; number <= 2; ++number) {
    const auto record = next(in);
    REQUIRE(record);
    const auto& one = std::get<weir::hint>(record.value());
    CHECK(one.topic() == "t");
    CHECK(one.key() == (number == 1 ? "key" : ""));
    CHECK(one.publisher() == bus.id());
    CHECK(one.at().number == number + 1);
    CHECK(one.at().on_topic == number);
    CHECK(one.at().published_at >= before);
  }
  const auto stats = bus.stats();
  CHECK(stats.published == 3);
  CHECK(stats.heard == 3);
  CHECK(stats.subscriptions == 1);
  std::uint64_t measured = 0;
  for (const auto count : stats.lag)
    measured += count;
  CHECK(measured == 3);
}

TEST_CASE("bus: topics are apart, also where one begins like another or looks like SQL") {
  const auto place = make_place();
  auto bus = place->open();
  std::string longest;
  while (longest.size() < 254)
    longest += "\xC3\xA4";
  longest += "\xC3\xA4";
  REQUIRE(longest.size() == 256);
  const std::vector<std::string> topics{"a", "a/b", "a/b/c", "A", " ", "'", "\"", "\\", "a\nb", "%", "$1", "{a,b}", "NULL",
    longest, longest.substr(0, 254), "\xF0\x9F\x8C\x8A", std::string(256, 'x')};
  std::vector<weir::subscription> all;
  for (const auto& topic : topics)
    all.push_back(subscribed(bus, topic));
  for (std::size_t index = 0; index < topics.size(); ++index)
    REQUIRE(bus.publish(topics[index], std::to_string(index)));
  for (std::size_t index = 0; index < topics.size(); ++index)
    CHECK(heard(all[index], 1) == std::to_string(index));
}

TEST_CASE("bus: any bytes, up to the limit, and none beyond it") {
  const auto place = make_place();
  auto bus = place->open();
  const std::string topic(weir::max_bus_topic, 't');
  auto in = subscribed(bus, topic);
  const auto largest = std::string(weir::max_hint_bytes - 256, '\xFF') + every_byte();
  for (const auto& payload : {std::string{}, every_byte(), std::string{"\0", 1}, largest}) {
    REQUIRE(bus.publish(topic, payload));
    const auto record = next(in);
    REQUIRE(record);
    CHECK(std::get<weir::hint>(record.value()).payload() == payload);
  }
  REQUIRE(bus.publish(topic, "", largest)); // a key counts as much
  const auto record = next(in);
  REQUIRE(record);
  CHECK(std::get<weir::hint>(record.value()).key() == largest);
  CHECK(fault(bus.publish(topic, largest + "x")) == errc::too_large);
  CHECK(fault(bus.publish(topic, largest, "x")) == errc::too_large);
  for (const auto& bad : {std::string{}, topic + "t", std::string{"a\0b", 3}, std::string{"\xC3"}}) {
    CHECK(fault(bus.publish(bad, "x")) == errc::bad_topic);
    const auto refused = bus.subscribe(bad);
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == errc::bad_topic);
  }
  CHECK(bus.stats().refused == 6);
  REQUIRE(bus.publish(topic, "after"));
  CHECK(heard(in, 1) == "after");
}

TEST_CASE("bus: equal hints are as many as were published, and a buffer may be used again at once") {
  const auto place = make_place();
  auto bus = place->open();
  auto in = subscribed(bus, "t");
  std::string buffer = "same";
  for (int one = 0; one < 20; ++one)
    REQUIRE(bus.publish("t", buffer));
  for (int one = 0; one < 20; ++one) {
    buffer = std::to_string(one);
    REQUIRE(bus.publish("t", buffer));
    buffer.assign(8, '!');
  }
  std::string wanted;
  for (int one = 0; one < 20; ++one)
    wanted += "same ";
  CHECK(heard(in, 40) == wanted + numbers(0, 19));
}

TEST_CASE("bus: nothing that was published before the subscription is heard") {
  const auto place = make_place();
  auto bus = place->open();
  auto ever = subscribed(bus, "t");
  REQUIRE(bus.publish("t", "before"));
  CHECK(heard(ever, 1) == "before");
  auto in = subscribed(bus, "t");
  REQUIRE(bus.publish("t", "after"));
  CHECK(heard(in, 1) == "after");
}

TEST_CASE("bus: eight publish at once: each one's hints in order, each once") {
  constexpr std::uint64_t each = 200;
  const auto place = make_place();
  auto listening = place->open();
  auto in = subscribed(listening, "t", {.buffer = 8 * each});
  std::vector<weir::bus> buses;
  for (int one = 0; one < 8; ++one)
    buses.push_back(place->open());
  std::vector<std::jthread> publishers;
  for (auto& bus : buses)
    publishers.emplace_back([&bus] {
      for (std::uint64_t number = 1; number <= each; ++number)
        while (!bus.publish("t", std::to_string(number)))
          std::this_thread::yield();
    });
  std::map<weir::bus_id, std::uint64_t> last;
  for (std::uint64_t one = 0; one < 8 * each; ++one) {
    const auto record = next(in);
    REQUIRE(record);
    const auto* hint = std::get_if<weir::hint>(&record.value());
    REQUIRE(hint != nullptr);
    auto& before = last[hint->publisher()];
    CHECK(hint->payload() == std::to_string(before + 1));
    CHECK(hint->at().on_topic == before + 1);
    ++before;
  }
  CHECK(last.size() == 8);
}

TEST_CASE("bus: one that nobody reads costs itself alone, and all is accounted for") {
  for (const auto policy : {weir::drop_policy::drop_newest, weir::drop_policy::drop_oldest, weir::drop_policy::conflate}) {
    CAPTURE(name_of(policy));
    const auto place = make_place();
    auto bus = place->open();
    auto stuck = subscribed(bus, "t", {.buffer = 3, .policy = policy});
    auto live = subscribed(bus, "t", {.buffer = 100});
    for (int number = 1; number <= 50; ++number)
      REQUIRE(bus.publish("t", std::to_string(number)));
    CHECK(heard(live, 50) == numbers(1, 50));
    // What the live one has, the other one has been offered, but perhaps the last.
    REQUIRE(bus.publish("t", "51"));
    CHECK(heard(live, 1) == "51");
    const auto stats = stuck.stats();
    CHECK(stats.buffered == (policy == weir::drop_policy::conflate ? 1 : 3));
    switch (policy) {
    case weir::drop_policy::drop_newest: CHECK(heard_before(stuck, "-48(buffer_full)") == "1 2 3"); break;
    case weir::drop_policy::drop_oldest: CHECK(heard(stuck, 3) == "-48(buffer_full) 49 50 51"); break;
    default: CHECK(heard(stuck, 1) == "-50(conflated) 51"); break;
    }
    CHECK(stuck.stats().received + stuck.stats().lost == 51);
  }
}

TEST_CASE("bus: ten thousand topics, and nothing is left of them") {
  constexpr int topics = 10'000;
  const auto place = make_place();
  auto bus = place->open();
  {
    std::vector<weir::subscription> all;
    for (int topic = 0; topic < topics; ++topic)
      all.push_back(subscribed(bus, "topic " + std::to_string(topic), {.buffer = 1}));
    CHECK(bus.stats().subscriptions == topics);
    for (int topic = 0; topic < topics; ++topic)
      while (!bus.publish("topic " + std::to_string(topic), std::to_string(topic)))
        std::this_thread::yield();
    for (int topic = 0; topic < topics; ++topic)
      REQUIRE(heard(all[static_cast<std::size_t>(topic)], 1) == std::to_string(topic));
  }
  CHECK(bus.stats().subscriptions == 0);
}

TEST_CASE("bus: a thousand subscriptions to one topic share what they hear") {
  const auto place = make_place();
  auto bus = place->open();
  std::vector<weir::subscription> all;
  for (int one = 0; one < 1'000; ++one)
    all.push_back(subscribed(bus, "t"));
  REQUIRE(bus.publish("t", "x"));
  std::set<const std::string*> payloads;
  for (auto& one : all) {
    const auto record = next(one);
    REQUIRE(record);
    payloads.insert(&std::get<weir::hint>(record.value()).payload());
  }
  CHECK(payloads.size() == 1);
}
