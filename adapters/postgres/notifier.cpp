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
constexpr auto time_to_connect_at_the_end = 500ms;

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
  while (!from_.is_closed())
    if (!work())
      wait();
  const std::lock_guard lock{line_};
  finish();
  finished_.set_value();
}

/// Whatever there is to do now. True: there may be more.
bool notifier::work() {
  const std::lock_guard lock{line_};
  if (!under_way_.empty())
    end_statement();
  if (to_ && std::exchange(has_input_, false))
    if (auto heard = to_->take_in(); !heard)
      lose(std::move(heard).error()); // now, and not with the next hint
  const auto now = clock::now();
  if (!to_ && now >= next_try_)
    connect(now + how_.patience);
  if (now >= next_beacon_) {
    from_.add_beacon(how_.beacon);
    next_beacon_ = now + how_.beacon;
  }
  from_.heard_of_changes();
  if (to_)
    begin_statement();
  return !under_way_.empty();
}

void notifier::wait() {
  std::array waited{pollfd{-1, POLLIN, 0}, pollfd{from_.changed().number(), POLLIN, 0}, pollfd{stop_.number(), POLLIN, 0}};
  const auto now = clock::now();
  auto until = std::min(next_beacon_, now + how_.patience); // for the answer to what a publisher begins meanwhile
  {
    const std::lock_guard lock{line_};
    if (to_)
      waited[0].fd = to_->socket();
    else
      until = std::min(until, next_try_);
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(std::max(until - now, clock::duration::zero()));
  ::poll(waited.data(), waited.size(), static_cast<int>(left.count()));
  has_input_ = waited[0].revents != 0;
}

void notifier::on_news() {
  const std::unique_lock turn{line_, std::try_to_lock};
  if (turn && (!to_ || !under_way_.empty()))
    return; // it is said as soon as there is a connection, or that is answered
  if (!turn || !has_spoken_ || !begin_statement())
    from_.call();
}

void notifier::connect(clock::time_point until) {
  auto opened = connection::open(how_.server, stop_, until);
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

/// False: its own thread has something to do for it.
bool notifier::begin_statement() {
  under_way_ = from_.take(words_per_statement, bytes_per_statement);
  if (under_way_.empty())
    return true;
  if (!has_spoken_)
    under_way_.insert(under_way_.begin(), from_.first_word(how_.beacon));
  until_ = clock::now() + how_.patience;
  // One by itself goes out some 40 µs sooner without the plan for many (bench/bus, bus.postgres.roundtrip).
  auto begun =
    under_way_.size() == 1
      ? to_->start("SELECT pg_notify($1, $2)", {how_.channel, under_way_.front().text})
      : to_->start("SELECT pg_notify($1, one) FROM unnest($2::text[]) WITH ORDINALITY AS words(one, place) ORDER BY place",
          {how_.channel, array_of(under_way_)});
  if (begun)
    return begun.value();
  not_begun_ = std::move(begun).error();
  return false;
}

void notifier::end_statement() {
  auto said = not_begun_ ? result<rows>{*std::exchange(not_begun_, {})} : to_->finish(stop_, until_);
  const auto words = std::exchange(under_way_, {});
  if (said) {
    has_spoken_ = true;
    pauses_.on_progress();
    if (std::exchange(is_refused_, false))
      trouble_.set({});
    settle(words, success());
    if (std::ranges::any_of(words, [](const outbox::word& one) { return one.text.starts_with("W1b"); }))
      ask_for_usage();
  } else if (is_refusal(said.error())) { // the connection goes on
    is_refused_ = true;
    trouble_.set(said.error());
    give_up(words, said.error());
  } else {
    give_up(words, error{errc::outcome_unknown, "the connection died before the server said whether it has the hint",
                     {{"cause", said.error().sentence()}}});
    lose(std::move(said).error());
  }
  from_.on_settled();
}

void notifier::ask_for_usage() {
  auto usage = to_->run("SELECT pg_notification_queue_usage()", {}, stop_, until_);
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

/// What is there still goes out, if that can be done soon: where the link is down, or found to be dead, it is tried once more.
void notifier::finish() {
  const auto until = clock::now() + std::min<std::chrono::milliseconds>(how_.patience, time_to_finish);
  const auto try_once_more = [&] { connect(std::min(until, clock::now() + time_to_connect_at_the_end)); };
  if (!to_ && (has_spoken_ || from_.hints() > 0))
    try_once_more();
  bool may_be_dead = to_.has_value();
  from_.add_leave();
  while (to_ && (!under_way_.empty() || !from_.empty())) {
    if (under_way_.empty())
      begin_statement();
    until_ = std::min(until_, until);
    end_statement();
    if (!to_ && std::exchange(may_be_dead, false)) {
      try_once_more();
      from_.add_leave(); // the one before may have gone with the connection
    }
  }
  to_.reset();
  for (auto left = from_.take(words_per_statement, SIZE_MAX); !left.empty(); left = from_.take(words_per_statement, SIZE_MAX))
    give_up(left, error{errc::bus_closed, "the bus was closed before it could say that"});
}

} // namespace weir::postgres
