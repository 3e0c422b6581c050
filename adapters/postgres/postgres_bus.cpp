#include <weir/detail/bus_topics.hpp>
#include <weir/postgres_bus.hpp>

#include "listener.hpp"
#include "server_check.hpp"

#include <boost/outcome/try.hpp>

namespace weir::postgres {

namespace {

using namespace std::chrono_literals;

error bad_option(const char* name, std::string sentence) {
  return error{errc::invalid_argument, std::move(sentence), {{"option", name}}};
}

result<bus_settings> check(const bus_options& how) {
  BOOST_OUTCOME_TRY(auto server, read_server(how.server));
  constexpr std::size_t longest_channel = 63;
  if (!check_bus_topic(how.channel) || how.channel.size() > longest_channel)
    return bad_option("channel", "a channel's name has 1 to 63 bytes of UTF-8 without NUL");
  if (how.beacon < 100ms || how.beacon > 1h)
    return bad_option("beacon", "beacons come every 100 ms to 1 h");
  if (how.patience < 10ms || how.patience > 1h)
    return bad_option("patience", "the server is waited for for 10 ms to 1 h");
  if (how.outgoing == 0 || how.outgoing > (std::size_t{1} << 20U))
    return bad_option("outgoing", "1 to 2^20 hints may be on their way");
  if (how.outgoing_bytes < 8192 || how.outgoing_bytes > (std::size_t{1} << 30U))
    return bad_option("outgoing_bytes", "8 KiB to 1 GiB may be on their way");
  return bus_settings{std::move(server), how.channel, how.beacon, how.patience};
}

class postgres_link final : public detail::bus_link {
public:
  postgres_link(caf::actor_system& system, bus_settings how, const bus_options& limits, bool is_checked)
    : how_{std::move(how)},
      id_{detail::draw_bus_id()},
      topics_{std::make_shared<detail::bus_topics>(system)},
      outbox_{id_, limits.outgoing, limits.outgoing_bytes} {
    listener_.emplace(how_, id_, outbox_, topics_, saying_, is_checked);
    notifier_.emplace(how_, outbox_, saying_);
    listener_->wait_for_first_try();
    notifier_->wait_for_first_try();
  }
  ~postgres_link() override {
    close();
    notifier_.reset();
    listener_.reset();
  }

  bus_id id() const noexcept override { return id_; }

  result<void> publish(std::string_view topic, std::string_view key, std::string_view payload,
    std::shared_ptr<detail::commit_ticket> told) override {
    auto added = outbox_.add(topic, key, payload, std::move(told));
    if (added)
      notifier_->on_news();
    return added;
  }

  result<std::shared_ptr<detail::subscription_state>> subscribe(std::string_view topic, subscription_options how) override {
    const std::lock_guard lock{mutex_};
    if (is_closed_)
      return detail::bus_is_closed();
    return listener_->subscribe(topic, how);
  }

  void close() noexcept override {
    {
      const std::lock_guard lock{mutex_};
      if (std::exchange(is_closed_, true))
        return;
    }
    outbox_.close();
    topics_->for_each([](const std::string&, detail::bus_topic& one) { one.end(detail::bus_is_closed(), std::nullopt); });
  }

  bus_stats stats() const override {
    bus_stats now;
    topics_->counts().put_into(now);
    now.published = outbox_.published();
    now.refused = refused();
    now.unconfirmed = notifier_->unconfirmed();
    now.publishers = listener_->publishers();
    now.undecodable = listener_->undecodable();
    now.foreign = listener_->foreign();
    now.reconnects = listener_->reconnects() + notifier_->reconnects();
    now.outgoing = outbox_.hints();
    now.trouble = listener_->trouble();
    if (!now.trouble)
      now.trouble = saying_.get();
    if (const auto usage = notifier_->queue_usage(); usage >= 0)
      now.queue_usage = usage;
    return now;
  }

private:
  const bus_settings how_;
  const bus_id id_;
  std::shared_ptr<detail::bus_topics> topics_;
  outbox outbox_;
  link_trouble saying_; // the notifier's
  std::mutex mutex_;
  bool is_closed_ = false;
  std::optional<listener> listener_;
  std::optional<notifier> notifier_;
};

/// Whether it can be reached, and may carry a bus then.
result<bool> find_server(const bus_settings& how, bool may_be_down) {
  const wake_event nobody;
  auto sound = check_server(how.server, nobody, clock::now() + how.patience);
  if (sound)
    return true;
  const bool is_down = sound.error() == errc::disconnected || sound.error() == errc::timed_out;
  if (is_down && may_be_down)
    return false;
  return std::move(sound).error();
}

} // namespace

result<void> check_bus(const bus_options& how) {
  BOOST_OUTCOME_TRY(const auto settings, check(how));
  BOOST_OUTCOME_TRY(find_server(settings, how.may_be_down));
  return success();
}

result<bus> open_bus(caf::actor_system& system, bus_options how) {
  BOOST_OUTCOME_TRY(auto settings, check(how));
  BOOST_OUTCOME_TRY(const auto is_there, find_server(settings, how.may_be_down));
  return bus{std::make_shared<postgres_link>(system, std::move(settings), how, is_there)};
}

} // namespace weir::postgres
