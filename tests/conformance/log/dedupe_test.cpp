#include "conformance/log/log_caller.hpp"

#include <doctest/doctest.h>

using namespace log_suite;
using weir::entry_place;
using weir::errc;
using weir::new_entry;

namespace {

new_entry named(std::string dedupe, std::string payload, std::uint32_t shard = 0) {
  return {.dedupe = std::move(dedupe), .payload = std::move(payload), .shard = shard};
}

entry_place one_place(topic_caller& topic, new_entry entry) {
  return must(topic.append({std::move(entry)})).front();
}

} // namespace

TEST_CASE("log: an entry that comes again under its dedupe key is where the first one is") {
  log_caller log;
  topic_caller topic{log, "orders"};
  CHECK(one_place(topic, named("a", "1")) == entry_place{0, 0, false});
  CHECK(one_place(topic, named("b", "2")) == entry_place{0, 1, false});
  CHECK(one_place(topic, named("a", "1")) == entry_place{0, 0, true});
  CHECK(must(topic.append({named("c", "3"), named("a", "1"), named("d", "4")}))
        == std::vector<entry_place>{{0, 2}, {0, 0, true}, {0, 3}});
  CHECK(topic.payloads() == texts{"1", "2", "3", "4"});
}

TEST_CASE("log: another payload or key under a known dedupe key is a conflict that names the first") {
  log_caller log;
  topic_caller topic{log, "orders", {.shards = 2}};
  topic.append_payloads({"there"}, 1);
  must(topic.append({{.key = "k", .dedupe = "a", .payload = "1", .shard = 1}}));
  for (const auto& other : std::vector<new_entry>{{.key = "k", .dedupe = "a", .payload = "2", .shard = 1},
         {.key = "other", .dedupe = "a", .payload = "1", .shard = 1}, {.key = "", .dedupe = "a", .payload = "k1", .shard = 1},
         {.key = "k1", .dedupe = "a", .payload = "", .shard = 1}, {.key = "k", .dedupe = "a", .payload = "2", .shard = 0}}) {
    const auto conflict = topic.append({{.payload = "fine"}, other});
    CHECK(fault(conflict) == errc::dedupe_conflict);
    CHECK(fact(conflict, "entry") == "1");
    CHECK(fact(conflict, "first_shard") == "1");
    CHECK(fact(conflict, "first_offset") == "1");
  }
  CHECK(topic.bounds() == std::vector<weir::shard_bounds>{{0, 0}, {0, 2}});
}

TEST_CASE("log: a dedupe key is known in all shards") {
  log_caller log;
  topic_caller topic{log, "orders", {.shards = 3}};
  CHECK(one_place(topic, named("a", "1", 2)) == entry_place{2, 0, false});
  CHECK(one_place(topic, named("a", "1", 0)) == entry_place{2, 0, true});
  CHECK(topic.payloads(0).empty());
}

TEST_CASE("log: an empty dedupe key is none") {
  log_caller log;
  topic_caller topic{log, "orders"};
  CHECK(one_place(topic, named("", "same")) == entry_place{0, 0, false});
  CHECK(one_place(topic, named("", "same")) == entry_place{0, 1, false});
  CHECK(one_place(topic, named("", "other")) == entry_place{0, 2, false});
}

TEST_CASE("log: dedupe keys are bytes") {
  log_caller log;
  topic_caller topic{log, "orders"};
  const std::vector<std::string> keys{
    std::string{"\0", 1}, std::string{"\0\0", 2}, "a", "A", std::string{"a\0", 2}, "\xff", "\xc3\xbc", std::string(1000, 'x')};
  for (std::size_t one = 0; one < keys.size(); ++one)
    CHECK(one_place(topic, named(keys[one], "p")) == entry_place{0, static_cast<std::int64_t>(one), false});
  for (std::size_t one = 0; one < keys.size(); ++one)
    CHECK(one_place(topic, named(keys[one], "p")) == entry_place{0, static_cast<std::int64_t>(one), true});
}

TEST_CASE("log: twins within one append are one entry") {
  log_caller log;
  topic_caller topic{log, "orders", {.shards = 2}};
  CHECK(must(topic.append({named("a", "1"), named("b", "2"), named("a", "1"), named("a", "1", 1), {.payload = "3"}}))
        == std::vector<entry_place>{{0, 0}, {0, 1}, {0, 0, true}, {0, 0, true}, {0, 2}});
  CHECK(topic.payloads() == texts{"1", "2", "3"});
  CHECK(topic.payloads(1).empty());
}

TEST_CASE("log: twins within one append that differ are a conflict, and nothing of it is stored") {
  log_caller log;
  topic_caller topic{log, "orders"};
  const auto conflict = topic.append({named("a", "1"), {.payload = "2"}, named("a", "other")});
  CHECK(fault(conflict) == errc::dedupe_conflict);
  CHECK(fact(conflict, "entry") == "2");
  CHECK(fact(conflict, "first_shard") == "0");
  CHECK(topic.bounds().front().head == 0);
  CHECK(one_place(topic, named("a", "other")) == entry_place{0, 0, false});
}

TEST_CASE("log: a dedupe key is remembered after its entry was trimmed") {
  log_caller log;
  topic_caller topic{log, "orders"};
  must(topic.append({named("a", "1"), named("b", "2")}));
  must(topic.force_trim(1));
  CHECK(one_place(topic, named("a", "1")) == entry_place{0, 0, true});
  CHECK(fault(topic.append({named("b", "other")})) == errc::dedupe_conflict);
  CHECK(topic.bounds().front() == weir::shard_bounds{2, 2});
}

TEST_CASE("log: exactly as many dedupe keys are remembered as the horizon says, however much is trimmed") {
  for (const std::uint64_t horizon : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{5}}) {
    INFO("a horizon of ", horizon);
    log_caller log;
    topic_caller topic{log, "orders", {.dedupe_horizon = horizon}};
    const auto last = static_cast<std::int64_t>(horizon) + 6;
    for (std::int64_t one = 0; one <= last; ++one) {
      must(topic.append({named("key" + std::to_string(one), "p")}));
      topic.append_payloads({"has no key, and is not counted"});
    }
    must(topic.force_trim(topic.bounds().front().head - 1));
    const auto oldest = last - static_cast<std::int64_t>(horizon) + 1;
    for (auto one = oldest; one <= last; ++one) // what was there is not counted again
      CHECK(one_place(topic, named("key" + std::to_string(one), "p")) == entry_place{0, one * 2, true});
    const auto head = topic.bounds().front().head;
    CHECK(one_place(topic, named("key" + std::to_string(oldest - 1), "another")) == entry_place{0, head, false});
  }
}

TEST_CASE("log: the horizon counts new keys, not appends that were there") {
  log_caller log;
  topic_caller topic{log, "orders", {.dedupe_horizon = 2}};
  must(topic.append({named("a", "1")}));
  must(topic.append({named("b", "2")}));
  for (int again = 0; again < 5; ++again)
    CHECK(one_place(topic, named("b", "2")).was_there);
  CHECK(fault(topic.append({named("b", "3")})) == errc::dedupe_conflict);
  CHECK(one_place(topic, named("a", "1")).was_there); // and coming again does not make a key younger
  CHECK_FALSE(one_place(topic, named("c", "4")).was_there);
  CHECK_FALSE(one_place(topic, named("a", "1")).was_there);
}

TEST_CASE("log: one append with more keys than the horizon stores each entry once") {
  log_caller log;
  topic_caller topic{log, "orders", {.dedupe_horizon = 2}};
  CHECK(must(topic.append({named("a", "1"), named("b", "2"), named("c", "3"), named("d", "4"), named("a", "1")}))
        == std::vector<entry_place>{{0, 0}, {0, 1}, {0, 2}, {0, 3}, {0, 0, true}});
  CHECK(topic.payloads() == texts{"1", "2", "3", "4"});
  CHECK(must(topic.append({named("d", "4"), named("c", "3")})) == std::vector<entry_place>{{0, 3, true}, {0, 2, true}});
  CHECK(one_place(topic, named("b", "2")) == entry_place{0, 4, false});
}

TEST_CASE("log: what was known when an append began is known for all of it") {
  log_caller log;
  topic_caller topic{log, "orders", {.dedupe_horizon = 2}};
  must(topic.append({named("a", "1"), named("b", "2")}));
  CHECK(must(topic.append({named("c", "3"), named("d", "4"), named("a", "1")}))
        == std::vector<entry_place>{{0, 2}, {0, 3}, {0, 0, true}});
}

TEST_CASE("log: dedupe keys are remembered after the store was opened anew") {
  log_caller log;
  if (lacks(log.store().capabilities().survives_process, "nothing of it outlives its store"))
    return;
  {
    topic_caller topic{log, "orders", {.shards = 2, .dedupe_horizon = 3}};
    must(topic.append({named("forgotten", "0"), named("a", "1"), named("b", "2", 1), named("c", "3")}));
    must(topic.force_trim(0, 1));
  }
  log.reopen();
  topic_caller topic{log, "orders", {.shards = 2}};
  CHECK(one_place(topic, named("a", "1")) == entry_place{0, 1, true});
  CHECK(one_place(topic, named("b", "2")) == entry_place{1, 0, true});
  CHECK(fault(topic.append({named("c", "other")})) == errc::dedupe_conflict);
  CHECK(one_place(topic, named("forgotten", "0")) == entry_place{0, 3, false});
  CHECK(one_place(topic, named("a", "1")) == entry_place{0, 4, false}); // pushed out by it
}

TEST_CASE("log: an expected head is looked at before dedupe keys") {
  log_caller log;
  topic_caller topic{log, "orders"};
  must(topic.append({named("a", "1")}, 0));
  CHECK(fault(topic.append({named("a", "1")}, 0)) == errc::head_moved);
  CHECK(must(topic.append({named("a", "1")}, 1)) == std::vector<entry_place>{{0, 0, true}});
}
