#include <weir/configure.hpp>
#include <weir/spawn.hpp>
#include <weir/sqlite_log.hpp>

#include "jsonl/scratch.hpp"
#include "log_reading.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <doctest/doctest.h>

#include <map>
#include <thread>

using namespace sqlite_tests;
using opening = weir::sqlite::log_options::opening;
using topic_ptr = std::shared_ptr<weir::log_topic>;

namespace {

struct looking {
  explicit looking(const std::filesystem::path& path) : system{configured()} {
    auto opened = weir::sqlite::open_log({.path = path, .how = opening::look_only, .readers = 1});
    REQUIRE_MESSAGE(opened.has_value(), (opened ? std::string{} : opened.error().to_string()));
    store = opened.value();
  }
  caf::actor_system_config& configured() {
    weir::configure(config);
    return config;
  }

  topic_ptr topic(std::string name) {
    auto found = weir::sync_wait(
      system,
      [](weir::self me, std::shared_ptr<weir::log_store> in, std::string wanted) -> weir::task<weir::result<topic_ptr>> {
        auto finding = in->find_topic(me, std::move(wanted));
        auto there = co_await std::move(finding);
        co_return there;
      },
      store, std::move(name));
    REQUIRE(found);
    return found.value();
  }

  std::string last_payload(const topic_ptr& of, std::int64_t offset) {
    auto read = weir::sync_wait(
      system,
      [](weir::self me, topic_ptr from, std::int64_t after) -> weir::task<weir::result<weir::log_reading>> {
        auto reading = from->read(me, 0, after, {});
        auto brought = co_await std::move(reading);
        co_return brought;
      },
      of, offset - 1);
    REQUIRE_MESSAGE(read.has_value(), (read ? std::string{} : read.error().to_string()));
    return read.value().entries.empty() ? "nothing" : read.value().entries.back().payload;
  }

  weir::result<void> wait_behind(const topic_ptr& of, std::int64_t offset) {
    return weir::sync_wait(
      system,
      [](weir::self me, topic_ptr from, std::int64_t after) -> weir::task<weir::result<void>> {
        auto waiting = from->wait(me, {after}, weir::deadline::never());
        auto woken = co_await std::move(waiting);
        co_return woken;
      },
      of, offset);
  }

  caf::actor_system_config config;
  caf::actor_system system;
  std::shared_ptr<weir::log_store> store;
};

std::map<std::string, std::string> files_in(const std::filesystem::path& directory) {
  std::map<std::string, std::string> all;
  for (const auto& one : std::filesystem::directory_iterator{directory})
    all[one.path().filename()] = adapter_tests::read_file(one.path());
  return all;
}

weir::error refusal_of(const std::filesystem::path& path, opening how) {
  const auto opened = weir::sqlite::open_log({.path = path, .how = how});
  REQUIRE_FALSE(opened);
  return opened.error();
}

} // namespace

TEST_CASE("who only looks at a log sees what others write to it, and leaves no trace") {
  adapter_tests::scratch_directory in;
  const auto path = in / "log.db";
  REQUIRE(log_opener{}.append(path, "t", 1, {{.payload = "0", .shard = 0}}));
  const auto before = files_in(in.path());
  looking at{path};
  const auto topic = at.topic("t");
  CHECK(at.last_payload(topic, 0) == "0");
  CHECK(files_in(in.path()) == before);
  for (std::int64_t number = 1; number < 40; ++number) {
    // Each is a writer of its own, which comes and goes.
    REQUIRE(log_opener{}.append(path, "t", 1, {{.payload = std::to_string(number), .shard = 0}}));
    CHECK(at.last_payload(topic, number) == std::to_string(number));
  }
}

TEST_CASE("who only looks at a log, and waits, is woken by a writer that came later") {
  adapter_tests::scratch_directory in;
  const auto path = in / "log.db";
  REQUIRE(log_opener{}.append(path, "t", 1, {{.payload = "0", .shard = 0}}));
  looking at{path};
  const auto topic = at.topic("t");
  std::thread writer{[&] { (void)log_opener{}.append(path, "t", 1, {{.payload = "1", .shard = 0}}); }};
  CHECK(at.wait_behind(topic, 0));
  writer.join();
  CHECK(at.last_payload(topic, 1) == "1");
}

TEST_CASE("a log can be looked at where nothing may be written") {
  adapter_tests::scratch_directory in;
  const auto path = in / "log.db";
  REQUIRE(log_opener{}.append(path, "t", 1, {{.payload = "0", .shard = 0}}));
  std::filesystem::permissions(in.path(), std::filesystem::perms{0555});
  std::filesystem::permissions(path, std::filesystem::perms{0444});
  const adapter_tests::without_rights dropped;
  if (dropped.is_on_for("a log can be looked at where nothing may be written")) {
    CHECK(refusal_of(path, opening::must_exist) == weir::errc::permission_denied);
    looking at{path};
    CHECK(at.last_payload(at.topic("t"), 0) == "0");
  }
}

TEST_CASE("a log that was copied while it was written, without its index, can't be looked at where nothing may be written") {
  adapter_tests::scratch_directory in;
  const auto path = in / "log.db";
  REQUIRE(log_opener{}.append(path, "t", 1, {{.payload = "0", .shard = 0}}));
  adapter_tests::write_file(in / "log.db-wal", "");
  std::filesystem::permissions(in.path(), std::filesystem::perms{0555});
  const adapter_tests::without_rights dropped;
  if (dropped.is_on_for(
        "a log that was copied while it was written, without its index, can't be looked at where nothing may be written")) {
    const auto refusal = refusal_of(path, opening::look_only);
    CHECK(refusal == weir::errc::permission_denied);
    CHECK(refusal.sentence().find("was not closed by whoever wrote it") != std::string::npos);
  }
}

TEST_CASE("what is no log is refused as that, whatever it is") {
  adapter_tests::scratch_directory in;
  adapter_tests::write_file(in / "text", "once upon a time\n");
  adapter_tests::write_file(in / "empty", "");
  for (const auto how : {opening::must_exist, opening::look_only}) {
    CHECK(refusal_of(in / "text", how) == weir::errc::not_a_log);
    CHECK(refusal_of(in / "text", how).sentence().ends_with("is no log: it is no SQLite database"));
    CHECK(refusal_of(in / "empty", how) == weir::errc::not_a_log);
    CHECK(refusal_of(in / "empty", how).sentence().ends_with("is no log: it is empty"));
  }
  CHECK(adapter_tests::read_file(in / "text") == "once upon a time\n");
}
