#include "listener.hpp"

#include "jitter.hpp"
#include "server_check.hpp"

#include <boost/outcome/try.hpp>

#include <array>
#include <poll.h>
#include <pthread.h>
#include <utility>

namespace weir::postgres {

namespace {

using namespace std::chrono_literals;

constexpr int beacons_until_doubt = 2;
constexpr int beacons_until_deaf = 3;
constexpr auto time_between_answers = 200ms;

loss_tracker::time time_of(clock::time_point now) noexcept {
  return now.time_since_epoch();
}

/// As SQL wants a channel.
std::string quoted(const std::string& name) {
  std::string text{"\""};
  for (const auto one : name)
    text.append(one == '"' ? 2 : 1, one);
  return text + '"';
}

} // namespace

listener::listener(const bus_settings& how, bus_id own, outbox& to, std::shared_ptr<detail::bus_topics> topics,
  const link_trouble& saying, bool is_checked)
  : how_{how},
    own_{own},
    to_{to},
    topics_{std::move(topics)},
    saying_{saying},
    heard_{std::make_shared<guarded_tracker>(how.beacon)},
    is_checked_{is_checked},
    thread_{[this] { run(); }} {
  pthread_setname_np(thread_.native_handle(), "weir.bus.hear");
}

listener::~listener() {
  stop_.set();
  thread_.join();
}

std::shared_ptr<detail::subscription_state> listener::subscribe(std::string_view topic, subscription_options how) {
  const std::lock_guard lock{heard_->mutex};
  const auto began = heard_->tracker.subscribe(std::string{topic});
  // May be called when the listener is no more.
  auto forget = [heard = heard_, topics = std::weak_ptr{topics_}](const std::string& left) {
    const auto all = topics.lock();
    const std::lock_guard forgetting{heard->mutex};
    if (!all || !all->find(left)) // nobody has subscribed to it again meanwhile
      heard->tracker.unsubscribe(left);
  };
  return topics_->subscribe(topics_, topic, how, own_, std::move(forget), began);
}

std::vector<publisher_figures> listener::publishers() const {
  const std::lock_guard lock{heard_->mutex};
  return heard_->tracker.figures(time_of(clock::now()));
}

void listener::run() {
  jittered_backoff pauses;
  for (bool is_first = true;; is_first = false) {
    auto listening = listen();
    if (!listening)
      trouble_.set(listening.error());
    if (is_first)
      tried_.count_down();
    if (listening) {
      pauses.on_progress();
      trouble_.set({});
      hear_until_it_ends();
      from_.reset();
      const std::lock_guard lock{heard_->mutex};
      heard_->tracker.on_link_down();
    } else {
      from_.reset();
    }
    may_have_missed_ = true;
    pollfd waited{stop_.number(), POLLIN, 0};
    ::poll(&waited, 1, static_cast<int>(pauses.next().count()));
    if (waited.revents != 0)
      return;
  }
}

result<void> listener::listen() {
  const auto until = clock::now() + how_.patience;
  if (!is_checked_) {
    BOOST_OUTCOME_TRY(check_server(how_.server, stop_, until));
    is_checked_ = true;
  }
  BOOST_OUTCOME_TRY(auto opened, connection::open(how_.server, stop_, until));
  from_.emplace(std::move(opened));
  BOOST_OUTCOME_TRY(from_->run(("LISTEN " + quoted(how_.channel)).c_str(), {}, stop_, until));
  const auto now = clock::now();
  own_heard_ = now;
  if (std::exchange(was_connected_, true))
    reconnects_.fetch_add(1, std::memory_order_relaxed);
  if (!may_have_missed_)
    return success();
  {
    const std::lock_guard lock{heard_->mutex};
    tell(heard_->tracker.on_link_up(time_of(now)));
  }
  discharge(); // before the first hint is heard
  return success();
}

void listener::hear_until_it_ends() {
  const auto tick = std::clamp<std::chrono::milliseconds>(how_.beacon / 4, 20ms, 1000ms);
  for (;;) {
    take_what_came();
    const auto now = clock::now();
    std::vector<std::pair<bus_id, std::uint64_t>> asks;
    {
      const std::lock_guard lock{heard_->mutex};
      tell(heard_->tracker.on_time(time_of(now)));
      asks = heard_->tracker.take_asks(time_of(now));
    }
    discharge();
    for (const auto& [whom, since] : asks)
      to_.add_ask(whom, since);
    auto going_on = check_that_it_hears();
    if (going_on)
      going_on = from_->wait(nothing_, stop_, std::min(now + tick, own_heard_ + beacons_until_deaf * how_.beacon));
    if (!going_on) {
      trouble_.set(std::move(going_on).error());
      return;
    }
    pollfd stopped{stop_.number(), POLLIN, 0};
    if (::poll(&stopped, 1, 0) > 0)
      return;
  }
}

/// By its own beacons; while those can't be said, or are refused, by the server's answer on this connection. Fails with
/// disconnected.
result<void> listener::check_that_it_hears() {
  if (clock::now() < own_heard_ + beacons_until_doubt * how_.beacon)
    return success();
  const auto until = own_heard_ + beacons_until_deaf * how_.beacon;
  if (saying_.get()) {
    auto answer = from_->run("SELECT 1", {}, stop_, until);
    if (answer) {
      own_heard_ = clock::now();
      const std::lock_guard lock{heard_->mutex};
      heard_->tracker.on_link_alive(time_of(own_heard_));
      return success();
    }
    if (answer.error() != errc::timed_out)
      return std::move(answer).error();
  }
  if (clock::now() < until)
    return success();
  is_checked_ = false; // something may stand in the way that was not there before
  return error{errc::disconnected, "nothing that this bus says comes back to it", {{"server", how_.server.place}}};
}

void listener::take_what_came() {
  while (auto text = from_->take_notification()) {
    {
      const std::lock_guard lock{heard_->mutex};
      hear(*text);
    }
    discharge();
  }
}

/// With the lock held, as everything below but discharge().
void listener::hear(const std::string& text) {
  auto said = parse_bus_text(text);
  if (said)
    std::visit([this](const auto& one) { on(one); }, said.value());
  else
    (said.error() == errc::newer_format ? undecodable_ : foreign_).fetch_add(1, std::memory_order_relaxed);
}

void listener::on(const hint_text& one) {
  const auto now = time_of(clock::now());
  const auto topic = topics_->find(one.topic);
  if (!topic) {
    if (heard_->tracker.on_hint(one.topic, one.at, now).is_new) // nobody's topic: there is nothing to tell
      topics_->count(one.at);
    return;
  }
  auto decoded = decode(one);
  if (!decoded) {
    undecodable_.fetch_add(1, std::memory_order_relaxed);
    tell(heard_->tracker.on_undecodable(one.topic, one.at, now));
    return;
  }
  auto heard = heard_->tracker.on_hint(one.topic, one.at, now);
  tell(std::move(heard.before));
  if (heard.is_new)
    take_in(topic, std::move(decoded).value());
}

void listener::on(const bus_beacon& one) {
  if (one.publisher == own_)
    own_heard_ = clock::now();
  tell(heard_->tracker.on_beacon(one, time_of(clock::now())));
}

void listener::on(const bus_ask& one) {
  if (one.publisher != own_)
    return;
  const auto now = clock::now();
  if (answered_ && now - *answered_ < time_between_answers)
    return; // who was not answered asks again
  answered_ = now;
  to_.add_answer(one.since, how_.beacon);
}

void listener::on(const bus_answer& one) {
  tell(heard_->tracker.on_answer(one, time_of(clock::now())));
}

void listener::on(const bus_leave& one) {
  tell(heard_->tracker.on_leave(one, time_of(clock::now())));
}

void listener::tell(std::vector<finding> all) {
  for (auto& one : all)
    if (const auto topic = topics_->find(one.topic))
      std::visit([&](const auto& what) { take_in(topic, what, one.missed); }, one.what);
}

void listener::take_in(std::shared_ptr<detail::bus_topic> to, bus_record what, std::optional<missed_span> missed) {
  const auto left = to->take_in(std::move(what), missed);
  if (left != detail::bus_topic::duty::none)
    duties_.emplace_back(std::move(to), left);
}

/// Without the lock: whoever subscribes does not wait while hints are handed out.
void listener::discharge() {
  for (const auto& [to, left] : duties_)
    to->discharge(left);
  duties_.clear();
}

} // namespace weir::postgres
