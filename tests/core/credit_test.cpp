#include <weir/credit.hpp>

#include <doctest/doctest.h>

#include <optional>

using weir::credit;
using weir::receiving_credit;
using weir::sending_credit;

TEST_SUITE("credit") {
  TEST_CASE("what is granted may be sent, and no more") {
    sending_credit sender{{2, 100}, {2, 100}};
    CHECK(sender.available_items() == 2);
    CHECK(sender.may_send(40));
    sender.spend(40);
    CHECK(sender.may_send(60));
    CHECK_FALSE(sender.may_send(61));
    sender.spend(10);
    CHECK_FALSE(sender.may_send(1)); // no item left
    CHECK_FALSE(sender.may_send(0));
    CHECK(sender.spent() == credit{2, 50});
  }

  TEST_CASE("without a grant nothing may be sent") {
    const sending_credit sender;
    CHECK_FALSE(sender.may_send(0));
    CHECK_FALSE(sender.may_send(1));
  }

  TEST_CASE("grants that come twice, late or after a newer one change nothing") {
    sending_credit sender{{2, 100}, {2, 100}};
    sender.on_grant({5, 300});
    sender.on_grant({5, 300});
    sender.on_grant({3, 200});
    CHECK(sender.granted() == credit{5, 300});
  }

  TEST_CASE("an item larger than the whole window goes alone") {
    sending_credit sender{{4, 100}, {4, 100}};
    receiving_credit receiver{{4, 100}};
    CHECK(sender.may_send(1000));
    sender.spend(10);
    CHECK(receiver.on_received(1, 10));
    CHECK_FALSE(sender.may_send(1000));

    // It asks, and is answered once the receiver holds nothing.
    receiver.on_probe(sender.wanted_for(1000));
    CHECK_FALSE(receiver.take_grant().has_value());
    receiver.on_done(1, 10);
    const auto up_to = receiver.take_grant();
    REQUIRE(up_to.has_value());
    sender.on_grant(*up_to);
    CHECK(sender.may_send(1000));
    sender.spend(1000);
    CHECK(receiver.on_received(1, 1000));
    CHECK_FALSE(sender.may_send(0)); // alone
    receiver.on_done(1, 1000);
    sender.on_grant(receiver.take_grant().value());
    CHECK(sender.may_send(100));
    CHECK(sender.may_send(1000));
  }

  TEST_CASE("a receiver grants again when half its window is free, not earlier") {
    receiving_credit receiver{{4, 1000}};
    CHECK(receiver.granted() == credit{4, 1000});
    CHECK_FALSE(receiver.take_grant().has_value());
    CHECK(receiver.on_received(4, 40));
    receiver.on_done(1, 10);
    CHECK_FALSE(receiver.take_grant().has_value());
    receiver.on_done(1, 10);
    CHECK(receiver.take_grant() == credit{6, 1020});
    CHECK_FALSE(receiver.take_grant().has_value());
    CHECK(receiver.held() == credit{2, 20});
  }

  TEST_CASE("half of the bytes count as much as half of the items") {
    receiving_credit receiver{{100, 100}};
    CHECK(receiver.on_received(1, 49));
    CHECK(receiver.on_received(1, 1));
    receiver.on_done(1, 49);
    CHECK_FALSE(receiver.take_grant().has_value());
    receiver.on_done(1, 1);
    CHECK(receiver.take_grant() == credit{102, 150});
  }

  TEST_CASE("a window of one is granted after every item") {
    receiving_credit receiver{{1, 1}};
    CHECK(receiver.on_received(1, 1));
    CHECK_FALSE(receiver.take_grant().has_value());
    receiver.on_done(1, 1);
    CHECK(receiver.take_grant() == credit{2, 2});
  }

  TEST_CASE("somebody who waits is answered before half the window is free, and once") {
    receiving_credit receiver{{10, 100}};
    CHECK(receiver.on_received(1, 20));
    receiver.on_probe({2, 120});
    CHECK_FALSE(receiver.take_grant().has_value()); // there is no such room yet
    receiver.on_done(1, 20);
    CHECK(receiver.take_grant() == credit{11, 120});
    CHECK_FALSE(receiver.take_grant().has_value());
  }

  TEST_CASE("whatever is free may be granted at once, where nothing else would make the sender go on") {
    receiving_credit receiver{{4, 100}};
    CHECK_FALSE(receiver.take_grant(true).has_value()); // nothing new to say
    CHECK(receiver.on_received(4, 10));
    CHECK_FALSE(receiver.is_sender_starved()); // nothing is free
    receiver.on_done(1, 1);
    CHECK(receiver.is_sender_starved());
    CHECK_FALSE(receiver.take_grant().has_value());
    CHECK(receiver.take_grant(true) == credit{5, 101});
    CHECK_FALSE(receiver.is_sender_starved());
    CHECK_FALSE(receiver.take_grant(true).has_value());
  }

  TEST_CASE("a lost grant is healed: who asks for what was granted is told again") {
    receiving_credit receiver{{2, 100}};
    CHECK(receiver.on_received(2, 2));
    receiver.on_done(2, 2);
    const auto lost = receiver.take_grant();
    REQUIRE(lost.has_value());
    CHECK_FALSE(receiver.take_grant().has_value());
    receiver.on_probe({3, 3});
    CHECK(receiver.take_grant() == lost);
  }

  TEST_CASE("what comes without credit is counted and reported") {
    receiving_credit receiver{{2, 100}};
    CHECK(receiver.on_received(2, 100));
    CHECK_FALSE(receiver.on_received(1, 0));
    CHECK(receiver.received() == credit{3, 100});
    receiver.on_done(3, 100);
    CHECK(receiver.held() == credit{0, 0});

    receiving_credit narrow{{2, 100}};
    CHECK(narrow.on_received(1, 1));
    CHECK_FALSE(narrow.on_received(1, 1000)); // larger than the window, and not alone
  }

  TEST_CASE("a sender that takes over goes on where the totals are") {
    receiving_credit receiver{{3, 30}};
    CHECK(receiver.on_received(2, 20));
    sending_credit next{receiver.bound(), receiver.granted(), receiver.received()};
    CHECK(next.available_items() == 1);
    CHECK(next.may_send(10));
    CHECK_FALSE(next.may_send(11));
    CHECK(next.wanted_for(11) == credit{3, 31});
    CHECK(next.wanted_for(31) == credit{3, 50}); // larger than the window: all of it
  }
}
