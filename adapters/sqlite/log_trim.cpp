#include "log_trim.hpp"

#include <weir/log_rules.hpp>
#include <weir/retention.hpp>

#include "log_consumers.hpp"
#include "log_read.hpp"
#include "log_snapshots.hpp"

#include <boost/outcome/try.hpp>

#include <algorithm>

namespace weir::sqlite_log {

namespace {

/// Whose sake entries are kept for.
struct holders {
  std::vector<checkpoint> consumers;
  std::vector<pin_row> pins;

  std::string name_of(std::size_t one) const {
    return one < consumers.size() ? consumers[one].consumer
                                  : log_rules::pin_name(static_cast<std::uint64_t>(pins[one - consumers.size()].id));
  }
};

result<std::vector<retention_holder>> in_shard(log_file& in, const holders& all, const shard_row& of, std::int64_t now) {
  std::vector<retention_holder> found;
  for (const auto& one : all.consumers) {
    BOOST_OUTCOME_TRY(const auto behind, lag_behind(in, of, one.offsets[of.shard], now));
    found.push_back({one.offsets[of.shard], behind.entries, behind.bytes, behind.age, false});
  }
  for (const auto& one : all.pins)
    found.push_back({one.offsets[of.shard], 0, 0, {}, true});
  return found;
}

result<void> drop_through(log_file& in, const topic_row& topic, shard_row& of, std::int64_t through) {
  if (through < of.bounds.earliest)
    return success();
  of.before = digest_before(in, topic, of, through + 1);
  of.bounds.earliest = through + 1;
  // A block goes when its last entry does: where the next one begins at or below what is retained, or where nothing is.
  BOOST_OUTCOME_TRY(
    auto* erase, in.connection.kept("DELETE FROM weir_block WHERE place >= ?1 AND place < "
                                    "COALESCE((SELECT MAX(place) FROM weir_block WHERE place BETWEEN ?1 AND ?2), ?1)"));
  erase->bind(1, place_of(of.at, 0));
  erase->bind(2, place_of(of.at, of.bounds.earliest));
  BOOST_OUTCOME_TRY(erase->step());
  if (of.bounds.earliest == of.bounds.head) {
    BOOST_OUTCOME_TRY(auto* rest, in.connection.kept("DELETE FROM weir_block WHERE place >= ?1 AND place < ?2"));
    rest->bind(1, place_of(of.at, 0));
    rest->bind(2, place_of(of.at + 1, 0));
    BOOST_OUTCOME_TRY(rest->step());
  }
  BOOST_OUTCOME_TRY(auto* repairs, in.connection.kept("DELETE FROM weir_repair WHERE place >= ?1 AND place + count <= ?2"));
  repairs->bind(1, place_of(of.at, 0));
  repairs->bind(2, place_of(of.at, of.bounds.earliest));
  BOOST_OUTCOME_TRY(repairs->step());
  return write_shard(in, of);
}

} // namespace

result<trim_outcome> trim(log_file& in, const topic_row& topic, const trim_request& wanted, std::int64_t now) {
  BOOST_OUTCOME_TRY(log_rules::check_offsets(wanted.through, topic.shards));
  BOOST_OUTCOME_TRY(auto shards, read_shards(in, topic));
  BOOST_OUTCOME_TRY(const auto snapshots, read_snapshots(in, topic));
  BOOST_OUTCOME_TRY(log_rules::check_trim(topic.name, wanted.through, wanted.force, bounds_of(shards), snapshots));
  holders all;
  BOOST_OUTCOME_TRY(all.consumers, read_checkpoints(in, topic.id));
  std::erase_if(all.consumers, [](const checkpoint& one) { return one.expired; });
  BOOST_OUTCOME_TRY(all.pins, current_pins(in, topic.id, now));
  std::vector<shard_retention> retained;
  for (const auto& of : shards) {
    BOOST_OUTCOME_TRY(auto found, in_shard(in, all, of, now));
    retained.push_back({of.bounds.earliest, wanted.through[of.shard], std::move(found)});
  }
  const auto plan = plan_trim(retained, wanted.budget);
  trim_outcome outcome;
  for (const auto one : plan.held_by)
    outcome.held_by.push_back(all.name_of(one));
  std::ranges::sort(outcome.held_by);
  for (const auto one : plan.expired) {
    auto& lagging = all.consumers[one];
    lagging.expired = true;
    BOOST_OUTCOME_TRY(write_checkpoint(in, topic.id, lagging));
    outcome.expired.push_back(lagging.consumer);
  }
  for (auto& of : shards) {
    BOOST_OUTCOME_TRY(drop_through(in, topic, of, plan.through[of.shard]));
  }
  outcome.bounds = bounds_of(shards);
  BOOST_OUTCOME_TRY(trim_snapshots(in, topic, outcome.bounds, now));
  return outcome;
}

} // namespace weir::sqlite_log
