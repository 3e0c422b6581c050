#include <weir/appender.hpp>
#include <weir/spawn.hpp>

#include "../harness/measure.hpp"
#include "cases.hpp"
#include "logs.hpp"

namespace weir_bench {

namespace {

/// One batch after the other, each awaited until it is stored; the next one's entries are made meanwhile.
weir::task<> append_and_wait(weir::self me, std::shared_ptr<weir::log_topic> to, std::uint64_t items, std::size_t batch) {
  weir::appender out{to};
  auto entries = entries_of(batch);
  for (std::uint64_t done = 0; done < items; done += batch) {
    auto appending = out.append(me, std::move(entries));
    auto appended = co_await std::move(appending);
    if (!appended)
      give_up(appended.error().to_string());
    auto going_on = me.yield(); // the window sends
    co_await going_on;
    entries = entries_of(batch);
    auto storing = appended.value().stored(me);
    auto stored = co_await std::move(storing);
    if (!stored)
      give_up(stored.error().to_string());
  }
}

class log_append final : public labour {
public:
  log_append(adapter which, const std::string& policy, std::size_t batch, std::size_t actors)
    : world_{which, policy},
      batch_{batch},
      actors_{actors} {}

  void run(std::uint64_t items) override {
    std::vector<weir::spawned> running;
    for (std::size_t one = 0; one < actors_; ++one)
      running.push_back(weir::spawn(world_.system(), append_and_wait, world_.topic(), items / actors_, batch_));
    for (const auto& one : running)
      if (!one.wait())
        give_up("append");
  }

private:
  log_world world_;
  std::size_t batch_;
  std::size_t actors_;
};

void add(std::vector<bench_case>& cases, adapter which, const std::string& name, std::size_t batch, std::size_t actors) {
  cases.push_back({"log." + name_of(which) + ".append." + name, true, [=](const run_settings& settings) {
                     log_append subject{which, settings.policy, batch, actors};
                     return measure(subject, settings);
                   }});
}

} // namespace

void add_append_cases(std::vector<bench_case>& cases) {
  for (const auto which : {adapter::memory, adapter::sqlite}) {
    for (const auto batch : std::initializer_list<std::size_t>{1, 16, 256})
      add(cases, which, std::to_string(batch), batch, 1);
    add(cases, which, "concurrent64", 1, 64);
  }
}

} // namespace weir_bench
