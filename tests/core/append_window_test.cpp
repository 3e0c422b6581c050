#include <weir/append_window.hpp>

#include "seeds.hpp"

#include <doctest/doctest.h>

#include <deque>

using weir::append_bound;
using weir::append_window;

TEST_CASE("append window: takes what fits, and one that is larger alone") {
  append_window window{{.entries = 4, .bytes = 100}};
  CHECK(window.has_room({4, 100}));
  CHECK(window.take({2, 60}) == 0);
  CHECK(window.has_room({2, 40}));
  CHECK_FALSE(window.has_room({3, 1}));
  CHECK_FALSE(window.has_room({1, 41}));
  append_window empty{{.entries = 4, .bytes = 100}};
  CHECK(empty.has_room({4, 1000}));
  empty.take({4, 1000});
  CHECK_FALSE(empty.has_room({1, 0}));
}

TEST_CASE("append window: what waits goes together, up to the limits of a call, and one call at a time") {
  append_window window{{.entries = 100, .bytes = 1000}};
  for (int one = 0; one < 5; ++one)
    window.take({2, 30});
  CHECK(window.send({.entries = 6, .bytes = 1000}) == 3);
  CHECK(window.send({.entries = 6, .bytes = 1000}) == 0);
  CHECK(window.is_call_under_way());
  window.on_decided();
  window.on_decided();
  window.on_call_over(); // the third was not decided: it goes first
  CHECK(window.first() == 2);
  CHECK(window.send({.entries = 100, .bytes = 60}) == 2);
  window.on_decided();
  window.on_decided();
  window.on_call_over();
  CHECK(window.send({.entries = 1, .bytes = 1}) == 1); // larger than a call, and alone
  window.on_decided();
  window.on_call_over();
  CHECK(window.appends() == 0);
  CHECK(window.held() == weir::credit{});
  CHECK(window.send({.entries = 1, .bytes = 1}) == 0);
}

TEST_CASE("append window: abandoned, it is empty, and counts on") {
  append_window window{{.entries = 100, .bytes = 1000}};
  window.take({1, 1});
  window.take({1, 1});
  CHECK(window.send({.entries = 1, .bytes = 10}) == 1);
  window.on_call_over();
  CHECK(window.abandon() == 2);
  CHECK(window.take({1, 1}) == 2);
}

TEST_CASE("append window: against a list of sizes, whatever happens") {
  for (const auto seed : core_tests::seeds(200)) {
    core_tests::random_source random{seed};
    const append_bound bound{.entries = random.between(1, 20), .bytes = random.between(1, 200)};
    append_window window{bound};
    std::deque<weir::credit> held;
    std::uint64_t first = 0;
    std::size_t in_call = 0;
    for (int step = 0; step < 300; ++step) {
      const auto sum = [&](std::size_t count) {
        weir::credit all;
        for (std::size_t one = 0; one < count; ++one) {
          all.items += held[one].items;
          all.bytes += held[one].bytes;
        }
        return all;
      };
      REQUIRE(window.held() == sum(held.size()));
      REQUIRE(window.first() == first);
      const auto now = sum(held.size());
      REQUIRE((held.size() == 1 || (now.items <= bound.entries && now.bytes <= bound.bytes)));
      switch (random.below(4)) {
      case 0: {
        const weir::credit size{random.between(1, 8), random.below(100)};
        const bool fits = held.empty() || (now.items + size.items <= bound.entries && now.bytes + size.bytes <= bound.bytes);
        REQUIRE(window.has_room(size) == fits);
        if (fits) {
          REQUIRE(window.take(size) == first + held.size());
          held.push_back(size);
        }
        break;
      }
      case 1: {
        const append_bound most{.entries = random.between(1, 12), .bytes = random.between(1, 150)};
        const auto sent = window.send(most);
        REQUIRE((sent == 0) == (in_call != 0 || held.empty()));
        if (sent == 0)
          break;
        in_call = sent;
        REQUIRE((sent == 1 || (sum(sent).items <= most.entries && sum(sent).bytes <= most.bytes)));
        if (sent < held.size())
          REQUIRE((sum(sent + 1).items > most.entries || sum(sent + 1).bytes > most.bytes));
        break;
      }
      case 2:
        if (in_call > 0) {
          window.on_decided();
          held.pop_front();
          ++first;
          --in_call;
        }
        break;
      default:
        window.on_call_over();
        in_call = 0;
        if (random.chance(5)) {
          REQUIRE(window.abandon() == held.size());
          first += held.size();
          held.clear();
        }
      }
    }
  }
}
