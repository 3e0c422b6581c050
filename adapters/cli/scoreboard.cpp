#include <weir/cli/scoreboard.hpp>
#include <weir/cli/units.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weir::cli {

namespace {

/// Taken several times a second: only a pipeline gone mad tells more in between.
constexpr std::size_t most_events = 256;

std::vector<std::pair<std::string, std::string>> facts_of(const error& why) {
  auto entry = entry_of(severity::warning, why);
  return std::move(entry.facts);
}

} // namespace

scoreboard::scoreboard(std::vector<std::string> sinks, std::optional<position> confirmed, std::optional<std::string> final_sink)
  : confirmed_{confirmed},
    final_sink_{std::move(final_sink)} {
  for (auto& name : sinks)
    sinks_.push_back({std::move(name)});
}

scoreboard::sink_score* scoreboard::find(const std::string& sink) {
  const auto found = std::ranges::find(sinks_, sink, &sink_score::name);
  return found == sinks_.end() ? nullptr : &*found;
}

void scoreboard::tell(severity level, std::string message, std::vector<std::pair<std::string, std::string>> facts) {
  if (events_.size() < most_events)
    events_.push_back({std::chrono::system_clock::now(), level, std::move(message), std::move(facts)});
  else
    ++left_out_;
}

void scoreboard::on_read(std::uint64_t changes, const position& at) {
  const std::lock_guard lock{mutex_};
  changes_ += changes;
  if (read_ && at.epoch != read_->epoch)
    tell(severity::info, "the source has opened a new epoch", {{"position", to_string(at)}});
  read_ = at;
}

void scoreboard::on_confirmed(const position& at) {
  const std::lock_guard lock{mutex_};
  confirmed_ = at;
}

void scoreboard::on_source_ended() {
  const std::lock_guard lock{mutex_};
  tell(severity::info, "the source has ended", {{"changes", std::to_string(changes_)}});
}

void scoreboard::on_written(const std::string& sink, std::uint64_t changes) {
  const std::lock_guard lock{mutex_};
  if (auto* score = find(sink)) {
    score->written += changes;
    score->is_waiting = false;
  }
}

void scoreboard::on_overload(const std::string& sink, std::chrono::milliseconds wait) {
  const std::lock_guard lock{mutex_};
  auto* score = find(sink);
  // Once for each time that it begins: it may go on for long.
  if (score != nullptr && !std::exchange(score->is_waiting, true))
    tell(severity::info, fmt::format("the sink {} asks to be left alone for a while", sink), {{"wait", exact_duration(wait)}});
}

void scoreboard::on_unannounced(const std::string& sink, const error& why) {
  const std::lock_guard lock{mutex_};
  tell(severity::warning, fmt::format("the sink {} can't announce what it has committed: {}", sink, why.sentence()),
    facts_of(why));
}

void scoreboard::on_failure(const std::string& sink, const error& why, std::chrono::milliseconds next_try) {
  const std::lock_guard lock{mutex_};
  if (auto* score = find(sink))
    score->is_waiting = true;
  if (sink == final_sink_ && why == errc::sink_failed) {
    final_failure_ = why;
    return;
  }
  tell(severity::warning, fmt::format("the sink {} failed, next try in {}: {}", sink, exact_duration(next_try), why.sentence()),
    facts_of(why));
}

void scoreboard::on_recovery(const std::string& sink) {
  const std::lock_guard lock{mutex_};
  if (auto* score = find(sink))
    score->is_waiting = false;
  tell(severity::info, fmt::format("the sink {} is open again", sink), {});
}

void scoreboard::on_dead_letters(const std::string& lane, std::size_t count, const error& first) {
  const std::lock_guard lock{mutex_};
  dead_letters_ += count;
  tell(severity::warning,
    fmt::format("{} of {} went to the dead letters: {}", counted(count, "record", "records"), lane, first.sentence()),
    facts_of(first));
}

void scoreboard::on_backfill(const std::string& sink, bool complete) {
  const std::lock_guard lock{mutex_};
  if (auto* score = find(sink))
    score->is_filling = !complete;
  tell(severity::info, fmt::format("the backfill of {} {}", sink, complete ? "is complete" : "has begun"), {});
}

std::vector<log_entry> scoreboard::take_events() {
  const std::lock_guard lock{mutex_};
  if (const auto left_out = std::exchange(left_out_, 0); left_out > 0)
    events_.push_back({std::chrono::system_clock::now(), severity::warning,
      fmt::format("{} left out of the log", counted(left_out, "event", "events")), {}});
  return std::exchange(events_, {});
}

std::optional<error> scoreboard::final_failure() const {
  const std::lock_guard lock{mutex_};
  return final_failure_;
}

figures scoreboard::now(std::chrono::milliseconds elapsed, const stream_figures& lanes) const {
  const std::lock_guard lock{mutex_};
  figures shown{elapsed, changes_, {}, std::nullopt, lanes.charged_bytes};
  for (const auto& score : sinks_) {
    lane_standing lane{score.name, 0, lane_state::flowing};
    const auto found = std::ranges::find_if(lanes.lanes, [&](const auto& one) { return one.id.sink == score.name; });
    if (found != lanes.lanes.end())
      lane.backlog = found->published - std::min(found->published, found->acknowledged) + found->in_log;
    if (score.is_waiting)
      lane.state = lane_state::waiting;
    else if (score.is_filling)
      lane.state = lane_state::filling;
    shown.lanes.push_back(std::move(lane));
  }
  if (!read_)
    shown.lag = 0;
  else if (confirmed_ && confirmed_->epoch == read_->epoch)
    shown.lag = read_->seq - std::min(read_->seq, confirmed_->seq);
  return shown;
}

std::uint64_t scoreboard::changes() const {
  const std::lock_guard lock{mutex_};
  return changes_;
}

std::uint64_t scoreboard::dead_letters() const {
  const std::lock_guard lock{mutex_};
  return dead_letters_;
}

std::optional<position> scoreboard::confirmed() const {
  const std::lock_guard lock{mutex_};
  return confirmed_;
}

std::vector<std::pair<std::string, std::uint64_t>> scoreboard::written() const {
  const std::lock_guard lock{mutex_};
  std::vector<std::pair<std::string, std::uint64_t>> all;
  for (const auto& score : sinks_)
    all.emplace_back(score.name, score.written);
  return all;
}

} // namespace weir::cli
