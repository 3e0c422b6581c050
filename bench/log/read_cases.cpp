#include <weir/feed.hpp>
#include <weir/spawn.hpp>

#include "../harness/measure.hpp"
#include "cases.hpp"
#include "logs.hpp"

namespace weir_bench {

namespace {

constexpr std::uint64_t entries = 100'000;

/// Reads from the beginning, over and over.
weir::task<> scan(weir::self me, std::shared_ptr<weir::log_topic> from, std::uint64_t items) {
  std::int64_t after = -1;
  for (std::uint64_t done = 0; done < items;) {
    auto reading = from->read(me, 0, after, {});
    auto brought = co_await std::move(reading);
    if (!brought)
      give_up(brought.error().to_string());
    const auto& found = brought.value().entries;
    after = found.empty() ? -1 : found.back().offset;
    done += found.size();
  }
}

/// One entry after the other, acknowledged at once, with credit for 512.
weir::task<> consume(weir::self me, std::shared_ptr<weir::log_topic> from, std::uint64_t items) {
  std::uint64_t done = 0;
  while (done < items) {
    weir::feed in{from, from->description().origin()};
    in.grant(512);
    for (std::uint64_t one = 0; one < entries && done < items; ++one, ++done) {
      auto waiting = in.next(me);
      auto next = co_await std::move(waiting);
      if (!next)
        give_up(next.error().to_string());
      if (!in.acknowledge(0, next.value().entry.offset))
        give_up("acknowledge");
      if (in.available().items < 256)
        in.grant(256);
    }
  }
}

using reader = weir::task<> (*)(weir::self, std::shared_ptr<weir::log_topic>, std::uint64_t);

class log_read final : public labour {
public:
  log_read(adapter which, const std::string& policy, reader how) : world_{which, policy}, how_{how} { world_.fill(entries); }

  void run(std::uint64_t items) override {
    if (!weir::spawn(world_.system(), how_, world_.topic(), items).wait())
      give_up("read");
  }

private:
  log_world world_;
  reader how_;
};

void add(std::vector<bench_case>& cases, std::string name, adapter which, reader how) {
  cases.push_back({std::move(name), true, [=](const run_settings& settings) {
                     log_read subject{which, settings.policy, how};
                     return measure(subject, settings);
                   }});
}

} // namespace

void add_read_cases(std::vector<bench_case>& cases) {
  for (const auto which : {adapter::memory, adapter::sqlite}) {
    add(cases, "log." + name_of(which) + ".scan", which, scan);
    add(cases, "feed." + name_of(which) + ".next", which, consume);
  }
}

} // namespace weir_bench
