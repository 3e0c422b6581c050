#include <weir/checkpoint.hpp>
#include <weir/group_table.hpp>

#include "group.pb.h"
#include "seeds.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using namespace std::string_literals;
using weir::decode_group_table;
using weir::encode_group_table;
using weir::errc;
using weir::group_table;

namespace {

/// Members 1, 2, 3 … in the order in which they joined.
group_table table_of(std::uint64_t members, std::vector<std::uint64_t> owners) {
  group_table made{static_cast<std::uint32_t>(owners.size())};
  made.term = 7;
  for (std::uint64_t id = 1; id <= members; ++id)
    made.seats.push_back({id, 10 * id, 5s});
  made.owners = std::move(owners);
  return made;
}

std::vector<std::size_t> shares(const group_table& of) {
  std::vector<std::size_t> all;
  for (const auto& seat : of.seats)
    all.push_back(of.share_of(seat.id));
  return all;
}

/// The sentence of the refusal; "read" if there is none. From bytes with nothing around them.
std::string verdict(std::string_view bytes, std::uint32_t shards, errc expected = errc::corrupt) {
  const std::vector<char> alone{bytes.begin(), bytes.end()};
  const auto decoded = decode_group_table({alone.data(), alone.size()}, shards);
  if (decoded)
    return "read";
  CHECK(decoded.error() == expected);
  return decoded.error().sentence();
}

weir::log::v1::GroupTable message_of(const group_table& from) {
  weir::log::v1::GroupTable made;
  made.set_version(1);
  made.set_term(from.term);
  std::string owners(from.owners.size(), '\0');
  for (std::size_t seat = 0; seat < from.seats.size(); ++seat) {
    auto& to = *made.add_seats();
    to.set_id(from.seats[seat].id);
    to.set_beats(from.seats[seat].beats);
    to.set_lease(static_cast<std::uint64_t>(from.seats[seat].lease.count()));
    for (std::size_t shard = 0; shard < owners.size(); ++shard)
      if (from.owners[shard] == from.seats[seat].id)
        owners[shard] = static_cast<char>(seat + 1);
  }
  made.set_owners(owners);
  return made;
}

} // namespace

TEST_CASE("group table: everybody has as many shards as everybody else, or one more, and who has more keeps it") {
  CHECK(shares(table_of(1, {0, 0, 0})) == std::vector<std::size_t>{3});
  CHECK(shares(table_of(2, {0, 0, 0})) == std::vector<std::size_t>{2, 1});
  CHECK(shares(table_of(2, {2, 0, 0})) == std::vector<std::size_t>{1, 2});
  CHECK(shares(table_of(3, {1, 1, 2, 2})) == std::vector<std::size_t>{2, 1, 1});
  CHECK(shares(table_of(3, {1, 2, 2, 3})) == std::vector<std::size_t>{1, 2, 1});
  CHECK(shares(table_of(4, {3, 2})) == std::vector<std::size_t>{0, 1, 1, 0});
  CHECK(table_of(2, {2, 0, 0}).share_of(9) == 0);
}

TEST_CASE("group table: all shares together are all shards") {
  for (const auto seed : core_tests::seeds(500)) {
    CAPTURE(core_tests::replay(seed));
    core_tests::random_source random{seed};
    const auto members = random.between(1, 9);
    std::vector<std::uint64_t> owners(random.between(1, 20));
    for (auto& one : owners)
      one = random.below(members + 1);
    std::size_t sum = 0;
    for (const auto share : shares(table_of(members, owners))) {
      CHECK(share >= owners.size() / members);
      CHECK(share <= owners.size() / members + 1);
      sum += share;
    }
    CHECK(sum == owners.size());
  }
}

TEST_CASE("group table: who goes leaves its shards to nobody") {
  auto left = table_of(3, {1, 2, 3, 2});
  left.remove(2);
  CHECK(left.owners == std::vector<std::uint64_t>{1, 0, 3, 0});
  CHECK(left.seats.size() == 2);
  CHECK(left.find(2) == nullptr);
  CHECK(left.shards_of(3) == std::vector<std::uint32_t>{2});
}

TEST_CASE("group table: its text is protobuf's, and comes back as it was") {
  for (const auto& one : {table_of(3, {1, 0, 3, 2}), table_of(0, {0}), table_of(1, {1})}) {
    const auto bytes = encode_group_table(one);
    CHECK(bytes == message_of(one).SerializeAsString());
    const auto read = decode_group_table(bytes, static_cast<std::uint32_t>(one.owners.size()));
    REQUIRE(read);
    CHECK(read.value() == one);
    for (std::size_t size = 0; size < bytes.size(); ++size)
      CHECK(verdict(bytes.substr(0, size), static_cast<std::uint32_t>(one.owners.size())) != "read");
  }
}

TEST_CASE("group table: the largest one fits into a checkpoint") {
  group_table largest{weir::max_group_shards};
  largest.term = ~std::uint64_t{0};
  for (std::uint64_t seat = 0; seat < weir::max_group_members; ++seat)
    largest.seats.push_back({~seat, ~std::uint64_t{0}, 1h});
  for (auto& one : largest.owners)
    one = ~std::uint64_t{5};
  const auto bytes = encode_group_table(largest);
  CHECK(bytes.size() <= weir::max_checkpoint_metadata);
  const auto read = decode_group_table(bytes, weir::max_group_shards);
  REQUIRE(read);
  CHECK(read.value() == largest);
}

TEST_CASE("group table: what is no table is refused") {
  const auto one = table_of(2, {1, 2});
  const auto good = message_of(one);
  CHECK(verdict("", 2) == "the group's table does not say its version");
  CHECK(verdict(encode_group_table(one), 3).find("an owner for each") != std::string::npos);
  const auto changed = [&](auto change) {
    auto message = good;
    change(message);
    return message.SerializeAsString();
  };
  CHECK(
    verdict(changed([](auto& to) { to.set_version(2); }), 2, errc::newer_format) == "the group's table is of a newer version");
  CHECK(verdict(changed([](auto& to) { to.mutable_seats(0)->set_id(2); }), 2) == "a member has an id of its own, and a lease");
  CHECK(verdict(changed([](auto& to) { to.mutable_seats(0)->set_id(0); }), 2) == "a member has an id of its own, and a lease");
  CHECK(
    verdict(changed([](auto& to) { to.mutable_seats(1)->set_lease(0); }), 2) == "a member has an id of its own, and a lease");
  CHECK(verdict(changed([](auto& to) { to.mutable_seats(1)->set_lease(3'600'001); }), 2) != "read");
  CHECK(verdict(changed([](auto& to) { to.set_owners("\x01\x03"); }), 2) == "a shard's owner is a member, or nobody");
  CHECK(verdict(changed([](auto& to) { to.clear_owners(); }), 2) != "read");
  CHECK(verdict(changed([](auto& to) {
    while (to.seats_size() <= 64)
      to.add_seats()->CopyFrom(to.seats(0)),
        to.mutable_seats(to.seats_size() - 1)->set_id(static_cast<unsigned>(to.seats_size()) + 9);
  }),
          2)
        != "read");
  CHECK(verdict(encode_group_table(one) + "x", 2) != "read");
}
