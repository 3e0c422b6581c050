#include "measure.hpp"

#include "allocations.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <sys/resource.h>

namespace weir_bench {

namespace {

constexpr std::uint64_t first_guess = 2'000;
constexpr std::uint64_t most_items = 50'000'000;
constexpr double fastest_pace = 250'000;

double cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

double peak_rss_bytes() {
  std::ifstream status{"/proc/self/status"};
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:"))
      return std::stod(line.substr(6)) * 1024;
  return 0;
}

template <class Work>
double seconds_of(Work&& work) {
  const auto begin = now_ns();
  work();
  return static_cast<double>(now_ns() - begin) * 1e-9;
}

/// How many items take that long; warms caches and the allocator on the way.
template <class Work>
std::uint64_t calibrate(Work&& work, double seconds) {
  auto items = first_guess;
  for (;;) {
    const auto taken = seconds_of([&] { work(items); });
    const auto wanted = static_cast<double>(items) * seconds / std::max(taken, 1e-6);
    if (taken >= seconds / 8)
      return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(wanted), first_guess, most_items);
    items = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(wanted / 4), items * 2, most_items);
  }
}

void take_percentiles(figures& into, const latency_histogram& record) {
  into.p50_ns = static_cast<double>(record.percentile(0.50));
  into.p99_ns = static_cast<double>(record.percentile(0.99));
  into.p999_ns = static_cast<double>(record.percentile(0.999));
}

template <class Work>
figures count(Work&& work, std::uint64_t items) {
  figures found;
  found.items = static_cast<double>(items);
  const auto allocated = allocations();
  const auto used = cpu_seconds();
  found.seconds = seconds_of(work);
  found.cpu_seconds = cpu_seconds() - used;
  found.allocations_per_item = static_cast<double>(allocations().calls - allocated.calls) / found.items;
  return found;
}

} // namespace

std::int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

figures measure(flow& subject, const run_settings& settings) {
  const auto saturate = [&](std::uint64_t items) { subject.saturate(items); };
  const auto items = settings.items != 0 ? settings.items : calibrate(saturate, settings.seconds);

  watch_allocations_of(subject.payload_bytes() + 1);
  const auto copied = allocations().watched;
  const auto moved = subject.payload_bytes_moved();
  auto found = count([&] { subject.saturate(items); }, items);
  const auto copies = static_cast<double>(allocations().watched - copied);
  // A payload that arrives elsewhere was copied on the way, and then the copy was seen as an allocation too: the larger counts.
  found.bytes_copied_per_item =
    std::max(copies * static_cast<double>(subject.payload_bytes()), static_cast<double>(subject.payload_bytes_moved() - moved))
    / found.items;
  watch_allocations_of(0);
  found.peak_rss_bytes = peak_rss_bytes();
  if (settings.items != 0)
    return found;

  const auto pace = std::min(fastest_pace, found.items / found.seconds / 2);
  latency_histogram record;
  subject.pace(std::max<std::uint64_t>(1000, static_cast<std::uint64_t>(pace * settings.seconds / 2)),
    static_cast<std::int64_t>(1e9 / pace), record);
  take_percentiles(found, record);
  found.peak_rss_bytes = peak_rss_bytes();
  return found;
}

figures measure(labour& subject, const run_settings& settings) {
  const auto run = [&](std::uint64_t tried) { subject.run(tried); };
  const auto items = settings.items != 0 ? settings.items : calibrate(run, settings.seconds);
  auto found = count([&] { subject.run(items); }, items);
  found.peak_rss_bytes = peak_rss_bytes();
  return found;
}

figures measure(exchange& subject, const run_settings& settings) {
  const auto warm_up = [&](std::uint64_t tried) {
    latency_histogram ignored;
    subject.run(tried, ignored);
  };
  const auto times = settings.items != 0 ? settings.items : calibrate(warm_up, settings.seconds);
  latency_histogram record;
  auto found = count([&] { subject.run(times, record); }, times);
  take_percentiles(found, record);
  found.peak_rss_bytes = peak_rss_bytes();
  return found;
}

} // namespace weir_bench
