#include <weir/checkpoint.hpp>
#include <weir/group_table.hpp>

#include "protobuf_fields.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <ranges>
#include <set>

namespace weir {

namespace {

using detail::field_reader;
using detail::tag_of;
using detail::wire_type;

constexpr std::uint64_t newest_version = 1;
constexpr std::uint64_t longest_lease = 3'600'000; // milliseconds

// The fields of GroupTable and GroupSeat in group.proto.
constexpr auto version_tag = tag_of(1, wire_type::varint);
constexpr auto term_tag = tag_of(2, wire_type::varint);
constexpr auto seats_tag = tag_of(3, wire_type::bytes);
constexpr auto owners_tag = tag_of(4, wire_type::bytes);
constexpr auto id_tag = tag_of(1, wire_type::fixed64);
constexpr auto beats_tag = tag_of(2, wire_type::varint);
constexpr auto lease_tag = tag_of(3, wire_type::varint);

constexpr std::size_t most_seat_bytes = 2 + 9 + 11 + 5;
static_assert(2 + 11 + max_group_members * most_seat_bytes + 3 + max_group_shards <= max_checkpoint_metadata);
static_assert(max_group_members < 255);

void put(auto& out, const group_table& given, std::string_view owners) {
  out.bytes(owners_tag, owners);
  for (const auto& seat : std::views::reverse(given.seats))
    out.message(seats_tag, [&](auto& to) {
      to.number(lease_tag, static_cast<std::uint64_t>(seat.lease.count()));
      to.number(beats_tag, seat.beats);
      to.fixed64(id_tag, seat.id);
    });
  out.number(term_tag, given.term);
  out.number(version_tag, newest_version);
}

error corrupt(std::string_view sentence) {
  return error{errc::corrupt, std::string{sentence}};
}

} // namespace

const group_seat* group_table::find(std::uint64_t id) const noexcept {
  const auto found = std::ranges::find(seats, id, &group_seat::id);
  return found == seats.end() ? nullptr : &*found;
}

group_seat* group_table::find(std::uint64_t id) noexcept {
  const auto found = std::ranges::find(seats, id, &group_seat::id);
  return found == seats.end() ? nullptr : &*found;
}

std::vector<std::uint32_t> group_table::shards_of(std::uint64_t id) const {
  std::vector<std::uint32_t> own;
  for (std::uint32_t shard = 0; shard < owners.size(); ++shard)
    if (owners[shard] == id)
      own.push_back(shard);
  return own;
}

std::size_t group_table::share_of(std::uint64_t id) const {
  const auto* seat = find(id);
  if (seat == nullptr)
    return 0;
  const auto has = [this](std::uint64_t one) { return std::ranges::count(owners, one); };
  const auto own = has(id);
  // How many come before it when one more is given out: who has more, and of those that have the same, who came first.
  const auto before = std::ranges::count_if(
    seats, [&](const group_seat& other) { return has(other.id) > own || (has(other.id) == own && &other < seat); });
  const auto each = owners.size() / seats.size();
  const auto left = owners.size() % seats.size();
  return each + (static_cast<std::size_t>(before) < left ? 1 : 0);
}

void group_table::remove(std::uint64_t id) {
  std::erase_if(seats, [&](const group_seat& one) { return one.id == id; });
  std::ranges::replace(owners, id, nobody);
}

std::string encode_group_table(const group_table& given) {
  assert(given.seats.size() <= max_group_members && given.owners.size() <= max_group_shards);
  std::string owners;
  for (const auto owner : given.owners) {
    const auto at = std::ranges::find(given.seats, owner, &group_seat::id);
    assert(owner == group_table::nobody || at != given.seats.end());
    owners.push_back(static_cast<char>(owner == group_table::nobody ? 0 : std::distance(given.seats.begin(), at) + 1));
  }
  std::string bytes;
  detail::append_message(bytes, [&](auto& to) { put(to, given, owners); });
  return bytes;
}

result<group_table> decode_group_table(std::string_view bytes, std::uint32_t shards) {
  detail::field_fault fault;
  field_reader from{bytes, fault};
  const auto version = from.number(version_tag);
  if (version > newest_version)
    return error{errc::newer_format, "the group's table is of a newer version",
      {{"version", std::to_string(version)}, {"known", std::to_string(newest_version)}}};
  if (version == 0)
    from.fail("the group's table does not say its version");
  group_table read{shards};
  read.term = from.number(term_tag);
  std::set<std::uint64_t> ids{group_table::nobody};
  while (auto place = from.message(seats_tag)) {
    group_seat seat;
    seat.id = place->fixed64(id_tag);
    seat.beats = place->number(beats_tag);
    seat.lease = std::chrono::milliseconds{place->number(lease_tag, longest_lease)};
    place->finish();
    if (!ids.insert(seat.id).second || seat.lease.count() == 0)
      from.fail("a member has an id of its own, and a lease");
    read.seats.push_back(seat);
  }
  const auto owners = from.bytes(owners_tag);
  from.finish();
  if (fault)
    return corrupt(fault.sentence);
  if (read.seats.size() > max_group_members || owners.size() != shards)
    return corrupt("a group's table has up to 64 members, and an owner for each of the topic's shards");
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    const auto place = static_cast<unsigned char>(owners[shard]);
    if (place > read.seats.size())
      return corrupt("a shard's owner is a member, or nobody");
    if (place > 0)
      read.owners[shard] = read.seats[place - 1U].id;
  }
  return read;
}

} // namespace weir
