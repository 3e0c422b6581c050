#include "feed_with_store.hpp"

#include <doctest/doctest.h>

using core_tests::feed_with_store;
using core_tests::offsets;
using core_tests::wide;
using weir::credit;
using weir::feed_machine;
using weir::shard_progress;
using next_is = feed_machine::next_is;
using read_was = feed_machine::read_was;
using settings = feed_machine::settings;

namespace {

constexpr std::uint64_t most = feed_machine::most_credit;

} // namespace

TEST_SUITE("feed machine: credit") {
  TEST_CASE("without credit nothing is read, and zero is a valid grant that changes nothing") {
    feed_with_store with;
    with.append(3);
    CHECK(with.feed.grant({0, 0}) == credit{0, 0});
    CHECK_FALSE(with.feed.next_read().has_value());
    CHECK(with.feed.next() == next_is::absent);
    CHECK(with.feed.granted() == credit{});
    CHECK(with.progress() == shard_progress{0, -1, -1, 0, 3, 0});
  }

  TEST_CASE("entries without bytes are no credit, nor bytes without entries") {
    feed_with_store with;
    with.append(1, 0);
    with.feed.grant({5, 0});
    CHECK(with.pull().empty());
    with.feed.revoke();
    with.feed.grant({0, 5});
    CHECK(with.pull().empty());
    with.feed.grant({1, 0});
    CHECK(with.pull() == offsets{0});
    CHECK(with.feed.available() == credit{0, 5}); // an entry may be empty
  }

  TEST_CASE("grants add up, and each delivery is charged its entry and its bytes") {
    feed_with_store with;
    with.append(5, 10);
    CHECK(with.feed.grant({1, 10}) == credit{1, 10});
    with.feed.grant({2, 25});
    CHECK(with.feed.available() == credit{3, 35});
    CHECK(with.pull() == offsets{0, 1, 2});
    CHECK(with.feed.charged() == credit{3, 30});
    CHECK(with.feed.available() == credit{0, 5});
    CHECK(with.feed.granted() == credit{3, 35});
    CHECK(with.is_conserved());
    with.feed.grant({5, 5});
    CHECK(with.pull() == offsets{3}); // 10 bytes were left
    CHECK(with.feed.available() == credit{4, 0});
  }

  TEST_CASE("what is available saturates at 2^63-1, and the answer says what was added") {
    feed_with_store with;
    CHECK(with.feed.grant({most - 3, 1}) == credit{most - 3, 1});
    CHECK(with.feed.grant({10, ~std::uint64_t{0}}) == credit{3, most - 1});
    CHECK(with.feed.available() == credit{most, most});
    CHECK(with.feed.grant(wide) == credit{0, 0});
    CHECK(with.is_conserved());
    with.append(2);
    CHECK(with.pull() == offsets{0, 1});
    CHECK(with.feed.grant(wide) == credit{2, 20});
    CHECK(with.feed.granted() == credit{most + 2, most + 20});
  }

  TEST_CASE("the totals never overflow, and credit can be granted again however much was revoked") {
    feed_with_store with;
    with.append(100, most);
    for (int round = 0; round < 5; ++round) {
      CHECK(with.feed.grant({most, most}) == credit{most, most});
      CHECK(with.is_conserved());
      CHECK(with.feed.revoke() == credit{most, most});
      CHECK(with.is_conserved());
    }
    for (std::uint64_t round = 1; round <= 3; ++round) { // that is more than 64 bits can count
      with.feed.grant({1, most});
      CHECK(with.pull().size() == (round <= 2 ? 1 : 0));
      CHECK(with.is_conserved());
      CHECK(with.feed.granted().bytes >= with.feed.charged().bytes);
    }
  }

  TEST_CASE("a read that brings less than there is credit for, nothing or a failure loses none") {
    feed_with_store with;
    with.append(3);
    with.feed.grant({10, 100});
    CHECK(with.pull() == offsets{0, 1, 2});
    CHECK(with.pull().empty());
    CHECK(with.feed.available() == credit{7, 70});
    with.append(1);
    const auto order = with.feed.next_read();
    with.feed.on_read_failed(*order);
    CHECK(with.feed.available() == credit{7, 70});
    with.append(3);
    CHECK(with.pull() == offsets{3, 4, 5, 6});
    CHECK(with.feed.available() == credit{3, 30});
    CHECK(with.is_conserved());
  }

  TEST_CASE("revoking takes all that is there back; what stands in line waits for more") {
    feed_with_store with;
    with.append(5);
    with.feed.grant({3, 100});
    CHECK(with.answer(*with.feed.next_read()) == read_was::taken);
    with.feed.deliver();
    CHECK(with.feed.revoke() == credit{2, 90});
    CHECK(with.feed.revoke() == credit{0, 0});
    CHECK(with.feed.revoked() == credit{2, 90});
    CHECK(with.is_conserved());
    CHECK(with.feed.next() == next_is::uncredited);
    CHECK(with.feed.next_bytes() == 10);
    CHECK_FALSE(with.feed.next_read().has_value());
    with.feed.grant({10, 100});
    CHECK(with.pull() == offsets{1, 2, 3, 4});
  }

  TEST_CASE("no read asks for more than the credit, nor for more than one may bring") {
    settings how;
    how.read = {4, 50};
    feed_with_store with{how};
    with.append(100);
    with.feed.grant({3, 20});
    auto order = with.feed.next_read();
    CHECK(order->limits.entries == 3);
    CHECK(order->limits.bytes == 20);
    with.feed.on_read_failed(*order);
    with.feed.grant({3, 40});
    order = with.feed.next_read();
    CHECK(order->limits.entries == 4);
    CHECK(order->limits.bytes == 50);

    how.read = {0, 0};
    feed_with_store least{how};
    least.feed.grant(wide);
    order = least.feed.next_read();
    CHECK(order->limits.entries == 1);
    CHECK(order->limits.bytes == 1);
  }
}

TEST_SUITE("feed machine: oversize") {
  TEST_CASE("an entry larger than the byte credit is named, not delivered, and waits for enough") {
    feed_with_store with;
    with.append(1, 10);
    with.append(1, 100);
    with.feed.grant({5, 60});
    CHECK(with.pull() == offsets{0});
    CHECK(with.feed.next() == next_is::oversize);
    CHECK(with.feed.next_bytes() == 100);
    CHECK(with.feed.available() == credit{4, 50});
    with.feed.grant({0, 50});
    CHECK(with.pull() == offsets{1});
    CHECK(with.is_conserved());
  }

  TEST_CASE("where it was opted in, it is delivered and takes all byte credit there is") {
    settings how;
    how.deliver_oversize = true;
    feed_with_store with{how};
    with.append(1, 100);
    with.append(1, 1);
    with.feed.grant({5, 60});
    CHECK(with.pull() == offsets{0});
    CHECK(with.feed.charged() == credit{1, 60});
    CHECK(with.feed.available() == credit{4, 0});
    CHECK(with.is_conserved());
    with.feed.grant({0, 1});
    CHECK(with.pull() == offsets{1});
  }

  TEST_CASE("without any byte credit it is not oversize") {
    feed_with_store with;
    with.append(1, 100);
    with.feed.grant({5, 60});
    CHECK(with.pull().empty());
    CHECK(with.feed.next() == next_is::oversize);
    with.feed.revoke();
    CHECK(with.feed.next() == next_is::uncredited);
  }

  TEST_CASE("with a window, what fits into it waits for credit, whether a larger one would be delivered or not") {
    for (const bool opted_in : {false, true}) {
      settings how;
      how.deliver_oversize = opted_in;
      how.window_bytes = 100;
      feed_with_store with{how};
      with.append(2, 60);
      with.feed.grant({5, 100});
      CHECK(with.pull() == offsets{0});
      CHECK(with.feed.next() == next_is::uncredited);
      with.feed.grant({0, 60});
      CHECK(with.pull() == offsets{1});
      CHECK(with.feed.available() == credit{3, 40});
    }
  }

  TEST_CASE("what is larger than the window is refused at once, or delivered when the whole window is there") {
    settings how;
    how.window_bytes = 100;
    feed_with_store refusing{how};
    refusing.append(1, 60);
    refusing.append(1, 101);
    refusing.feed.grant({5, 100});
    CHECK(refusing.pull() == offsets{0});
    CHECK(refusing.feed.next() == next_is::oversize);

    how.deliver_oversize = true;
    feed_with_store alone{how};
    alone.append(1, 60);
    alone.append(1, 101);
    alone.feed.grant({5, 100});
    CHECK(alone.pull() == offsets{0});
    CHECK(alone.feed.next() == next_is::uncredited); // the first one is still held
    alone.feed.grant({0, 60});
    CHECK(alone.pull() == offsets{1});
    CHECK(alone.feed.available() == credit{3, 0});
    CHECK(alone.feed.charged() == credit{2, 160});
  }
}
