#include <weir/loss_tracker.hpp>

#include <algorithm>
#include <utility>

namespace weir {

namespace {

using namespace std::chrono_literals;

constexpr auto time_between_asks = 1s;
constexpr int beacons_until_gone = 2;
constexpr std::size_t most_left = 256;

} // namespace

std::optional<lost> share_of(const lost& missing, const missed_span& span, std::uint64_t began) noexcept {
  if (began <= span.after)
    return missing;
  if (began > span.until)
    return std::nullopt;
  return lost{0, false, missing.publisher, missing.cause};
}

/// `before` is the number in front of what is heard: of a publisher that was never heard of, everything up to there is history.
loss_tracker::publisher_state& loss_tracker::state_of(bus_id publisher, std::uint64_t before, time now) {
  const auto [found, is_new] = publishers_.try_emplace(publisher);
  auto& of = found->second;
  if (is_new) {
    of.last = before;
    of.gap.until = link_gap_at_;
    if (publishers_.size() > most_)
      forget_another(publisher);
  }
  of.heard = now;
  alive_at_ = now;
  of.is_gone = of.has_left;
  return of;
}

/// Everything up to `before` should have been heard by now.
void loss_tracker::note_number(publisher_state& of, std::uint64_t before) {
  if (before > of.last) {
    of.missing_hints += before - of.last;
    if (!of.missing) {
      of.missing = of.last;
      of.cause = of.may_miss ? loss_cause::link_gap : loss_cause::publisher;
      of.gap.after = of.whole_at;
    } else if (of.may_miss) {
      of.cause = loss_cause::link_gap;
    }
    of.gap.until = ++moment_;
    of.last = before;
    of.answered = 0;
  }
  of.may_miss = false;
  of.whole_at = moment_;
}

/// What of a topic was not heard, where everything up to `on_topic` should have been.
void loss_tracker::tell_missing(std::vector<finding>& into, const std::string& topic, const topic_state& in, bus_id publisher,
  const publisher_state& of, std::uint64_t on_topic) const {
  const auto cause = of.missing ? of.cause : loss_cause::publisher;
  const auto known = in.last.find(publisher);
  if (known == in.last.end()) {
    // Nothing of it was heard since the subscription began; what there was before that is history, and nobody knows how much.
    if (on_topic > 0 && of.gap.until > in.subscribed_at)
      into.push_back({topic, lost{0, false, publisher, cause}, of.gap});
    return;
  }
  const auto& [last, at] = known->second;
  const missed_span span{std::max(of.gap.after, at), of.gap.until};
  if (on_topic > last)
    into.push_back({topic, lost{on_topic - last, true, publisher, cause}, span});
  else if (on_topic < last) // the publisher has forgotten the topic meanwhile, and began to count anew
    into.push_back({topic, lost{on_topic, false, publisher, cause}, span});
}

loss_tracker::heard loss_tracker::on_hint(std::string_view topic, const hint_place& at, time now) {
  heard found;
  auto& of = state_of(at.publisher, at.number - 1, now);
  if (at.number <= of.last)
    return found;
  found.is_new = true;
  note_number(of, at.number - 1);
  of.last = at.number;
  ++of.heard_hints;
  if (const auto in = topics_.find(topic); in != topics_.end()) {
    tell_missing(found.before, in->first, in->second, at.publisher, of, at.on_topic - 1);
    in->second.last.insert_or_assign(at.publisher, known_number{at.on_topic, moment_});
  }
  return found;
}

std::vector<finding> loss_tracker::on_undecodable(std::string_view topic, const hint_place& at, time now) {
  auto [is_new, found] = on_hint(topic, at, now);
  if (is_new && topics_.contains(topic))
    found.push_back({std::string{topic}, lost{1, true, at.publisher, loss_cause::undecodable}});
  return std::move(found);
}

std::vector<finding> loss_tracker::on_beacon(const bus_beacon& one, time now) {
  auto& of = state_of(one.publisher, one.number, now);
  note_number(of, one.number);
  of.interval = one.interval;
  return {};
}

std::vector<finding> loss_tracker::on_answer(const bus_answer& one, time now) {
  std::vector<finding> found;
  auto& of = state_of(one.publisher, one.number, now);
  if (one.number < of.last) // it comes out of a connection that was given up
    return found;
  note_number(of, one.number);
  for (const auto& [topic, on_topic] : one.topics) {
    const auto in = topics_.find(topic);
    if (in == topics_.end())
      continue;
    tell_missing(found, topic, in->second, one.publisher, of, on_topic);
    in->second.last.insert_or_assign(one.publisher, known_number{on_topic, moment_});
  }
  if (!of.missing || one.since > *of.missing)
    return found;
  const std::pair answer{one.number, one.since};
  if (one.part == 0)
    of.answered = 1;
  else
    of.answered = one.part == of.answered && answer == of.answer ? of.answered + 1 : 0;
  of.answer = answer;
  if (of.answered < one.parts)
    return found;
  if (one.has_forgotten)
    give_up(found, one.publisher, of, of.gap);
  of.missing.reset();
  of.asked.reset();
  of.answered = 0;
  return found;
}

std::vector<finding> loss_tracker::on_leave(const bus_leave& one, time now) {
  std::vector<finding> found;
  auto& of = state_of(one.publisher, one.number, now);
  note_number(of, one.number);
  if (of.missing) // there is nobody any more to ask
    give_up(found, one.publisher, of, of.gap);
  of.missing.reset();
  if (!of.is_gone)
    tell_gone(found, one.publisher);
  of.is_gone = true;
  if (!std::exchange(of.has_left, true))
    keep_figures_of(one.publisher);
  for (auto& [topic, in] : topics_)
    in.last.erase(one.publisher);
  return found;
}

std::vector<finding> loss_tracker::on_link_up(time now) {
  is_up_ = true;
  alive_at_ = now;
  link_gap_at_ = ++moment_;
  for (auto& [publisher, of] : publishers_) {
    of.may_miss = true;
    of.heard = now;
    of.asked.reset();
    of.answered = 0;
  }
  std::vector<finding> found;
  for (const auto& [topic, in] : topics_)
    found.push_back({topic, lost{0, false, {}, loss_cause::link_gap}});
  return found;
}

std::vector<finding> loss_tracker::on_time(time now) {
  std::vector<finding> found;
  if (!is_up_)
    return found;
  for (auto& [publisher, of] : publishers_) {
    const auto interval = of.interval == 0ms ? assumed_ : of.interval;
    const bool is_silent = now - of.heard >= beacons_until_gone * interval && alive_at_ - of.heard >= interval;
    if (of.is_gone || !is_silent)
      continue;
    of.is_gone = true;
    // It may have accepted more than it could say; what the numbers say, they say when it is heard again.
    give_up(found, publisher, of, {of.missing ? of.gap.after : of.whole_at, ++moment_});
    tell_gone(found, publisher);
  }
  return found;
}

std::vector<std::pair<bus_id, std::uint64_t>> loss_tracker::take_asks(time now) {
  std::vector<std::pair<bus_id, std::uint64_t>> asks;
  if (!is_up_)
    return asks;
  for (auto& [publisher, of] : publishers_) {
    const bool is_awaited = of.interval == 0ms && now - of.heard >= assumed_;
    if ((!of.missing && !is_awaited) || of.is_gone || (of.asked && now - *of.asked < time_between_asks))
      continue;
    of.asked = now;
    asks.emplace_back(publisher, of.missing.value_or(of.last));
  }
  return asks;
}

std::vector<publisher_figures> loss_tracker::figures(time now) const {
  std::vector<publisher_figures> all;
  all.reserve(publishers_.size());
  for (const auto& [publisher, of] : publishers_)
    all.push_back({publisher, of.last, of.heard_hints, of.missing_hints, of.interval, now - of.heard, of.is_gone, of.has_left});
  return all;
}

/// Something is missing, or may be, and nobody will say on which topics.
void loss_tracker::give_up(
  std::vector<finding>& into, bus_id publisher, const publisher_state& of, const missed_span& span) const {
  for (const auto& [topic, in] : topics_)
    into.push_back({topic, lost{0, false, publisher, of.missing ? of.cause : loss_cause::publisher}, span});
}

void loss_tracker::tell_gone(std::vector<finding>& into, bus_id publisher) const {
  for (const auto& [topic, in] : topics_)
    if (in.last.contains(publisher))
      into.push_back({topic, gone{publisher}});
}

void loss_tracker::keep_figures_of(bus_id left) {
  left_.push_back(left);
  if (left_.size() <= most_left)
    return;
  const auto oldest = publishers_.find(left_.front());
  if (oldest != publishers_.end() && oldest->second.has_left)
    publishers_.erase(oldest);
  left_.pop_front();
}

/// The one that was silent for longest.
void loss_tracker::forget_another(bus_id kept) {
  auto oldest = publishers_.end();
  for (auto one = publishers_.begin(); one != publishers_.end(); ++one)
    if (one->first != kept && (oldest == publishers_.end() || one->second.heard < oldest->second.heard))
      oldest = one;
  if (oldest == publishers_.end())
    return;
  for (auto& [topic, in] : topics_)
    in.last.erase(oldest->first);
  publishers_.erase(oldest);
}

} // namespace weir
