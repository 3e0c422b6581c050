#include "conformance/durable/durable_place.hpp"

namespace durable_suite {

using actor_tests::script;
using actor_tests::simulation;

namespace {

weir::result<weir::durable::opened> open(
  simulation& world, std::shared_ptr<weir::log_store> log, weir::durable::options wanted) {
  script opener{world, "opener"};
  return opener.complete(opener.begin(weir::durable::open_in, &world.system(), std::move(log), std::move(wanted)));
}

/// What `function(self, topic)` says of a topic, asked in a world of its own.
template <class F>
auto ask(durable_place& at, const std::string& topic, F function) {
  simulation world{1};
  const auto log = relayed(at.open(), std::make_shared<relay>(at.elsewhere()));
  script asker{world, "asker"};
  return asker.complete(asker.begin(function, log, topic));
}

} // namespace

process::process(durable_place& at, std::uint64_t seed, weir::durable::options wanted)
  : through_{std::make_shared<relay>(at.elsewhere())},
    world_{std::make_unique<simulation>(seed)} {
  auto made = open(*world_, relayed(at.open(), through_), std::move(wanted));
  REQUIRE_MESSAGE(made, made.error().to_string());
  opened_.emplace(std::move(made).value());
}

process::~process() {
  leave();
}

void process::leave() {
  through_->let_everything_go();
  opened_.reset();
  world_->settle();
  world_->advance(std::chrono::seconds{2}); // what has failed in passing is tried again
}

std::optional<weir::error> refusal_of(
  durable_place& at, weir::durable::options wanted, const std::function<void(relay&)>& prepare) {
  simulation world{1};
  const auto through = std::make_shared<relay>(at.elsewhere());
  prepare(*through);
  auto made = open(world, relayed(at.open(), through), std::move(wanted));
  if (made)
    return std::nullopt;
  world.settle();
  CHECK(world.running_actors() == 0);
  return made.error();
}

void write_foreign(
  durable_place& at, const std::string& topic, weir::topic_layout layout, const std::vector<std::string>& payloads) {
  simulation world{1};
  const auto log = relayed(at.open(), std::make_shared<relay>(at.elsewhere()));
  script writer{world, "writer"};
  CHECK(writer.complete(writer.begin(
    [](weir::self me, std::shared_ptr<weir::log_store> store, std::string name, weir::topic_layout how,
      std::vector<std::string> written) -> weir::task<bool> {
      auto opening = store->open_topic(me, name, how);
      auto opened = co_await std::move(opening);
      REQUIRE(opened.has_value());
      std::vector<weir::append_call> calls;
      for (auto& one : written)
        calls.push_back({.entries = {weir::new_entry{.payload = std::move(one), .shard = 0}}});
      auto appending = opened.value()->append(me, std::move(calls));
      auto outcome = co_await std::move(appending);
      co_return !outcome.failure;
    },
    log, topic, layout, payloads)));
}

weir::shard_bounds bounds_of(durable_place& at, const std::string& topic) {
  const auto asked = ask(at, topic,
    [](weir::self me, std::shared_ptr<weir::log_store> log,
      std::string name) -> weir::task<weir::result<std::vector<weir::shard_bounds>>> {
      auto finding = log->find_topic(me, name);
      auto found = co_await std::move(finding);
      REQUIRE(found.has_value());
      auto looking = found.value()->bounds(me);
      auto there = co_await std::move(looking);
      co_return there;
    });
  REQUIRE(asked.has_value());
  return asked.value().front();
}

std::vector<weir::checkpoint> checkpoints_of(durable_place& at, const std::string& topic) {
  const auto asked = ask(at, topic,
    [](weir::self me, std::shared_ptr<weir::log_store> log,
      std::string name) -> weir::task<weir::result<std::vector<weir::checkpoint>>> {
      auto finding = log->find_topic(me, name);
      auto found = co_await std::move(finding);
      REQUIRE(found.has_value());
      auto listing = found.value()->checkpoints(me);
      auto listed = co_await std::move(listing);
      co_return listed;
    });
  REQUIRE(asked.has_value());
  return asked.value();
}

} // namespace durable_suite
