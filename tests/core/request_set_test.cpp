#include <weir/request_set.hpp>

#include "seeds.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

using weir::request;
using weir::request_set;

namespace {

request asks(std::uint64_t id, std::string sink, std::vector<std::string> collections) {
  return {.id = {0, id}, .sink = std::move(sink), .collections = std::move(collections), .after = {}};
}

/// What request_set promises, as a plain list in the order of asking.
class naive_request_set {
public:
  struct one {
    request asked;
    std::uint32_t attempts = 0;
    bool runs = false;
    request_set::lent as{}; ///< how it was lent last
  };

  void add(request asked) {
    for (auto& older : all_)
      if (!older.runs && older.asked.sink == asked.sink)
        drop(older.asked, asked.collections);
    forget_empty();
    all_.push_back({std::move(asked)});
  }

  /// The one that must be lent now.
  one* next() {
    for (auto& candidate : all_)
      if (!candidate.runs && !overlaps_running(candidate.asked)) {
        candidate.runs = true;
        ++candidate.attempts;
        return &candidate;
      }
    return nullptr;
  }

  bool acknowledge(std::uint64_t ticket) {
    return std::erase_if(all_, [&](const one& each) { return each.runs && each.as.ticket == ticket; }) == 1;
  }

  bool give_back(std::uint64_t ticket) {
    const auto found = std::ranges::find_if(all_, [&](const one& each) { return each.runs && each.as.ticket == ticket; });
    if (found == all_.end())
      return false;
    found->runs = false;
    for (auto newer = std::next(found); newer != all_.end(); ++newer)
      if (!newer->runs && newer->asked.sink == found->asked.sink)
        drop(found->asked, newer->asked.collections);
    forget_empty();
    return true;
  }

  void return_all() {
    std::vector<std::uint64_t> tickets;
    for (const auto& each : all_)
      if (each.runs)
        tickets.push_back(each.as.ticket);
    for (const auto ticket : tickets)
      give_back(ticket);
  }

  void forget(const std::string& sink) {
    std::erase_if(all_, [&](const one& each) { return each.asked.sink == sink; });
  }

  void forget(const std::string& sink, const std::string& collection) {
    for (auto& each : all_)
      if (each.asked.sink == sink)
        drop(each.asked, {collection});
    forget_empty();
  }

  std::size_t running() const {
    return static_cast<std::size_t>(std::ranges::count_if(all_, [](const one& each) { return each.runs; }));
  }
  std::size_t waiting() const { return all_.size() - running(); }

private:
  static void drop(request& from, const std::vector<std::string>& collections) {
    std::erase_if(
      from.collections, [&](const auto& name) { return std::ranges::find(collections, name) != collections.end(); });
  }
  void forget_empty() {
    std::erase_if(all_, [](const one& each) { return each.asked.collections.empty(); });
  }
  bool overlaps_running(const request& asked) const {
    return std::ranges::any_of(all_, [&](const one& each) {
      return each.runs && each.asked.sink == asked.sink
             && std::ranges::find_first_of(each.asked.collections, asked.collections) != each.asked.collections.end();
    });
  }

  std::vector<one> all_;
};

} // namespace

TEST_SUITE("request set") {
  TEST_CASE("requests are lent in the order of asking, each until it is acknowledged") {
    request_set set;
    CHECK(set.empty());
    CHECK_FALSE(set.next().has_value());
    set.add(asks(1, "search", {"files"}));
    set.add(asks(2, "audit", {"files"}));
    const auto first = set.next();
    REQUIRE(first.has_value());
    CHECK(first->asked.id.low == 1);
    CHECK(first->attempt == 1);
    const auto second = set.next();
    REQUIRE(second.has_value());
    CHECK(second->asked.id.low == 2);
    CHECK_FALSE(set.next().has_value());
    CHECK(set.acknowledge(first->ticket));
    CHECK_FALSE(set.acknowledge(first->ticket));
    CHECK(set.acknowledge(second->ticket));
    CHECK(set.empty());
  }

  TEST_CASE("asking again replaces what still waits") {
    request_set set;
    set.add(asks(1, "search", {"files", "users"}));
    set.add(asks(2, "search", {"files"}));
    set.add(asks(3, "search", {"files"}));
    CHECK(set.waiting() == 2);
    CHECK(set.next()->asked.collections == std::vector<std::string>{"users"});
    CHECK(set.next()->asked.id.low == 3);
  }

  TEST_CASE("a newer request waits until the running one for the same pair has ended") {
    request_set set;
    set.add(asks(1, "search", {"files"}));
    const auto running = set.next();
    set.add(asks(2, "search", {"files"}));
    set.add(asks(3, "search", {"users"}));
    set.add(asks(4, "audit", {"files"}));
    CHECK(set.next()->asked.id.low == 3); // another collection
    CHECK(set.next()->asked.id.low == 4); // another sink
    CHECK_FALSE(set.next().has_value());
    CHECK(set.acknowledge(running->ticket));
    CHECK(set.next()->asked.id.low == 2);
  }

  TEST_CASE("what its server gave back is due again before anything newer, and counts its attempts") {
    request_set set;
    set.add(asks(1, "search", {"files"}));
    const auto first = set.next();
    set.add(asks(2, "search", {"users"}));
    CHECK(set.give_back(first->ticket));
    CHECK_FALSE(set.give_back(first->ticket));
    const auto again = set.next();
    CHECK(again->asked.id.low == 1);
    CHECK(again->attempt == 2);
  }

  TEST_CASE("a server that was superseded can't end what another serves now") {
    request_set set;
    set.add(asks(1, "search", {"files"}));
    const auto before = set.next();
    set.return_all(); // the server went away
    const auto now = set.next();
    REQUIRE(now.has_value());
    CHECK_FALSE(set.acknowledge(before->ticket)); // its acknowledgement comes late
    CHECK_FALSE(set.give_back(before->ticket));
    CHECK(set.running() == 1);
    CHECK(set.acknowledge(now->ticket));
  }

  TEST_CASE("given back, a request leaves the pairs to the newer one that asks for them") {
    request_set set;
    set.add(asks(1, "search", {"files", "users"}));
    const auto first = set.next();
    set.add(asks(2, "search", {"files"}));
    CHECK(set.give_back(first->ticket));
    CHECK(set.next()->asked.collections == std::vector<std::string>{"users"});
    CHECK(set.next()->asked.id.low == 2);
    CHECK_FALSE(set.next().has_value());
  }

  TEST_CASE("a retired sink's requests are forgotten, waiting and running") {
    request_set set;
    set.add(asks(1, "search", {"files"}));
    set.add(asks(2, "search", {"users"}));
    set.add(asks(3, "audit", {"files"}));
    const auto running = set.next();
    set.forget("search");
    CHECK_FALSE(set.acknowledge(running->ticket));
    CHECK(set.waiting() == 1);
    CHECK(set.next()->asked.sink == "audit");
  }

  TEST_CASE("of a sink with a lane for each collection, one collection may go alone") {
    request_set set;
    set.add(asks(1, "search", {"files", "users"}));
    set.add(asks(2, "search", {"groups"}));
    set.add(asks(3, "audit", {"files"}));
    const auto running = set.next();
    set.forget("search", "files");
    CHECK(set.running() == 1);
    set.forget("search", "users");
    CHECK(set.running() == 0);
    CHECK_FALSE(set.acknowledge(running->ticket));
    set.forget("search", "groups");
    CHECK(set.waiting() == 1);
    CHECK(set.next()->asked.sink == "audit");
  }

  TEST_CASE("it does what a list does, and holds at most two requests for each pair") {
    const std::vector<std::string> sinks{"search", "audit"};
    const std::vector<std::string> names{"a", "b", "c"};
    for (const auto seed : core_tests::seeds(60)) {
      CAPTURE(core_tests::replay(seed));
      core_tests::random_source random{seed};
      request_set set;
      naive_request_set expected;
      std::set<std::uint64_t> tickets;
      for (int step = 0; step < 300; ++step) {
        const auto ticket = tickets.empty() ? 0 : *std::next(tickets.begin(), static_cast<long>(random.below(tickets.size())));
        switch (random.below(12)) {
        case 0:
        case 1:
        case 2: {
          auto asked = asks(static_cast<std::uint64_t>(step), random.pick(sinks), {});
          while (asked.collections.empty())
            for (const auto& name : names)
              if (random.chance(40))
                asked.collections.push_back(name);
          set.add(asked);
          expected.add(asked);
          break;
        }
        case 3:
        case 4:
        case 5:
        case 6: {
          const auto lent = set.next();
          auto* due = expected.next();
          REQUIRE(lent.has_value() == (due != nullptr));
          if (lent) {
            REQUIRE(lent->asked.id == due->asked.id);
            REQUIRE(lent->asked.collections == due->asked.collections);
            REQUIRE(lent->attempt == due->attempts);
            REQUIRE(tickets.insert(lent->ticket).second);
            due->as = *lent;
          }
          break;
        }
        case 7:
        case 8: REQUIRE(set.acknowledge(ticket) == expected.acknowledge(ticket)); break;
        case 9:
        case 10: REQUIRE(set.give_back(ticket) == expected.give_back(ticket)); break;
        case 11:
          if (random.chance(20)) {
            const auto& sink = random.pick(sinks);
            set.forget(sink);
            expected.forget(sink);
          } else if (random.chance(30)) {
            const auto& sink = random.pick(sinks);
            const auto& name = random.pick(names);
            set.forget(sink, name);
            expected.forget(sink, name);
          } else {
            set.return_all();
            expected.return_all();
          }
          break;
        }
        REQUIRE(set.waiting() == expected.waiting());
        REQUIRE(set.running() == expected.running());
        REQUIRE(set.empty() == (expected.waiting() + expected.running() == 0));
        REQUIRE(set.waiting() <= sinks.size() * names.size());
        REQUIRE(set.running() <= sinks.size() * names.size());
      }
    }
  }
}
