#include <weir/log_rules.hpp>

#include "conformance/log/log_caller.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace log_suite;
using weir::errc;

namespace {

std::vector<std::string> names_of(const std::vector<weir::topic_description>& all) {
  std::vector<std::string> names;
  for (const auto& one : all)
    names.push_back(one.name);
  std::ranges::sort(names);
  return names;
}

} // namespace

TEST_CASE("log: a topic is created once, and attached to from then on") {
  log_caller log;
  const auto made = must(log.open_topic("orders", {.shards = 3, .dedupe_horizon = 100}))->description();
  CHECK(made.name == "orders");
  CHECK(made.store == log.store().id());
  CHECK(made.epoch == 1);
  CHECK(made.shards == 3);
  CHECK(made.dedupe_horizon == 100);
  CHECK(made.largest_entry == place_options{}.largest_entry);
  topic_caller{log, "orders", {.shards = 3, .dedupe_horizon = 100}}.append_payloads({"a"}, 2);
  CHECK(topic_caller{log, "orders", {.shards = 3}}.payloads(2) == texts{"a"}); // the horizon is what it was
  const auto found = must(log.find_topic("orders"))->description();
  CHECK(found.shards == 3);
  CHECK(found.dedupe_horizon == 100);
  CHECK(topic_caller{log, must(log.find_topic("orders"))}.payloads(2) == texts{"a"});
}

TEST_CASE("log: a new topic has one shard, and remembers what docs/log.md says") {
  log_caller log;
  const auto made = must(log.open_topic("orders"))->description();
  CHECK(made.shards == 1);
  CHECK(made.dedupe_horizon == weir::log_rules::usual_dedupe_horizon);
}

TEST_CASE("log: a topic that is laid out otherwise is refused, and stays as it is") {
  log_caller log;
  topic_caller topic{log, "orders", {.shards = 3, .dedupe_horizon = 100}};
  topic.append_payloads({"a"}, 2);

  const auto shards = log.open_topic("orders", {.shards = 4});
  CHECK(fault(shards) == errc::layout_mismatch);
  CHECK(fact(shards, "topic") == "orders");
  CHECK(fact(shards, "shards") == "3");
  CHECK(fact(shards, "asked") == "4");
  CHECK(fault(log.open_topic("orders", {.shards = 2})) == errc::layout_mismatch);

  const auto horizon = log.open_topic("orders", {.shards = 3, .dedupe_horizon = 101});
  CHECK(fault(horizon) == errc::layout_mismatch);
  CHECK(fact(horizon, "dedupe_horizon") == "100");
  CHECK(fact(horizon, "asked") == "101");

  CHECK(must(log.find_topic("orders"))->description().shards == 3);
  CHECK(topic.payloads(2) == texts{"a"});
}

TEST_CASE("log: what is laid out otherwise is refused after the store was opened anew") {
  log_caller log;
  if (lacks(log.store().capabilities().survives_process, "nothing of it outlives its store"))
    return;
  must(log.open_topic("orders", {.shards = 3}));
  log.reopen();
  CHECK(fault(log.open_topic("orders", {.shards = 4})) == errc::layout_mismatch);
  CHECK(must(log.open_topic("orders", {.shards = 3}))->description().shards == 3);
}

TEST_CASE("log: a topic that is not there is unknown, and those that are there are named") {
  log_caller log;
  const auto none = log.find_topic("orders");
  CHECK(fault(none) == errc::unknown_topic);
  CHECK(fact(none, "topic") == "orders");
  CHECK(fact(none, "known") == "none");
  CHECK(log.topics().empty()); // looking for it did not make it

  must(log.open_topic("orders"));
  must(log.open_topic("bills", {.shards = 2}));
  CHECK(fact(log.find_topic("order"), "known") == "bills, orders");
  const auto all = log.topics();
  CHECK(names_of(all) == texts{"bills", "orders"});
  for (const auto& one : all)
    CHECK(one.shards == (one.name == "bills" ? 2 : 1));
}

TEST_CASE("log: any name of 1 to 249 bytes of UTF-8 without NUL names a topic of its own") {
  log_caller log;
  const std::vector<std::string> names{"orders", "Orders", "ORDERS", "orders_", "_orders", "_", "-", ".", "..", "/", "a/b",
    "../up", " ", "a b", "a\nb", "a\tb", "'", "\"", "';--", "%", "%00", "_2f", "w1orders", "w1_2forders", "orders-0",
    "orders/0", "orders#0", "orders.0", "orders:0", "orders_0", "weir_block", "sqlite_schema", "\x7f", "\xc3\xbc", "u\xcc\x88",
    "\xe6\x97\xa5\xe6\x9c\xac", "\xf0\x9f\xaa\xa8", "\xf4\x8f\xbf\xbf", "\xef\xbb\xbf", "1", "x", std::string(249, 'x'),
    std::string(249, '_'), std::string(247, 'x') + "\xc3\xbc"};
  for (std::size_t one = 0; one < names.size(); ++one) {
    INFO("name ", one, " of ", names[one].size(), " bytes");
    const auto opened = log.open_topic(names[one]);
    REQUIRE(fault(opened) == std::nullopt);
    CHECK(opened.value()->description().name == names[one]);
    topic_caller{log, opened.value()}.append_payloads({std::to_string(one)});
  }
  for (std::size_t one = 0; one < names.size(); ++one)
    CHECK(topic_caller{log, must(log.find_topic(names[one]))}.payloads() == texts{std::to_string(one)});
  auto sorted = names;
  std::ranges::sort(sorted);
  CHECK(names_of(log.topics()) == sorted);
  CHECK(fault(log.find_topic("oRDERS")) == errc::unknown_topic);
}

TEST_CASE("log: what is no topic name is refused with the byte that is wrong") {
  log_caller log;
  const std::vector<std::pair<std::string, std::string>> wrong{{"", "0"}, {std::string(250, 'x'), "249"},
    {std::string{"a\0b", 3}, "1"}, {std::string{"\0", 1}, "0"}, {"\xff", "0"}, {"a\xc3", "1"}, {"\xc0\xaf", "0"},
    {"abc\xed\xa0\x80", "3"}, {"\xf4\x90\x80\x80", "0"}, {std::string(248, 'x') + "\xc3\xbc", "249"}};
  for (const auto& [name, at] : wrong) {
    INFO("the name of ", name.size(), " bytes that is wrong at ", at);
    const auto refused = log.open_topic(name);
    CHECK(fault(refused) == errc::invalid_argument);
    CHECK(fact(refused, "at") == at);
    CHECK(fault(log.find_topic(name)) == errc::invalid_argument);
  }
  CHECK(log.topics().empty());
}

TEST_CASE("log: a topic has 1 to 4096 shards, and each of them is a sequence of its own") {
  log_caller log;
  for (const std::uint32_t shards : {0U, 4097U, 100'000U, 0xFFFF'FFFFU}) {
    const auto refused = log.open_topic("many", {.shards = shards});
    CHECK(fault(refused) == errc::invalid_argument);
    CHECK(fact(refused, "shards") == std::to_string(shards));
  }
  topic_caller many{log, "many", {.shards = 4096}};
  CHECK(fault(log.open_topic("many", {.shards = 0})) == errc::invalid_argument);
  CHECK(fault(log.open_topic("many", {.shards = 4097})) == errc::invalid_argument);
  many.append_payloads({"first"}, 0);
  many.append_payloads({"last", "more"}, 4095);
  const auto bounds = many.bounds();
  REQUIRE(bounds.size() == 4096);
  CHECK(bounds[0] == weir::shard_bounds{0, 1});
  CHECK(bounds[1] == weir::shard_bounds{0, 0});
  CHECK(bounds[4095] == weir::shard_bounds{0, 2});
  CHECK(many.payloads(4095) == texts{"last", "more"});
  CHECK(fault(many.read(4096, -1)) == errc::invalid_argument);
}

TEST_CASE("log: a topic remembers 1 to 2^40 dedupe keys") {
  log_caller log;
  for (const std::uint64_t horizon : {std::uint64_t{0}, (std::uint64_t{1} << 40) + 1, ~std::uint64_t{0}}) {
    const auto refused = log.open_topic("orders", {.dedupe_horizon = horizon});
    CHECK(fault(refused) == errc::invalid_argument);
    CHECK(fact(refused, "dedupe_horizon") == std::to_string(horizon));
  }
  CHECK(must(log.open_topic("least", {.dedupe_horizon = 1}))->description().dedupe_horizon == 1);
  CHECK(must(log.open_topic("most", {.dedupe_horizon = std::uint64_t{1} << 40}))->description().dedupe_horizon
        == std::uint64_t{1} << 40);
}

TEST_CASE("log: two stores have two ids") {
  log_caller one;
  log_caller other;
  CHECK(one.store().id() != other.store().id());
}

TEST_CASE("log: a store keeps its id") {
  log_caller log;
  if (lacks(log.store().capabilities().survives_process, "nothing of it outlives its store"))
    return;
  const auto id = log.store().id();
  log.reopen();
  CHECK(log.store().id() == id);
}

TEST_CASE("log: topics of one store keep their entries, heads, checkpoints and dedupe keys apart") {
  log_caller log;
  topic_caller left{log, "left"};
  topic_caller right{log, "right"};
  left.append_payloads({"a", "b"});
  right.append_payloads({"c"});
  must(left.append({{.dedupe = "same", .payload = "left"}}));
  const auto there = must(right.append({{.dedupe = "same", .payload = "right"}}));
  CHECK(there == std::vector<weir::entry_place>{{0, 1}});
  CHECK(left.payloads() == texts{"a", "b", "left"});
  CHECK(right.payloads() == texts{"c", "right"});
  must(left.commit({.consumer = "reader", .offsets = {1}}));
  CHECK(must(right.checkpoint("reader")) == std::nullopt);
  must(right.commit({.consumer = "reader", .offsets = {0}}));
  must(left.force_trim(0));
  CHECK(left.bounds().front() == weir::shard_bounds{1, 3});
  CHECK(right.bounds().front() == weir::shard_bounds{0, 2});
  CHECK(left.checkpoints().size() == 1);
}
