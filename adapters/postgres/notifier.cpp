#include "notifier.hpp"

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

notifier::notifier(const bus_settings& how, outbox& from, link_trouble& trouble)
  : how_{how},
    from_{from},
    trouble_{trouble},
    thread_{[this] { run(); }} {
  pthread_setname_np(thread_.native_handle(), "weir.bus.say");
}

notifier::~notifier() {
  from_.close();
  if (finished_.get_future().wait_for(time_to_finish) != std::future_status::ready)
    stop_.set();
  thread_.join();
}

void notifier::run() {
  auto next_beacon = clock::now();
  while (!from_.is_closed()) {
    const auto now = clock::now();
    if (!to_ && now >= next_try_)
      connect();
    if (now >= next_beacon) {
      from_.add_beacon(how_.beacon);
      next_beacon = now + how_.beacon;
    }
    from_.heard_of_changes();
    if (to_ && !from_.empty()) {
      say_next(clock::now() + how_.patience);
      continue;
    }
    if (to_) {
      if (auto waiting = to_->wait(from_.changed(), stop_, next_beacon); !waiting)
        lose(std::move(waiting).error()); // now, and not with the next hint
      continue;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(std::min(next_beacon, next_try_) - clock::now()).count();
    pollfd waited{from_.changed().number(), 0, 0}; // what waits can't be said: only the end is of interest
    if (from_.is_closed())
      waited.events = POLLIN;
    ::poll(&waited, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 50)));
  }
  if (to_)
    finish();
  for (auto left = from_.take(words_per_statement, SIZE_MAX); !left.empty(); left = from_.take(words_per_statement, SIZE_MAX))
    give_up(left, error{errc::bus_closed, "the bus was closed before it could say that"});
  finished_.set_value();
}

void notifier::connect() {
  auto opened = connection::open(how_.server, stop_, clock::now() + how_.patience);
  if (opened) {
    to_.emplace(std::move(opened).value());
    trouble_.set({});
    if (std::exchange(was_connected_, true))
      reconnects_.fetch_add(1, std::memory_order_relaxed);
  } else {
    lose(std::move(opened).error());
  }
  if (!std::exchange(has_tried_, true))
    tried_.count_down();
}

void notifier::say_next(clock::time_point until) {
  say(from_.take(words_per_statement, bytes_per_statement), until);
  from_.on_settled();
}

void notifier::say(std::vector<outbox::word> words, clock::time_point until) {
  if (!has_spoken_)
    words.insert(words.begin(), from_.first_word(how_.beacon));
  bool has_beacon = false;
  for (const auto& one : words)
    has_beacon = has_beacon || one.text.starts_with("W1b");
  // One by itself goes out some 40 µs sooner without the plan for many (bench/bus, bus.postgres.roundtrip).
  auto said =
    words.size() == 1
      ? to_->run("SELECT pg_notify($1, $2)", {how_.channel, words.front().text}, stop_, until)
      : to_->run("SELECT pg_notify($1, one) FROM unnest($2::text[]) WITH ORDINALITY AS words(one, place) ORDER BY place",
          {how_.channel, array_of(words)}, stop_, until);
  if (said) {
    has_spoken_ = true;
    pauses_.on_progress();
    if (std::exchange(is_refused_, false))
      trouble_.set({});
    settle(words, success());
    if (has_beacon)
      ask_for_usage(until);
    return;
  }
  if (is_refusal(said.error())) { // the connection goes on
    is_refused_ = true;
    trouble_.set(said.error());
    give_up(words, said.error());
    return;
  }
  give_up(words, error{errc::outcome_unknown, "the connection died before the server said whether it has the hint",
                   {{"cause", said.error().sentence()}}});
  lose(std::move(said).error());
}

void notifier::ask_for_usage(clock::time_point until) {
  auto usage = to_->run("SELECT pg_notification_queue_usage()", {}, stop_, until);
  if (usage)
    queue_usage_.store(std::strtod(usage.value().first().c_str(), nullptr), std::memory_order_relaxed);
  else if (!is_refusal(usage.error()))
    lose(std::move(usage).error());
}

void notifier::lose(error why) {
  trouble_.set(std::move(why));
  to_.reset();
  is_refused_ = false;
  next_try_ = clock::now() + pauses_.next();
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
    say_next(until);
}

} // namespace weir::postgres
