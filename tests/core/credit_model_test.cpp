#include "credit_model.hpp"
#include "credit_mutants.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace core_tests {

std::string_view name_of(property one) {
  switch (one) {
  case property::all_hold: return "all hold";
  case property::window_kept: return "sent - done <= window";
  case property::grant_within_window: return "up to <= done + window";
  case property::sent_within_grant: return "what arrives was granted";
  case property::credit_conserved: return "credit is conserved";
  case property::nobody_forgotten: return "no starved sender is forgotten";
  case property::finished_once: return "every accepted item ends exactly once";
  case property::depth_counted: return "the depth is counted exactly";
  case property::can_always_finish: return "it can always finish";
  }
  return "unknown";
}

namespace {

const std::vector<credit_scope>& scopes() {
  static const std::vector<credit_scope> all{
    // One sender, items of one size: half-free grants are enough, a question is asked only after a loss.
    {.name = "one sender, W = 1", .window = {1, 100}, .items = {1, 1, 1}, .losses = 1, .copies = 1, .crashes = 1, .cancels = 1},
    {.name = "one sender, W = 2",
      .window = {2, 100},
      .items = {1, 1, 1, 1},
      .losses = 1,
      .copies = 1,
      .crashes = 1,
      .cancels = 1},
    {.name = "one sender, W = 3",
      .window = {3, 100},
      .items = {1, 1, 1, 1, 1},
      .line = 1,
      .losses = 1,
      .copies = 1,
      .crashes = 1},
    {.name = "one sender, two losses", .window = {2, 100}, .items = {1, 1, 1, 1}, .losses = 2, .copies = 2},
    {.name = "one sender, returns",
      .window = {2, 100},
      .items = {1, 1, 1},
      .losses = 1,
      .crashes = 1,
      .cancels = 1,
      .returns = 2},
    // Bytes: a sender that starves asks.
    {.name = "bytes, W = 3",
      .window = {3, 4},
      .items = {1, 3, 4, 2},
      .asks_when_starved = true,
      .losses = 1,
      .copies = 1,
      .crashes = 1},
    {.name = "bytes, one larger",
      .window = {3, 3},
      .items = {1, 5, 2, 1},
      .asks_when_starved = true,
      .losses = 1,
      .copies = 1,
      .crashes = 1},
    {.name = "bytes, all larger",
      .window = {2, 3},
      .items = {5, 4, 1, 9},
      .asks_when_starved = true,
      .losses = 1,
      .copies = 1,
      .cancels = 1},
    {.name = "bytes, returns",
      .window = {2, 3},
      .items = {2, 5, 1},
      .asks_when_starved = true,
      .losses = 1,
      .crashes = 1,
      .returns = 1},
    // A lane never asks its consumer; who has nothing left to hand out grants whatever is free.
    {.name = "bytes, grants when idle",
      .window = {3, 4},
      .items = {1, 4, 9, 2},
      .grants_when_idle = true,
      .copies = 1,
      .crashes = 1},
    // Several senders.
    {.name = "two senders, W = 1", .senders = 2, .window = {1, 100}, .items = {1, 1}, .line = 1, .losses = 1, .crashes = 1},
    {.name = "two senders, W = 2", .senders = 2, .window = {2, 100}, .items = {1, 1, 1}, .line = 1},
    {.name = "two senders, W = 3", .senders = 2, .window = {3, 100}, .items = {1, 1, 1, 1}, .line = 1},
    {.name = "two senders, bytes",
      .senders = 2,
      .window = {2, 3},
      .items = {2, 4},
      .line = 1,
      .asks_when_starved = true,
      .crashes = 1},
    {.name = "three senders, W = 1", .senders = 3, .window = {1, 100}, .items = {1, 1}, .line = 1},
  };
  return all;
}

const credit_scope& scope_named(std::string_view name) {
  return *std::ranges::find(scopes(), name, &credit_scope::name);
}

template <class Mutant>
std::string_view broken_by(std::string_view scope) {
  return name_of(credit_model<Mutant>{scope_named(scope)}.search().broken);
}

} // namespace

TEST_SUITE("credit model") {
  TEST_CASE("every interleaving of the credit protocol keeps every property") {
    std::size_t states = 0;
    for (const auto& scope : scopes()) {
      const auto answer = credit_model<credit_protocol>{scope}.search();
      CHECK_MESSAGE(answer.broken == property::all_hold, scope.name, ": ", name_of(answer.broken), answer.trace);
      states += answer.states;
    }
    CHECK(states > 400'000); // it is not an empty exercise
  }

  TEST_CASE("with bytes, grants for half a window are not enough: who starves has to ask, or who is idle to grant at once") {
    auto scope = scope_named("bytes, grants when idle");
    scope.grants_when_idle = false;
    CHECK(name_of(credit_model<credit_protocol>{scope}.search().broken) == name_of(property::nobody_forgotten));
    scope.asks_when_starved = true;
    CHECK(name_of(credit_model<credit_protocol>{scope}.search().broken) == name_of(property::all_hold));
  }

  TEST_CASE("each mutant of the protocol is found, and for its own fault") {
    CHECK(broken_by<mutants::grant_at_dequeue>("one sender, W = 1") == name_of(property::window_kept));
    CHECK(broken_by<mutants::shared_counter>("two senders, W = 1") == name_of(property::sent_within_grant));
    CHECK(broken_by<mutants::relative_grant>("one sender, W = 2") == name_of(property::grant_within_window));
    CHECK(broken_by<mutants::last_grant_wins>("one sender, two losses") == name_of(property::credit_conserved));
    CHECK(broken_by<mutants::close_charged>("one sender, W = 2") == name_of(property::credit_conserved));
    CHECK(broken_by<mutants::control_charged>("one sender, W = 1") == name_of(property::can_always_finish));
    CHECK(broken_by<mutants::waiter_not_counted>("one sender, W = 1") == name_of(property::credit_conserved));
    CHECK(broken_by<mutants::waiter_forgotten>("one sender, W = 1") == name_of(property::can_always_finish));
    CHECK(broken_by<mutants::slot_let_go_early>("one sender, W = 1") == name_of(property::depth_counted));
    CHECK(broken_by<mutants::close_before_waiters>("one sender, W = 1") == name_of(property::can_always_finish));
    CHECK(broken_by<mutants::no_grant_when_half_free>("one sender, W = 2") == name_of(property::nobody_forgotten));
    CHECK(broken_by<mutants::probe_ignored>("bytes, one larger") == name_of(property::nobody_forgotten));
    CHECK(broken_by<mutants::grant_not_repeated>("one sender, W = 1") == name_of(property::can_always_finish));
    CHECK(broken_by<mutants::large_item_never_admitted>("bytes, one larger") == name_of(property::nobody_forgotten));
    CHECK(broken_by<mutants::large_item_not_alone>("bytes, one larger") == name_of(property::window_kept));
    CHECK(broken_by<mutants::grant_above_window>("one sender, W = 2") == name_of(property::grant_within_window));
  }
}

} // namespace core_tests
