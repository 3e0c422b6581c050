#include <weir/hint_buffer.hpp>

#include "seeds.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using weir::drop_policy;
using weir::gone;
using weir::hint;
using weir::hint_buffer;
using weir::loss_cause;
using weir::lost;

namespace {

const weir::bus_id a{1};
const weir::bus_id b{2};

hint made(std::uint64_t number, weir::bus_id by = a, const std::string& key = {}) {
  return hint{"t", key, std::to_string(number), {by, number, number, 0}};
}

/// "1 2 -3(buffer_full) 6": hints by their numbers, losses by their count.
std::string drained(hint_buffer& from) {
  std::string text;
  while (auto record = from.pop()) {
    if (!text.empty())
      text += ' ';
    if (const auto* one = std::get_if<hint>(&*record))
      text += one->payload();
    else if (const auto* missing = std::get_if<lost>(&*record))
      text += '-' + std::to_string(missing->count) + (missing->is_exact ? "" : "+") + '(' + std::string{name_of(missing->cause)}
              + ')';
    else
      text += "gone";
  }
  CHECK(from.empty());
  return text;
}

hint_buffer filled(drop_policy policy, std::uint64_t last, std::size_t limit = 3) {
  hint_buffer made_here{limit, policy};
  for (std::uint64_t number = 1; number <= last; ++number)
    made_here.push(made(number));
  return made_here;
}

} // namespace

TEST_CASE("hint buffer: who survives, and how many are lost, under each policy") {
  auto newest = filled(drop_policy::drop_newest, 5);
  CHECK(drained(newest) == "1 2 3 -2(buffer_full)");
  auto oldest = filled(drop_policy::drop_oldest, 5);
  CHECK(drained(oldest) == "-2(buffer_full) 3 4 5");
  auto conflated = filled(drop_policy::conflate, 5);
  CHECK(drained(conflated) == "-4(conflated) 5");
  auto by_key = filled(drop_policy::last_by_key, 5);
  CHECK(drained(by_key) == "-4(conflated) 5"); // all have the same key
  auto ended = filled(drop_policy::end, 5);
  CHECK(ended.is_evicted());
  CHECK(drained(ended) == "1 2 3 -1(buffer_full)");
}

TEST_CASE("hint buffer: exactly full is not too full") {
  for (const auto policy : {drop_policy::drop_newest, drop_policy::drop_oldest, drop_policy::end}) {
    auto full = filled(policy, 3);
    CHECK(full.size() == 3);
    CHECK(!full.is_evicted());
    CHECK(drained(full) == "1 2 3");
  }
}

TEST_CASE("hint buffer: a loss stands where the hints would have stood") {
  hint_buffer in{2, drop_policy::drop_newest};
  in.push(lost{4, false, {}, loss_cause::link_gap});
  for (std::uint64_t number = 1; number <= 4; ++number)
    in.push(made(number));
  CHECK(std::get<lost>(*in.pop()) == lost{4, false, {}, loss_cause::link_gap});
  CHECK(std::get<hint>(*in.pop()).payload() == "1");
  in.push(made(5)); // behind what was lost
  CHECK(drained(in) == "2 -2(buffer_full) 5");
}

TEST_CASE("hint buffer: losses at one place are one, which says what they have in common") {
  hint_buffer in{1, drop_policy::drop_newest};
  in.push(lost{2, true, a, loss_cause::link_gap});
  in.push(lost{3, true, a, loss_cause::link_gap});
  CHECK(std::get<lost>(*in.pop()) == lost{5, true, a, loss_cause::link_gap});
  in.push(lost{2, true, a, loss_cause::link_gap});
  in.push(lost{0, false, b, loss_cause::publisher});
  CHECK(std::get<lost>(*in.pop()) == lost{2, false, {}, loss_cause::several});
  CHECK(in.empty());
  CHECK(!in.pop());
}

TEST_CASE("hint buffer: last by key keeps the newest of each, in the order in which they came") {
  hint_buffer in{3, drop_policy::last_by_key};
  in.push(made(1, a, "x"));
  in.push(made(2, a, "y"));
  in.push(made(3, a, "x"));
  CHECK(in.size() == 2);
  in.push(made(4, b, "x")); // somebody else's
  CHECK(drained(in) == "-1(conflated) 2 3 4");
  in.push(made(5, a, "p"));
  in.push(made(6, a, "q"));
  in.push(made(7, a, "r"));
  in.push(made(8, a, "s"));
  CHECK(drained(in) == "-1(buffer_full) 6 7 8");
  in.push(made(9, a, "q")); // what was read is no more replaced
  CHECK(drained(in) == "9");
}

TEST_CASE("hint buffer: a bus that is gone voids what waits of it") {
  hint_buffer in{4, drop_policy::last_by_key};
  in.push(made(1, a, "x"));
  in.push(made(2, b, "x"));
  in.push(made(3, a, "y"));
  in.push(gone{a});
  CHECK(drained(in) == "-1(conflated) 2 -1(conflated) gone");
  in.push(gone{b});
  for (std::uint64_t number = 4; number < 8; ++number)
    in.push(made(number, a, std::to_string(number)));
  CHECK(drained(in) == "-0+(buffer_full) 4 5 6 7"); // that b is gone was lost, and that is said
  auto other = filled(drop_policy::drop_oldest, 1);
  other.push(gone{a});
  CHECK(drained(other) == "1");
}

TEST_CASE("hint buffer: nothing comes into one that has ended, and what is there can be read") {
  auto ended = filled(drop_policy::end, 4);
  ended.push(lost{1, true, a, loss_cause::link_gap});
  ended.push(made(9));
  CHECK(drained(ended) == "1 2 3 -1(buffer_full)");
  CHECK(ended.is_evicted());
}

TEST_CASE("hint buffer: at any time everything is in it, was read, or is told to be lost, in order") {
  for (const auto seed : core_tests::seeds(3'000)) {
    CAPTURE(core_tests::replay(seed));
    core_tests::random_source random{seed};
    const auto policy = static_cast<drop_policy>(random.below(5));
    const auto limit = random.between(1, 6);
    hint_buffer in{limit, policy};
    std::uint64_t sent = 0;
    std::uint64_t known_lost = 0;
    std::uint64_t read = 0;
    std::uint64_t told = 0;
    std::uint64_t newest = 0;
    const auto take = [&] {
      const auto record = in.pop();
      REQUIRE(record);
      if (const auto* one = std::get_if<hint>(&*record)) {
        ++read;
        CHECK(one->at().number > newest);
        newest = one->at().number;
      } else if (const auto* missing = std::get_if<lost>(&*record)) {
        told += missing->count;
      }
    };
    for (int step = 0; step < 60; ++step) {
      if (random.chance(60)) {
        if (!in.is_evicted()) {
          ++sent;
          in.push(made(sent, random.chance(50) ? a : b, std::string(1, static_cast<char>('k' + random.below(4)))));
        }
      } else if (random.chance(10)) {
        if (!in.is_evicted())
          known_lost += 2;
        in.push(lost{2, true, a, loss_cause::link_gap});
      } else if (random.chance(10)) {
        in.push(gone{random.chance(50) ? a : b});
      } else if (!in.empty()) {
        take();
      }
      CHECK(in.size() <= limit);
    }
    while (!in.empty())
      take();
    CHECK(read + told == sent + known_lost);
  }
}
