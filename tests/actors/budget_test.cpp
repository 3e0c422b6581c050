#include <weir/detail/budget.hpp>

#include <doctest/doctest.h>

#include <memory>

using weir::block_ptr;
using weir::detail::shared_budget;

namespace {

block_ptr weighing(std::size_t payload) {
  weir::envelope change;
  change.payload = std::string(payload, 'x');
  return weir::make_block({std::move(change)});
}

} // namespace

TEST_SUITE("byte budget") {
  TEST_CASE("a block is charged once, however often it is offered, and released with its last copy") {
    const auto budget = std::make_shared<shared_budget>(1u << 20);
    auto first = weighing(1000);
    auto copy = first;
    CHECK(budget->try_charge(first));
    CHECK(budget->try_charge(copy));
    CHECK(budget->used() == first->size_in_bytes());
    first.reset();
    CHECK(budget->used() == copy->size_in_bytes());
    copy.reset();
    CHECK(budget->used() == 0);
  }

  TEST_CASE("room that comes free between the refusal and the waiting is not lost") {
    const auto budget = std::make_shared<shared_budget>(weighing(1000)->size_in_bytes());
    auto held = weighing(1000);
    const auto wanted = weighing(1000);
    REQUIRE(budget->try_charge(held));
    REQUIRE_FALSE(budget->try_charge(wanted));
    held.reset(); // on another thread, say
    const auto ticket = budget->wait(wanted, {}, {});
    CHECK(budget->admitted(ticket));
    CHECK(budget->used() == wanted->size_in_bytes());
  }

  TEST_CASE("several who wait for one block are let in together, on one charge") {
    const auto budget = std::make_shared<shared_budget>(weighing(1000)->size_in_bytes());
    auto held = weighing(1000);
    auto wanted = weighing(1000);
    auto other = weighing(900);
    REQUIRE(budget->try_charge(held));
    const auto first = budget->wait(wanted, {}, {});
    const auto between = budget->wait(other, {}, {});
    const auto second = budget->wait(wanted, {}, {});
    held.reset();
    CHECK(budget->admitted(first));
    CHECK(budget->admitted(second));
    CHECK_FALSE(budget->admitted(between));
    CHECK(budget->used() == wanted->size_in_bytes());
    wanted.reset();
    CHECK(budget->admitted(between));
    CHECK(budget->used() == other->size_in_bytes());
  }

  TEST_CASE("who leaves the line keeps nothing, and lets in those behind") {
    const auto budget = std::make_shared<shared_budget>(2000);
    auto held = weighing(1000);
    const auto large = weighing(1500);
    const auto small = weighing(100);
    REQUIRE(budget->try_charge(held));
    const auto first = budget->wait(large, {}, {});
    const auto second = budget->wait(small, {}, {});
    CHECK_FALSE(budget->admitted(second));
    budget->leave(first);
    CHECK(budget->admitted(second));
    CHECK(budget->used() == held->size_in_bytes() + small->size_in_bytes());
    budget->leave(first);
    budget->leave(second);
    CHECK(budget->used() == held->size_in_bytes() + small->size_in_bytes()); // the block's, as long as there is one
  }
}
