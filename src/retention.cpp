#include <weir/retention.hpp>

#include <algorithm>
#include <set>

namespace weir {

namespace {

bool is_over(const retention_holder& holder, const retention_budget& budget) noexcept {
  if (holder.is_pin)
    return false;
  return (budget.entries && holder.lag_entries > *budget.entries) || (budget.bytes && holder.lag_bytes > *budget.bytes)
         || (budget.age && holder.age > *budget.age);
}

/// The last offset of the shard that may go.
std::int64_t through_of(const shard_retention& of, const std::set<std::size_t>& expired, const retention_budget& budget) {
  auto through = of.asked;
  for (std::size_t one = 0; one < of.holders.size(); ++one)
    if (!expired.contains(one) && !is_over(of.holders[one], budget))
      through = std::min(through, of.holders[one].offset);
  return through;
}

/// Adds those that are expired in the shard; whether there were more than were known.
bool expire(const shard_retention& of, const retention_budget& budget, std::set<std::size_t>& expired) {
  const auto through = through_of(of, expired, budget);
  const auto known = expired.size();
  for (std::size_t one = 0; one < of.holders.size() && through >= of.earliest; ++one)
    if (is_over(of.holders[one], budget) && of.holders[one].offset < through)
      expired.insert(one);
  return expired.size() > known;
}

} // namespace

trim_plan plan_trim(const std::vector<shard_retention>& shards, const retention_budget& budget) {
  std::set<std::size_t> expired;
  for (bool has_more = true; has_more;) { // one that is expired lets others be trimmed over
    has_more = false;
    for (const auto& one : shards)
      has_more = expire(one, budget, expired) || has_more;
  }
  trim_plan plan;
  std::set<std::size_t> held_by;
  for (const auto& of : shards) {
    const auto through = through_of(of, expired, budget);
    plan.through.push_back(through);
    for (std::size_t one = 0; one < of.holders.size(); ++one)
      if (through < of.asked && of.holders[one].offset == through && !expired.contains(one)
          && !is_over(of.holders[one], budget))
        held_by.insert(one);
  }
  plan.held_by.assign(held_by.begin(), held_by.end());
  plan.expired.assign(expired.begin(), expired.end());
  return plan;
}

} // namespace weir
