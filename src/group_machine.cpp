#include <weir/group_machine.hpp>

#include <algorithm>
#include <iterator>
#include <ranges>
#include <string>
#include <utility>

namespace weir {

namespace {

constexpr int beats_in_a_lease = 4;

error taken_for_dead(std::chrono::milliseconds lease) {
  return error{errc::fenced, "the group has taken this member for dead", {{"lease", std::to_string(lease.count()) + " ms"}}};
}

} // namespace

std::vector<std::uint32_t> group_machine::on_read(group_table table, time now) {
  std::map<std::uint64_t, seen> others;
  for (const auto& seat : table.seats)
    if (seat.id != id_) {
      const auto known = others_.find(seat.id);
      const bool stands_still = known != others_.end() && known->second.beats == seat.beats;
      others.emplace(seat.id, stands_still ? known->second : seen{seat.beats, now});
    }
  others_ = std::move(others);
  const auto is_lost = [&](std::uint32_t shard) { return table.owners[shard] != id_; };
  std::vector<std::uint32_t> lost;
  std::ranges::copy_if(own_, std::back_inserter(lost), is_lost);
  std::erase_if(own_, is_lost);
  table_ = std::move(table);
  return lost;
}

result<group_table> group_machine::next(time now, const std::function<bool(std::uint32_t)>& is_idle) {
  auto wanted = *table_;
  if (is_member() && wanted.find(id_) == nullptr)
    return taken_for_dead(lease_);
  for (const auto& seat : table_->seats)
    if (const auto other = others_.find(seat.id); other != others_.end() && now - other->second.since >= seat.lease)
      wanted.remove(seat.id);
  auto* seat = wanted.find(id_);
  if (seat == nullptr) {
    if (wanted.seats.size() == max_group_members)
      return error{
        errc::group_full, "the group has as many members as it may", {{"members", std::to_string(max_group_members)}}};
    seat = &wanted.seats.emplace_back(group_seat{.id = id_, .lease = lease_});
  }
  seat->beats = beats_ = std::max(beats_, seat->beats) + 1; // also where it sits down again: nobody has seen that one yet
  choose_leaving(wanted);
  for (const auto shard : chosen_)
    if (is_idle(shard))
      wanted.owners[shard] = group_table::nobody;
  const auto share = wanted.share_of(id_);
  auto has = wanted.shards_of(id_).size();
  for (auto& owner : wanted.owners)
    if (owner == group_table::nobody && has < share) {
      owner = id_;
      ++has;
    }
  const auto same_seats = std::ranges::equal(wanted.seats, table_->seats, {}, &group_seat::id, &group_seat::id);
  if (!same_seats || wanted.owners != table_->owners)
    ++wanted.term;
  return wanted;
}

/// Of those that it has too many: those that it got last.
void group_machine::choose_leaving(const group_table& in) {
  const auto own = in.shards_of(id_);
  const auto share = in.share_of(id_);
  auto left = own.size() > share ? own.size() - share : 0;
  std::set<std::uint32_t> chosen;
  const auto choose = [&](std::uint32_t shard) {
    if (left > 0 && in.owners[shard] == id_ && chosen.insert(shard).second)
      --left;
  };
  for (const auto shard : own) // gained by a write of which it does not know that it succeeded
    if (std::ranges::find(own_, shard) == own_.end())
      choose(shard);
  for (const auto shard : std::views::reverse(own_))
    choose(shard);
  chosen_ = std::move(chosen);
  leaving_.insert(chosen_.begin(), chosen_.end());
}

result<group_table> group_machine::farewell() const {
  auto wanted = *table_;
  if (wanted.find(id_) == nullptr)
    return taken_for_dead(lease_);
  wanted.remove(id_);
  ++wanted.term;
  return wanted;
}

std::vector<std::uint32_t> group_machine::on_written(group_table table, time began) {
  std::vector<std::uint32_t> gained;
  for (const auto shard : table.shards_of(id_))
    if (std::ranges::find(own_, shard) == own_.end())
      gained.push_back(shard);
  std::erase_if(own_, [&](std::uint32_t shard) { return table.owners[shard] != id_; });
  own_.insert(own_.end(), gained.begin(), gained.end());
  leaving_ = std::move(chosen_);
  chosen_.clear();
  std::erase_if(leaving_, [&](std::uint32_t shard) { return table.owners[shard] != id_; });
  table_ = std::move(table);
  valid_until_ = began + time{lease_} * 3 / 4;
  beat_at_ = began + time{lease_} / beats_in_a_lease;
  return gained;
}

} // namespace weir
