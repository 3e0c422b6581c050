#include <weir/appender.hpp>
#include <weir/feed.hpp>
#include <weir/spawn.hpp>

#include "../harness/measure.hpp"
#include "cases.hpp"
#include "logs.hpp"

namespace weir_bench {

namespace {

constexpr std::size_t small_payload = 16;

std::vector<weir::new_entry> small_entries(std::size_t count) {
  std::vector<weir::new_entry> entries(count);
  for (auto& one : entries)
    one.payload.assign(small_payload, 'x');
  return entries;
}

/// As many entries as the log has before it is measured.
weir::task<> grow(weir::self me, std::shared_ptr<weir::log_topic> to, std::uint64_t count) {
  weir::appender out{to, {.window = {.entries = 16384, .bytes = 8U << 20}, .call = {.entries = 8192, .bytes = 1U << 20}}};
  for (std::uint64_t done = 0; done < count; done += 1000) {
    auto appending = out.append(me, small_entries(1000));
    auto appended = co_await std::move(appending);
    if (!appended)
      give_up(appended.error().to_string());
  }
  auto closing = out.close(me);
  auto closed = co_await std::move(closing);
  if (!closed)
    give_up(closed.error().to_string());
}

/// Batches of 256, each awaited.
weir::task<> append_more(weir::self me, std::shared_ptr<weir::log_topic> to, std::uint64_t items) {
  weir::appender out{to};
  for (std::uint64_t done = 0; done < items; done += 256) {
    auto appending = out.append(me, small_entries(256));
    auto appended = co_await std::move(appending);
    if (!appended)
      give_up(appended.error().to_string());
    auto storing = appended.value().stored(me);
    auto stored = co_await std::move(storing);
    if (!stored)
      give_up(stored.error().to_string());
  }
}

/// One entry behind a cursor that may be anywhere.
weir::task<> read_anywhere(weir::self me, std::shared_ptr<weir::log_topic> from, std::uint64_t items) {
  auto asking = from->bounds(me);
  auto bounds = co_await std::move(asking);
  const auto head = static_cast<std::uint64_t>(bounds.value().front().head);
  std::uint64_t number = 88172645463325252U;
  for (std::uint64_t done = 0; done < items; ++done) {
    number = number * 6364136223846793005U + 1442695040888963407U;
    auto reading = from->read(me, 0, static_cast<std::int64_t>((number >> 16) % head) - 1, {.entries = 1, .bytes = 1});
    auto brought = co_await std::move(reading);
    if (!brought || brought.value().entries.size() != 1)
      give_up("read");
  }
}

/// Everything from the beginning, through a feed that acknowledges as it goes.
weir::task<> feed_all(weir::self me, std::shared_ptr<weir::log_topic> from, std::uint64_t items) {
  weir::feed in{from, from->description().origin()};
  for (std::uint64_t done = 0; done < items;) {
    in.grant(1024);
    auto pulling = in.pull(me);
    auto pulled = co_await std::move(pulling);
    if (!pulled || pulled.value().empty())
      give_up("feed");
    done += pulled.value().size();
    if (!in.acknowledge_through(0, pulled.value().back().entry.offset))
      give_up("acknowledge");
  }
}

using work = weir::task<> (*)(weir::self, std::shared_ptr<weir::log_topic>, std::uint64_t);

class grown_log final : public labour {
public:
  grown_log(const std::string& policy, std::uint64_t entries, work how) : world_{adapter::sqlite, policy}, how_{how} {
    if (!weir::spawn(world_.system(), grow, world_.topic(), entries).wait())
      give_up("grow");
  }

  void run(std::uint64_t items) override {
    if (!weir::spawn(world_.system(), how_, world_.topic(), items).wait())
      give_up("work");
  }

private:
  log_world world_;
  work how_;
};

} // namespace

void add_growth_cases(std::vector<bench_case>& cases) {
  for (const auto entries : std::initializer_list<std::uint64_t>{10'000, 100'000, 1'000'000, 10'000'000}) {
    const auto add = [&](const std::string& name, work how) {
      cases.push_back({"log.sqlite.grown." + name + "." + std::to_string(entries), false, [=](const run_settings& settings) {
                         grown_log subject{"sharing", entries, how};
                         return measure(subject, settings);
                       }});
    };
    add("append", append_more);
    add("read", read_anywhere);
  }
  cases.push_back({"feed.sqlite.behind.10000000", false, [](const run_settings&) {
                     constexpr std::uint64_t entries = 10'000'000;
                     grown_log subject{"sharing", entries, feed_all};
                     return measure(subject, {.items = entries});
                   }});
}

} // namespace weir_bench
