#include <weir/lane_cursor.hpp>

#include <algorithm>

namespace weir {

namespace {

using run = std::pair<std::int64_t, std::int64_t>;

/// What lies in the one or in the other, behind `acknowledged`, in as few runs as there can be.
std::vector<run> join(const std::vector<run>& left, const std::vector<run>& right, std::int64_t acknowledged) {
  std::vector<run> both;
  both.reserve(left.size() + right.size());
  std::ranges::merge(left, right, std::back_inserter(both));
  std::vector<run> joined;
  for (auto [first, last] : both) {
    if (last <= acknowledged)
      continue;
    first = std::max(first, acknowledged + 1);
    if (!joined.empty() && first <= joined.back().second + 1)
      joined.back().second = std::max(joined.back().second, last);
    else
      joined.emplace_back(first, last);
  }
  return joined;
}

void raise(std::optional<position>& floor, const position& at) {
  if (!floor || !covers(*floor, at))
    floor = at;
}

} // namespace

bool lane_cursor::is_acknowledged(std::int64_t offset) const noexcept {
  const auto behind = std::ranges::upper_bound(now_.acknowledged, offset, {}, &run::first);
  return behind != now_.acknowledged.begin() && std::prev(behind)->second >= offset;
}

bool lane_cursor::pass_if_acknowledged(std::int64_t offset, const position* at) {
  bool is_done = is_acknowledged(offset);
  if (at != nullptr && !is_done) {
    // A lane that is new states its floor, and nothing of offsets. (Parts of one transaction can't be told from each other.)
    const auto& reached = now_.floor.reached;
    is_done = offset < now_.settled_below || (reached && reached->ends_transaction && covers(*reached, *at));
  }
  if (!is_done)
    return false;
  read_ = offset;
  if (at != nullptr) {
    passed_.emplace_back(place{offset, *at});
    raise_floor();
  }
  return true;
}

void lane_cursor::on_progress(const lane_progress& now) {
  lent_.pop_front(static_cast<std::size_t>(now.released - released_), [](std::int64_t) {});
  released_ = now.released;
  settled_ = now.settled_below;
  if (now.floor.reached)
    raise(now_.floor.reached, *now.floor.reached);
  if (now.floor.confirmable)
    raise(now_.floor.confirmable, *now.floor.confirmable);
  raise_floor();
  // Between two items that follow each other in the lane lies nothing that is still to be acknowledged.
  std::vector<run> behind_holes;
  for (const auto& [first, last] : now.acknowledged)
    behind_holes.emplace_back(
      lent_[static_cast<std::size_t>(first - released_)], lent_[static_cast<std::size_t>(last - released_)]);
  now_.acknowledged = join(now_.acknowledged, behind_holes, acknowledged());
}

void lane_cursor::raise_floor() {
  const auto settled = static_cast<std::size_t>(std::max(settled_, released_) - released_);
  now_.settled_below = std::max(now_.settled_below, settled < lent_.size() ? lent_[settled] : read_ + 1);
  for (; !passed_.empty() && passed_.front().offset < now_.settled_below; passed_.pop_front()) {
    const auto& at = passed_.front().at;
    raise(now_.floor.reached, at);
    if (at.ends_transaction)
      raise(now_.floor.confirmable, at);
  }
}

} // namespace weir
