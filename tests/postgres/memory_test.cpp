#include "bus_faults.hpp"

#include <caf/actor_registry.hpp>
#include <doctest/doctest.h>

#include <cstdio>
#include <malloc.h>
#include <vector>

using namespace bus_suite;
using postgres_tests::account;
using postgres_tests::actors;
using postgres_tests::end_listeners;
using postgres_tests::server;
using postgres_tests::wait_until;
using postgres_tests::wait_until_heard;

namespace {

/// Why it can't be seen here whether memory is left behind; null where it can.
const char* what_hides_memory() {
#if defined(__SANITIZE_ADDRESS__)
  return "the address sanitizer has a heap of its own, and finds leaks itself";
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
  return "the address sanitizer has a heap of its own, and finds leaks itself";
#endif
#endif
  return nullptr;
}

bool is_skipped(const char* test) {
  const auto* const why = what_hides_memory();
  if (why != nullptr)
    std::printf("SKIP %s: %s\n", test, why);
  return why != nullptr;
}

/// Bytes in use once the topics' actors have ended.
std::size_t heap_in_use(actors& in, std::size_t actors_at_first) {
  wait_until([&] { return in.system().registry().running() == actors_at_first; });
  const auto now = ::mallinfo2();
  return now.uordblks + now.hblkhd;
}

/// How much more is in use after many rounds. The first ones do not count: threads and libraries keep memory for later, and
/// less and less of it with each round.
template <class Use>
std::ptrdiff_t growth(actors& in, int not_counted, int rounds, const Use& use) {
  const auto actors_at_first = in.system().registry().running();
  for (int round = 0; round < not_counted; ++round)
    use();
  const auto before = heap_in_use(in, actors_at_first);
  for (int round = 0; round < rounds; ++round)
    use();
  return static_cast<std::ptrdiff_t>(heap_in_use(in, actors_at_first)) - static_cast<std::ptrdiff_t>(before);
}

} // namespace

TEST_CASE("postgres bus: ten thousand topics leave no memory behind, also not when the link was lost") {
  if (is_skipped("ten thousand topics leave no memory behind"))
    return;
  constexpr std::size_t topics = 10'000;
  constexpr int rounds = 4;
  actors in;
  const auto use = [&] {
    auto how = in.options(server().url());
    how.outgoing = 2 * topics;
    how.beacon = 1h; // the link is lost once, and no more
    auto bus = in.open_with(how);
    std::vector<weir::subscription> all;
    for (std::size_t topic = 0; topic < topics; ++topic)
      all.push_back(subscribed(bus, std::to_string(topic), {.buffer = 4}));
    const auto publish = [&](const std::string& payload) {
      for (std::size_t topic = 0; topic < topics; ++topic)
        REQUIRE(bus.publish(std::to_string(topic), payload));
    };
    publish("first");
    CHECK(heard(all.back(), 1) == "first");
    const auto before = bus.stats().reconnects;
    CHECK(server().sql(end_listeners(in.channel)) == "1");
    publish("perhaps not heard");
    wait_until([&] { return bus.stats().reconnects > before; });
    std::uint64_t sent = 0;
    account told;
    wait_until_heard(bus, all.front(), "0", sent, told);
  };
  CHECK(growth(in, 3, rounds, use) < static_cast<std::ptrdiff_t>(topics) * rounds); // less than a byte for each topic
}

TEST_CASE("postgres bus: buses that are opened, used and closed leave no memory behind") {
  if (is_skipped("buses that are opened, used and closed leave no memory behind"))
    return;
  constexpr int rounds = 120;
  actors in;
  const auto use = [&] {
    auto bus = in.open();
    auto other = in.open();
    auto full = subscribed(other, "t", {.buffer = 1, .policy = weir::drop_policy::last_by_key});
    auto last = subscribed(other, "t");
    for (int one = 0; one < 20; ++one)
      REQUIRE(bus.publish("t", "x", std::to_string(one % 3)));
    REQUIRE(in.commit(bus, "t", "last"));
    CHECK(heard_before(last, "last").size() == 20 * 2 - 1);
  };
  CHECK(growth(in, 60, rounds, use) < rounds * 256); // less than the smallest thing that a bus consists of
}
