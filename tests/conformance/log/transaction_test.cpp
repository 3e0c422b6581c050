#include "conformance/log/checkpointer_caller.hpp"
#include "conformance/log/log_caller.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace log_suite;
using weir::errc;

namespace {

constexpr const char* no_transaction = "it has no transaction that a consumer could be let into";

/// A topic and a reader, in a store that commits a consumer's effect together with its checkpoint.
struct with_entries {
  with_entries() : topic{log, "orders"}, reader{log, topic.topic(), "reader"} {
    topic.append_payloads(numbered("a", 10));
    must(reader.claim());
  }

  weir::log_effect effect(std::string what) { return log.place().effect(std::move(what)); }
  texts effects() { return log.place().effects(); }
  std::optional<weir::checkpoint> stored() { return must(topic.checkpoint("reader")); }

  log_caller log;
  topic_caller topic;
  checkpointer_caller reader;
};

bool has_transaction() {
  return log_caller{}.store().capabilities().transaction;
}

} // namespace

TEST_CASE("log: a store that can't commit an effect with a checkpoint says so, and does neither") {
  log_caller log;
  if (lacks(!log.store().capabilities().transaction, "it can"))
    return;
  topic_caller topic{log, "orders"};
  topic.append_payloads({"a"});
  checkpointer_caller reader{log, topic.topic(), "reader"};
  bool has_run = false;
  const auto refused = reader.commit_together({0}, [&](weir::log_transaction) -> weir::result<void> {
    has_run = true;
    return weir::success();
  });
  CHECK(fault(refused) == errc::unsupported);
  CHECK(fact(refused, "topic") == "orders");
  CHECK_FALSE(has_run);
  CHECK(must(topic.checkpoint("reader")) == std::nullopt);
}

TEST_CASE("log: a consumer's effect and its checkpoint are committed together") {
  if (lacks(has_transaction(), no_transaction))
    return;
  with_entries one;
  must(one.reader.commit_together({2}, one.effect("up to 2"), "metadata"));
  CHECK(one.effects() == texts{"up to 2"});
  CHECK(one.stored()->offsets == offsets{2});
  CHECK(one.stored()->metadata == "metadata");
  CHECK(one.stored() == one.reader.stored());
  must(one.reader.commit_together({4}, one.effect("up to 4")));
  CHECK(one.effects() == texts{"up to 2", "up to 4"});
}

TEST_CASE("log: an effect that fails takes its checkpoint along") {
  if (lacks(has_transaction(), no_transaction))
    return;
  with_entries one;
  must(one.reader.commit_together({2}, one.effect("up to 2")));
  const auto before = one.stored();
  const auto failed =
    one.reader.commit_together({4}, [write = one.effect("never")](weir::log_transaction open) -> weir::result<void> {
      must(write(open));
      return weir::error{errc::rejected, "the consumer thinks better of it", {{"row", "7"}}};
    });
  CHECK(fault(failed) == errc::rejected);
  CHECK(fact(failed, "row") == "7");
  CHECK(one.effects() == texts{"up to 2"});
  CHECK(one.stored() == before);
  must(one.reader.commit_together({5}, one.effect("up to 5")));
  CHECK(one.effects() == texts{"up to 2", "up to 5"});
}

TEST_CASE("log: an effect that throws fails, and takes its checkpoint along") {
  if (lacks(has_transaction(), no_transaction))
    return;
  with_entries one;
  const auto failed =
    one.reader.commit_together({4}, [write = one.effect("never")](weir::log_transaction open) -> weir::result<void> {
      must(write(open));
      throw std::runtime_error{"a library of the consumer's"};
    });
  CHECK(fault(failed) == errc::coroutine_failed);
  CHECK(fact(failed, "exception") == "a library of the consumer's");
  CHECK(one.effects().empty());
  CHECK(one.stored() == std::nullopt);
  one.topic.append_payloads({"the log goes on"});
  must(one.reader.commit_together({5}, one.effect("up to 5")));
  CHECK(one.effects() == texts{"up to 5"});
}

TEST_CASE("log: a checkpoint that is refused takes the effect along") {
  if (lacks(has_transaction(), no_transaction))
    return;
  with_entries one;
  must(one.reader.commit_together({5}, one.effect("up to 5")));
  CHECK(fault(one.reader.commit_together({4}, one.effect("back"))) == errc::checkpoint_regress);
  CHECK(fault(one.reader.commit_together({10}, one.effect("ahead"))) == errc::ahead_of_head);
  CHECK(fault(one.reader.commit_together({6}, one.effect("too much"), std::string(4097, 'x'))) == errc::invalid_argument);
  checkpointer_caller heir{one.log, one.topic.topic(), "reader"};
  must(heir.claim());
  CHECK(fault(one.reader.commit_together({6}, one.effect("of a zombie"))) == errc::checkpoint_conflict);
  must(heir.commit_together({6}, one.effect("of the heir")));
  CHECK(one.effects() == texts{"up to 5", "of the heir"});
  CHECK(one.stored()->offsets == offsets{6});
}

TEST_CASE("log: effects of several consumers at the same time are each committed with their own checkpoint") {
  if (lacks(has_transaction(), no_transaction))
    return;
  with_entries one;
  must(one.reader.commit_together({0}, one.effect("first"))); // whoever writes first makes his table
  std::vector<std::unique_ptr<performer>> actors;
  std::vector<pending<weir::result<weir::checkpoint>>> begun;
  for (int number = 0; number < 24; ++number) {
    actors.push_back(std::make_unique<performer>(one.log.system()));
    const auto name = "consumer " + std::to_string(number);
    weir::log_effect effect = one.effect(name);
    if (number % 3 == 1)
      effect = [write = effect](weir::log_transaction open) -> weir::result<void> {
        must(write(open));
        return weir::error{errc::rejected, "not this one"};
      };
    begun.push_back(actors.back()->begin(
      [](weir::self me, std::shared_ptr<weir::log_topic> of, weir::checkpoint_commit wanted,
        weir::log_effect what) -> weir::task<weir::result<weir::checkpoint>> {
        auto committing = of->commit_together(me, std::move(wanted), std::move(what));
        co_return co_await std::move(committing);
      },
      one.topic.topic(), weir::checkpoint_commit{.consumer = name, .offsets = {number % 3 == 2 ? 10 : 9}}, effect));
    if (number % 4 == 0)
      one.topic.append_payloads({"meanwhile"}, 0);
  }
  texts committed{"first"};
  for (int number = 0; number < 24; ++number) {
    const auto outcome = begun[static_cast<std::size_t>(number)].wait();
    if (outcome)
      committed.push_back("consumer " + std::to_string(number));
    if (number % 3 == 0)
      CHECK(fault(outcome) == std::nullopt);
    if (number % 3 == 1)
      CHECK(fault(outcome) == errc::rejected);
  }
  auto effects = one.effects();
  std::ranges::sort(effects);
  std::ranges::sort(committed);
  CHECK(effects == committed);
  for (const auto& known : one.topic.checkpoints())
    CHECK((known.consumer == "reader" || std::ranges::binary_search(committed, known.consumer)));
}

TEST_CASE("log: what was committed together is there after the store was opened anew") {
  if (lacks(has_transaction(), no_transaction))
    return;
  log_caller log;
  {
    topic_caller topic{log, "orders"};
    topic.append_payloads({"a"});
    checkpointer_caller reader{log, topic.topic(), "reader"};
    must(reader.commit_together({0}, log.place().effect("done")));
  }
  log.reopen();
  CHECK(must(topic_caller{log, "orders"}.checkpoint("reader"))->offsets == offsets{0});
  CHECK(log.place().effects() == texts{"done"});
}
