#include "notifier.hpp"

#include "jitter.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <poll.h>
#include <pthread.h>
#include <utility>

namespace weir::postgres {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t words_per_statement = 512;
constexpr std::size_t bytes_per_statement = 1U << 20U;
constexpr auto time_to_finish = 2s;

/// An array of text as PostgreSQL reads it. The words have no quotes and no backslashes.
std::string array_of(const std::vector<outbox::word>& words) {
  std::string text{"{"};
  for (const auto& one : words)
    text.append(text.size() > 1 ? ",\"" : "\"").append(one.text) += '"';
  return text + '}';
}

void settle(const std::vector<outbox::word>& words, const result<void>& outcome) {
  for (const auto& one : words)
    if (one.told)
      one.told->settle(outcome);
}

} // namespace

notifier::notifier(const bus_settings& how, outbox& from) : how_{how}, from_{from}, thread_{[this] { run(); }} {
  pthread_setname_np(thread_.native_handle(), "weir.bus.say");
}

notifier::~notifier() {
  from_.close();
  if (finished_.get_future().wait_for(time_to_finish) != std::future_status::ready)
    stop_.set();
  thread_.join();
}

void notifier::run() {
  jittered_backoff pauses;
  auto next_beacon = clock::now();
  auto next_try = clock::now();
  while (!from_.is_closed()) {
    const auto now = clock::now();
    if (!to_ && now >= next_try) {
      if (connect())
        pauses.on_progress();
      else
        next_try = clock::now() + pauses.next();
    }
    if (now >= next_beacon) {
      from_.add_beacon(how_.beacon);
      next_beacon = now + how_.beacon;
    }
    from_.heard_of_changes();
    if (to_ && !from_.empty()) {
      say(from_.take(words_per_statement, bytes_per_statement), clock::now() + how_.patience);
      continue;
    }
    const auto until = to_ ? next_beacon : std::min(next_beacon, next_try);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock::now()).count();
    pollfd waited{from_.changed().number(), POLLIN, 0};
    if (!to_) // what waits can't be said: only the end is of interest
      waited.events = from_.is_closed() ? POLLIN : 0;
    ::poll(&waited, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, to_ ? 60'000 : 50)));
  }
  if (to_)
    finish();
  for (auto left = from_.take(words_per_statement, SIZE_MAX); !left.empty(); left = from_.take(words_per_statement, SIZE_MAX))
    give_up(left, error{errc::bus_closed, "the bus was closed before it could say that"});
  finished_.set_value();
}

bool notifier::connect() {
  auto opened = connection::open(how_.server, stop_, clock::now() + how_.patience);
  if (!opened)
    trouble_.set(opened.error());
  if (!std::exchange(has_tried_, true))
    tried_.count_down();
  if (!opened)
    return false;
  to_.emplace(std::move(opened).value());
  trouble_.set({});
  if (std::exchange(was_connected_, true))
    reconnects_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void notifier::say(std::vector<outbox::word> words, clock::time_point until) {
  bool has_beacon = false;
  for (const auto& one : words)
    has_beacon = has_beacon || one.text.starts_with("W1b");
  // One by itself takes the server a quarter of the time to plan.
  auto said =
    words.size() == 1
      ? to_->run("SELECT pg_notify($1, $2)", {how_.channel, words.front().text}, stop_, until)
      : to_->run("SELECT pg_notify($1, one) FROM unnest($2::text[]) WITH ORDINALITY AS words(one, place) ORDER BY place",
          {how_.channel, array_of(words)}, stop_, until);
  if (said) {
    settle(words, success());
    if (has_beacon)
      if (auto usage = to_->run("SELECT pg_notification_queue_usage()", {}, stop_, until))
        queue_usage_.store(std::strtod(usage.value().first().c_str(), nullptr), std::memory_order_relaxed);
    return;
  }
  const bool is_refused = !said.error().fact_of("sqlstate").empty() && said.error() != errc::disconnected;
  if (is_refused) { // the server says so, and goes on
    give_up(words, said.error());
    return;
  }
  trouble_.set(said.error());
  give_up(words, error{errc::outcome_unknown, "the connection died before the server said whether it has the hint",
                   {{"cause", said.error().sentence()}}});
  to_.reset();
}

void notifier::give_up(const std::vector<outbox::word>& words, const error& why) {
  unconfirmed_.fetch_add(
    static_cast<std::uint64_t>(std::ranges::count(words, true, &outbox::word::is_hint)), std::memory_order_relaxed);
  settle(words, why);
}

/// What is there still goes out, if that can be done soon.
void notifier::finish() {
  const auto until = clock::now() + std::min<std::chrono::milliseconds>(how_.patience, time_to_finish);
  from_.add_leave();
  while (to_ && !from_.empty())
    say(from_.take(words_per_statement, bytes_per_statement), until);
}

} // namespace weir::postgres
