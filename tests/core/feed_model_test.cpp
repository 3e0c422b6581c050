#include "feed_mutants.hpp"
#include "feed_world.hpp"
#include "seeds.hpp"

#include <doctest/doctest.h>

#include <string>

namespace core_tests {

using weir::feed_machine;

namespace {

/// What the model says first about a feed that gets something wrong: the part that names what differs. Empty when it finds
/// nothing.
template <class Mutant>
std::string found_in() {
  for (const auto seed : seeds(300)) {
    const auto wrong = feed_world<Mutant>{seed}.run(120);
    if (!wrong.empty())
      return wrong.substr(0, wrong.find(':'));
  }
  return {};
}

} // namespace

TEST_SUITE("feed machine model") {
  TEST_CASE("a feed does what the naive feed does, and delivers what the log holds") {
    std::uint64_t deliveries = 0;
    std::uint64_t redeliveries = 0;
    std::uint64_t late_reads = 0;
    std::uint64_t gaps = 0;
    const auto all = seeds(8000);
    for (const auto seed : all) {
      feed_world<feed_machine> world{seed};
      const auto wrong = world.run(120);
      REQUIRE_MESSAGE(wrong.empty(), replay(seed), ": ", wrong);
      deliveries += world.deliveries();
      redeliveries += world.redeliveries();
      late_reads += world.late_reads();
      gaps += world.gaps();
    }
    CHECK(deliveries > 20 * all.size()); // it is not an empty exercise
    CHECK(redeliveries > all.size());
    CHECK(2 * late_reads > all.size());
    CHECK(gaps > all.size());
  }

  TEST_CASE("each mutant of the feed is found, and for its own fault") {
    CHECK(found_in<feed_machine>() == "");
    CHECK(found_in<mutants::charged_at_read>() == "credit");
    CHECK(found_in<mutants::lost_on_short_read>() == "credit");
    CHECK(found_in<mutants::filtered_charged>() == "credit");
    CHECK(found_in<mutants::lost_on_rewind>() == "credit");
    CHECK(found_in<mutants::grant_forgets_the_rest>() == "credit");
    CHECK(found_in<mutants::asks_beyond_credit>() == "next_read");
    CHECK(found_in<mutants::highest_is_floor>() == "acknowledge");
    CHECK(found_in<mutants::out_of_order_forgotten>() == "progress");
    CHECK(found_in<mutants::rewind_to_delivered>() == "the cursor is beyond what was acknowledged");
    CHECK(found_in<mutants::rewind_waits_for_the_line>() == "next");
    CHECK(found_in<mutants::filter_keeps_the_floor>() == "progress");
    CHECK(found_in<mutants::holes_keep_the_floor>() == "progress");
    CHECK(found_in<mutants::late_read_taken>() == "on_read");
    CHECK(found_in<mutants::skips_silently>() == "skip_to");
    CHECK(found_in<mutants::skip_clears_the_line>() == "next");
    CHECK(found_in<mutants::head_forgotten>() == "progress");
    CHECK(found_in<mutants::oversize_always_delivered>() == "next");
    CHECK(found_in<mutants::window_ignored>() == "next");
  }
}

} // namespace core_tests
