#include "bus_faults.hpp"
#include "core/seeds.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <vector>

using postgres_tests::actors;
using postgres_tests::server;
using postgres_tests::wait_until;
using weir::drop_policy;

namespace {

using namespace std::chrono_literals;
using random_source = core_tests::random_source;

constexpr std::size_t buses = 8;
constexpr std::size_t topics = 200;
constexpr std::size_t subscriptions = 50;

std::string name_of_topic(std::size_t number) {
  return "topic " + std::to_string(number);
}

/// A subscription and its reader, who keeps an account.
struct reader {
  std::size_t topic = 0;
  std::size_t bus = 0;
  weir::subscription_options how = {};
  std::size_t speed = 0; ///< records in a round; 0: reads only when the day is over
  weir::subscription from = {};

  std::uint64_t received = 0;
  std::uint64_t lost = 0;
  std::map<weir::bus_id, std::uint64_t> last = {}; ///< number on the topic, of each publisher
  std::uint64_t passed = 0;                        ///< those numbers together: so many have been sent up to here
  std::uint64_t out_of_order = 0;
  std::uint64_t told_late = 0; ///< hints in front of which not all that is missing was told
  std::uint64_t vague = 0;     ///< losses of its own buffer that are not exact
  std::map<weir::loss_cause, std::uint64_t> causes = {};
  std::optional<weir::lost> last_loss = {};
  bool is_evicted = false;

  void take(const weir::bus_record& record) {
    if (const auto* one = std::get_if<weir::hint>(&record)) {
      ++received;
      auto& before = last[one->publisher()];
      if (one->at().on_topic <= before) {
        ++out_of_order;
        return;
      }
      passed += one->at().on_topic - before;
      before = one->at().on_topic;
      told_late += received + lost < passed ? 1 : 0;
    } else if (const auto* missing = std::get_if<weir::lost>(&record)) {
      lost += missing->count;
      causes[missing->cause] += missing->count;
      last_loss = *missing;
      const bool is_own = missing->cause == weir::loss_cause::buffer_full || missing->cause == weir::loss_cause::conflated;
      const bool may_be_vague = how.policy == drop_policy::last_by_key; // there, a bus that is gone may be missing, too
      vague += is_own && !may_be_vague && !missing->is_exact ? 1 : 0;
    }
  }

  /// What is there, and no more than that.
  void read(std::size_t most) {
    for (; most > 0 && !is_evicted; --most) {
      const auto record = from.try_next();
      if (record)
        take(record.value());
      else if (record.error() == weir::errc::evicted)
        is_evicted = true;
      else
        return;
    }
  }
};

class day {
public:
  explicit day(std::uint64_t seed) : random_{seed} {
    auto how = in_.options(server().url());
    how.beacon = 300ms;
    how.patience = 5s;
    for (std::size_t one = 0; one < buses; ++one)
      buses_.push_back(in_.open_with(how));
    for (std::size_t one = 0; one < subscriptions; ++one)
      subscribe(one);
    // The account begins where a subscription has heard of each publisher.
    for (std::size_t by = 0; by < buses; ++by)
      publish_everywhere(by, 1);
    for (const auto& one : buses_)
      wait_until([&] { return one.stats().heard == used_.size() * buses; });
  }

  /// Publishes and reads until all faults have happened.
  void run() {
    std::vector<std::jthread> working;
    const std::shared_ptr<void> ending{nullptr, [this](void*) { is_over_ = true; }}; // before they are waited for
    for (std::size_t by = 0; by < buses; ++by)
      working.emplace_back([this, by, random = random_source{random_.next()}]() mutable {
        while (!is_over_)
          publish_some(by, random);
      });
    for (std::size_t part = 0; part < 2; ++part)
      working.emplace_back([this, part] {
        while (!is_over_) {
          for (std::size_t one = part; one < readers_.size(); one += 2)
            readers_[one].read(readers_[one].speed);
          std::this_thread::sleep_for(1ms);
        }
      });
    for (int fault = 0; fault < faults; ++fault) {
      const auto until = published_ + random_.between(300, 2'000);
      wait_until([&] { return published_ >= until; });
      happen(fault);
    }
  }

  /// Topics with an even number are heard of once more; what is missing on the others is found out all the same.
  void settle() {
    for (const auto& one : buses_)
      wait_until([&] {
        const auto stats = one.stats();
        return !stats.trouble && stats.outgoing == 0;
      });
    for (std::size_t by = 0; by < buses; ++by)
      publish_everywhere(by, 2);
    read_all();
  }

  /// Every topic, so that what was told too often shows.
  void close_the_books() {
    for (std::size_t by = 0; by < buses; ++by)
      publish_everywhere(by, 1);
    read_all();
  }

  std::uint64_t sent_to(const reader& one) const {
    std::uint64_t sum = 0;
    for (std::size_t by = 0; by < buses; ++by)
      if (!one.how.skip_own || by != one.bus)
        sum += sent_[one.topic][by];
    return sum;
  }

  const std::vector<reader>& readers() const noexcept { return readers_; }
  const std::vector<weir::bus>& all_buses() const noexcept { return buses_; }

private:
  static constexpr int faults = 24;

  void subscribe(std::size_t number) {
    constexpr std::array policies{
      drop_policy::drop_newest, drop_policy::drop_oldest, drop_policy::conflate, drop_policy::last_by_key, drop_policy::end};
    constexpr std::array<std::size_t, 4> sizes{1, 4, 64, 4096};
    constexpr std::array<std::size_t, 3> speeds{1, 8, 1'000};
    reader made{.topic = std::min(random_.below(topics), random_.below(topics)), .bus = random_.below(buses)};
    made.how = {.buffer = random_.pick(sizes), .policy = policies[number % policies.size()], .skip_own = random_.chance(20)};
    made.speed = random_.pick(speeds);
    if (number < policies.size()) { // one of each policy is too small, and never read before the end
      made.how.buffer = 4;
      made.speed = 0;
    }
    made.from = bus_suite::subscribed(buses_[made.bus], name_of_topic(made.topic), made.how);
    readers_.push_back(std::move(made));
    used_.insert(readers_.back().topic);
  }

  bool publish(std::size_t by, std::size_t topic, const std::string& key) {
    if (!buses_[by].publish(name_of_topic(topic), "what is new", key))
      return false;
    ++sent_[topic][by];
    ++published_;
    return true;
  }

  /// Few topics often, most of them seldom.
  void publish_some(std::size_t by, random_source& random) {
    for (auto left = random.between(1, 10); left > 0; --left)
      if (!publish(by, std::min(random.below(topics), random.below(topics)), std::to_string(random.below(5))))
        break; // the outbox is full: it never was
    std::this_thread::sleep_for(std::chrono::milliseconds{random.between(1, 4)});
  }

  void publish_everywhere(std::size_t by, std::size_t step) {
    for (const auto topic : used_)
      if (topic % step == 0)
        wait_until([&] { return publish(by, topic, "last"); });
  }

  void happen(int fault) {
    if (fault == faults / 3 || fault == 2 * faults / 3) {
      server().stop();
      return server().start();
    }
    const std::string which = random_.chance(50) ? "query LIKE 'LISTEN%'" : "query NOT LIKE 'LISTEN%'";
    const auto how_many = std::to_string(random_.between(1, 3));
    server().sql("SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity WHERE application_name = "
                 "'weir bus' AND "
                 + which + " ORDER BY md5(pid::text || '" + std::to_string(random_.next()) + "') LIMIT " + how_many
                 + ") AS chosen");
  }

  void read_all() {
    for (auto& one : readers_)
      wait_until([&] {
        one.read(SIZE_MAX);
        return one.is_evicted || one.received + one.lost >= sent_to(one);
      });
  }

  random_source random_;
  actors in_;
  std::vector<weir::bus> buses_;
  std::vector<reader> readers_;
  std::set<std::size_t> used_;
  std::array<std::array<std::uint64_t, buses>, topics> sent_{}; // by each publisher's thread; read when it has ended
  std::atomic<std::uint64_t> published_{0};
  std::atomic<bool> is_over_{false};
};

void check(const reader& one, std::uint64_t sent) {
  CAPTURE(name_of(one.how.policy));
  CAPTURE(one.how.buffer);
  CAPTURE(one.how.skip_own);
  CAPTURE(one.speed);
  CAPTURE(one.topic);
  CHECK(one.out_of_order == 0);
  CHECK(one.told_late == 0);
  CHECK(one.vague == 0);
  CHECK(one.from.stats().received == one.received);
  CHECK(one.from.stats().lost == one.lost);
  if (!one.is_evicted) {
    CHECK(one.received + one.lost == sent);
    return;
  }
  CHECK(one.how.policy == drop_policy::end);
  CHECK(one.received + one.lost > one.passed); // with the one for which there was no room
  CHECK(one.received + one.lost <= sent);
  REQUIRE(one.last_loss);
  if (one.last_loss->cause == weir::loss_cause::buffer_full)
    CHECK(one.received + one.lost == one.passed + 1);
}

} // namespace

TEST_CASE("postgres bus: a day of use, with connections killed and the server restarted, and every hint accounted for") {
  const auto seed = core_tests::seeds(1).front();
  INFO(core_tests::replay(seed));
  day all{seed};
  all.run();
  all.settle();
  for (const auto& one : all.readers())
    check(one, all.sent_to(one));
  all.close_the_books();
  std::map<weir::loss_cause, std::uint64_t> causes;
  std::size_t evicted = 0;
  for (const auto& one : all.readers()) {
    check(one, all.sent_to(one));
    evicted += one.is_evicted ? 1 : 0;
    for (const auto& [cause, count] : one.causes)
      causes[cause] += count;
  }
  // It was a day on which something happened.
  CHECK(evicted > 0);
  CHECK(causes[weir::loss_cause::buffer_full] > 0);
  CHECK(causes[weir::loss_cause::conflated] > 0);
  CHECK(causes[weir::loss_cause::link_gap] + causes[weir::loss_cause::publisher] + causes[weir::loss_cause::several] > 0);
  for (const auto& one : all.all_buses())
    CHECK(one.stats().reconnects >= 4); // both connections, at both restarts
}
