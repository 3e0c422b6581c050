// A process that writes to a log, or consumes one, over a file system that goes wrong: what it has been told is stored, it says
// on standard output at once, so that a test knows what has to be there however it ends.
//
//     log-process write DIRECTORY FAULT CALL
//     log-process consume DIRECTORY FAULT CALL

#include <weir/appender.hpp>
#include <weir/checkpointer.hpp>
#include <weir/configure.hpp>
#include <weir/feed.hpp>
#include <weir/spawn.hpp>
#include <weir/sqlite_log.hpp>

#include "fault_vfs.hpp"
#include "log_script.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <sqlite3.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <unistd.h>

namespace {

using namespace sqlite_tests;

void say(const std::string& line) {
  const auto text = line + "\n";
  if (::write(STDOUT_FILENO, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    std::exit(3);
}

using topic_ptr = std::shared_ptr<weir::log_topic>;

weir::task<weir::result<topic_ptr>> open_topic(weir::self me, std::shared_ptr<weir::log_store> in) {
  auto opening = in->open_topic(me, "script", {.shards = script_shards});
  auto opened = co_await std::move(opening);
  co_return opened;
}

/// Appends what the script says, from where the log is on; keeps a checkpoint; trims now and then.
weir::task<weir::result<void>> write_script(weir::self me, topic_ptr to) {
  weir::appender out{to, {.give_up_after = std::chrono::milliseconds{50}}};
  weir::checkpointer keeper{to, "keeper"};
  auto claiming = keeper.claim(me);
  auto claimed = co_await std::move(claiming);
  if (!claimed) {
    weir::result<void> failed = std::move(claimed).error();
    co_return failed;
  }
  auto at = to->description().origin();
  if (keeper.stored())
    at.offsets = keeper.stored()->offsets;
  for (std::uint64_t number = 0; number < script_appends; ++number) {
    auto appending = out.append(me, script_entries(number));
    auto appended = co_await std::move(appending);
    if (!appended) {
      weir::result<void> failed = std::move(appended).error();
      co_return failed;
    }
    auto storing = appended.value().stored(me);
    auto stored = co_await std::move(storing);
    if (!stored) {
      weir::result<void> failed = std::move(stored).error();
      co_return failed;
    }
    for (std::size_t index = 0; index < stored.value().size(); ++index) {
      const auto& place = stored.value()[index];
      say("stored " + std::to_string(number) + " " + std::to_string(index) + " " + std::to_string(place.shard) + " "
          + std::to_string(place.offset));
      at.offsets[place.shard] = std::max(at.offsets[place.shard], place.offset);
    }
    if (number % 3 != 2)
      continue;
    auto committing = keeper.commit(me, at, "after " + std::to_string(number));
    auto committed = co_await std::move(committing);
    if (!committed)
      co_return committed;
    say("checkpoint " + std::to_string(keeper.stored()->revision));
    if (number % 6 != 5)
      continue;
    auto trimming = to->trim(me, {.through = at.offsets, .force = true, .budget = {}});
    auto trimmed = co_await std::move(trimming);
    if (!trimmed) {
      weir::result<void> failed = std::move(trimmed).error();
      co_return failed;
    }
    say("trimmed " + std::to_string(at.offsets[0]) + " " + std::to_string(at.offsets[1]));
  }
  say("end");
  co_return weir::success();
}

weir::result<void> add_effect(sqlite3* in, const weir::feed_entry& of) {
  const auto sql = "CREATE TABLE IF NOT EXISTS effect(shard INTEGER, first INTEGER); INSERT INTO effect VALUES("
                   + std::to_string(of.shard) + ", " + std::to_string(of.entry.offset) + ")";
  if (sqlite3_exec(in, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    return weir::error{weir::errc::io_failed, sqlite3_errmsg(in)};
  return weir::success();
}

/// Consumes the log from its checkpoint to its head: each entry has its effect together with the checkpoint.
weir::task<weir::result<void>> consume(weir::self me, topic_ptr from) {
  weir::checkpointer keeper{from, "consumer"};
  auto claiming = keeper.claim(me);
  auto claimed = co_await std::move(claiming);
  if (!claimed) {
    weir::result<void> failed = std::move(claimed).error();
    co_return failed;
  }
  auto at = from->description().origin();
  if (keeper.stored())
    at.offsets = keeper.stored()->offsets;
  weir::feed in{from, at};
  in.grant(1000);
  for (;;) {
    auto pulling = in.pull(me);
    auto pulled = co_await std::move(pulling);
    if (!pulled) {
      weir::result<void> failed = std::move(pulled).error();
      co_return failed;
    }
    if (pulled.value().empty())
      break;
    for (const auto& one : pulled.value()) {
      if (auto done = in.acknowledge(one.shard, one.entry.offset); !done) {
        weir::result<void> failed = std::move(done).error();
        co_return failed;
      }
      auto effect = [one](weir::log_transaction open) { return add_effect(weir::sqlite::connection_of(open), one); };
      auto here = in.at().value();
      auto committing = keeper.commit_together(me, here, effect);
      auto committed = co_await std::move(committing);
      if (!committed)
        co_return committed;
      say("effect " + std::to_string(one.shard) + " " + std::to_string(one.entry.offset));
    }
  }
  say("end");
  co_return weir::success();
}

} // namespace

int main(int count, char** words) {
  if (count != 5)
    return 2;
  static const std::map<std::string, fault> faults{{"none", fault::none}, {"fail-once", fault::fail_once},
    {"fail", fault::fail}, {"full", fault::full}, {"kill", fault::kill}, {"torn", fault::torn}, {"power", fault::power}};
  register_fault_vfs();
  arm_fault(faults.at(words[3]), std::strtoull(words[4], nullptr, 10));
  caf::actor_system_config config;
  weir::configure(config, {.policy = weir::scheduler_policy::sharing}); // it wakes at once
  caf::actor_system system{config};
  auto opened = weir::sqlite::open_log({.path = std::string{words[2]} + "/log.db", .readers = 1, .vfs = fault_vfs});
  if (!opened) {
    say("failed " + opened.error().to_string());
    return 1;
  }
  auto topic = weir::sync_wait(system, open_topic, opened.value());
  const auto work = std::string{words[1]} == "write" ? write_script : consume;
  auto done = topic ? weir::sync_wait(system, work, topic.value()) : weir::result<void>{std::move(topic).error()};
  if (!done)
    say("failed " + done.error().to_string());
  say("calls " + std::to_string(counted_calls()));
  return done ? 0 : 1;
}
