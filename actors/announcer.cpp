#include <weir/announcer.hpp>

#include <chrono>
#include <utility>

namespace weir {

namespace {

using namespace std::chrono_literals;

constexpr auto time_between_tries = 20ms;
constexpr int tries_at_the_end = 100;

} // namespace

announcer::announcer(announce_options how, std::function<void(const error&)> on_failing)
  : to_{std::move(how.to)},
    waiting_{std::move(how.topic), how.per},
    on_failing_{std::move(on_failing)} {}

void announcer::begin(const std::vector<std::string>& collections) {
  waiting_.begin(collections);
  changed_.notify_all();
}

void announcer::add(const lane_item& committed) {
  waiting_.add(committed);
  changed_.notify_all();
}

void announcer::end() {
  is_over_ = true;
  changed_.notify_all();
}

/// Fails where the bus takes nothing more.
result<void> announcer::publish_all() {
  tell_faults();
  while (const auto next = waiting_.front()) {
    auto published = to_.publish(next->topic, next->payload, next->key);
    if (!published)
      return published;
    waiting_.pop();
  }
  return success();
}

void announcer::tell_faults() {
  for (const auto& one : waiting_.take_faults())
    on_failing_(one);
}

task<> announcer::run(self me, std::shared_ptr<announcer> of) {
  for (int tries_left = tries_at_the_end;;) {
    auto published = of->publish_all();
    if (published && of->is_over_)
      co_return;
    if (published) {
      auto waiting = of->changed_.wait();
      auto woken = co_await waiting;
      if (!woken)
        co_return;
      continue;
    }
    const bool may_be_tried = published.error() == errc::bus_full && (!of->is_over_ || --tries_left > 0);
    if (!may_be_tried) {
      of->on_failing_(published.error());
      co_return;
    }
    auto pausing = me.sleep(time_between_tries);
    auto paused = co_await pausing;
    if (!paused)
      co_return;
  }
}

} // namespace weir
