#include "logs.hpp"

#include <weir/appender.hpp>
#include <weir/memory_log.hpp>
#include <weir/spawn.hpp>
#include <weir/sqlite_log.hpp>

#include "cases.hpp"

namespace weir_bench {

namespace {

weir::task<weir::result<std::shared_ptr<weir::log_topic>>> open_topic(weir::self me, std::shared_ptr<weir::log_store> in) {
  auto opening = in->open_topic(me, "bench", {});
  auto opened = co_await std::move(opening);
  co_return opened;
}

weir::task<> append_all(weir::self me, std::shared_ptr<weir::log_topic> to, std::uint64_t count) {
  weir::appender out{to, {.window = {.entries = 8192, .bytes = 8U << 20}}};
  for (std::uint64_t done = 0; done < count; done += 256) {
    auto appending = out.append(me, entries_of(256));
    auto appended = co_await std::move(appending);
    if (!appended)
      give_up(appended.error().to_string());
  }
  auto closing = out.close(me);
  auto closed = co_await std::move(closing);
  if (!closed)
    give_up(closed.error().to_string());
}

} // namespace

std::string name_of(adapter which) {
  return which == adapter::memory ? "memory" : "sqlite";
}

std::shared_ptr<weir::log_store> open_log(adapter which, const scratch& directory) {
  if (which == adapter::memory)
    return weir::memory::open_log();
  auto opened = weir::sqlite::open_log({.path = directory / "log.db"});
  if (!opened)
    give_up(opened.error().to_string());
  return std::move(opened).value();
}

log_world::log_world(adapter which, const std::string& policy) : world_{policy}, store_{open_log(which, directory_)} {
  topic_ = weir::sync_wait(world_.system(), open_topic, store_).value();
}

void log_world::fill(std::uint64_t entries) {
  if (!weir::spawn(world_.system(), append_all, topic_, entries).wait())
    give_up("fill");
}

std::vector<weir::new_entry> entries_of(std::size_t count) {
  static const auto payload = payload_of(1);
  std::vector<weir::new_entry> entries(count);
  for (auto& one : entries)
    one.payload = payload;
  return entries;
}

} // namespace weir_bench
