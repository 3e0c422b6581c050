#include "plots.hpp"

#include "chart.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <functional>
#include <optional>
#include <string_view>

namespace weir_bench {

namespace {

using measured_cases = std::vector<measured_case>;

/// The number that a case's name has between the two.
std::optional<double> number_in(std::string_view name, std::string_view prefix, std::string_view suffix) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix) || name.size() <= prefix.size() + suffix.size())
    return std::nullopt;
  const auto digits = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  std::uint64_t number = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (failed != std::errc{} || end != digits.data() + digits.size())
    return std::nullopt;
  return static_cast<double>(number);
}

using scaling = std::function<double(double value, double number)>;

/// A figure of all cases whose names differ in a number alone, over that number.
series over_number(const measured_cases& measured, const std::string& label, const std::string& prefix,
  const std::string& suffix, const std::string& figure, const scaling& scale = nullptr) {
  series line{label, {}};
  for (const auto& one : measured)
    if (const auto number = number_in(one.name, prefix, suffix))
      if (const auto values = values_of(one, figure); !values.empty())
        line.points.emplace_back(*number, scale ? scale(median(values), *number) : median(values));
  std::ranges::sort(line.points);
  return line;
}

/// A case that has no number, as a level line beside those that do.
series level(const measured_cases& measured, const std::string& name, double from, double to) {
  series line{name, {}};
  for (const auto& one : measured)
    if (one.name == name)
      if (const auto values = values_of(one, "items_per_s"); !values.empty())
        line.points = {{from, median(values)}, {to, median(values)}};
  return line;
}

chart throughput(const measured_cases& measured) {
  return {"Items per second, by what may be under way", "bound (items)", "items/s",
    {over_number(measured, "lane.acked", "lane.acked.", "", "items_per_s"),
      over_number(measured, "lane.acked@sharing", "lane.acked.", "@sharing", "items_per_s"),
      over_number(measured, "asio.channel", "asio.channel.", "", "items_per_s"),
      over_number(measured, "mutex.queue", "mutex.queue.", "", "items_per_s"), level(measured, "caf.send", 1, 8192)}};
}

chart lanes(const measured_cases& measured) {
  const auto per_lane = [](double value, double lanes) { return value / lanes; };
  return {"One shared batch to many lanes: cost per batch and lane", "lanes", "ns",
    {over_number(measured, "lanes.N.shared", "lanes.", ".shared", "ns_per_item", per_lane),
      over_number(measured, "lanes.N.shared@sharing", "lanes.", ".shared@sharing", "ns_per_item", per_lane)}};
}

chart batches(const measured_cases& measured) {
  const auto all = [](double value, double envelopes) { return value * envelopes; };
  return {"Changes per second, by changes in a batch", "changes in a batch", "changes/s",
    {over_number(measured, "lane.batch", "lane.batch.", "", "items_per_s", all),
      over_number(measured, "lane.batch@sharing", "lane.batch.", "@sharing", "items_per_s", all)}};
}

chart payloads(const measured_cases& measured) {
  return {"Items per second, by payload", "bytes of payload", "items/s",
    {over_number(measured, "lane.payload", "lane.payload.", "", "items_per_s"),
      over_number(measured, "lane.payload@sharing", "lane.payload.", "@sharing", "items_per_s")}};
}

chart latency(const measured_cases& measured) {
  chart drawn{"Time from due to done", "percentile", "ns", {}, {{1, "50"}, {2, "99"}, {3, "99.9"}}};
  for (const char* name : {"lane.acked.1024", "lane.acked.1024@sharing", "asio.channel.1024", "mutex.queue.1024", "caf.send",
         "lane.roundtrip", "caf.request", "lane.control"})
    for (const auto& one : measured)
      if (one.name == name) {
        series line{name, {}};
        double place = 0;
        for (const char* figure : {"p50_ns", "p99_ns", "p999_ns"}) {
          ++place;
          if (const auto values = values_of(one, figure); !values.empty())
            line.points.emplace_back(place, median(values));
        }
        drawn.lines.push_back(std::move(line));
      }
  return drawn;
}

/// Wall time over the size of the history, for the pipeline.
chart histories(const measured_cases& measured) {
  return {"Nanoseconds per change, by changes in the history", "changes", "ns",
    {over_number(measured, "weir run", "pipeline.weir.", "", "ns_per_item"),
      over_number(measured, "hand-written", "pipeline.baseline.", "", "ns_per_item")}};
}

chart history_memory(const measured_cases& measured) {
  return {"Peak memory, by changes in the history", "changes", "bytes",
    {over_number(measured, "weir run", "pipeline.weir.", "", "peak_rss_bytes"),
      over_number(measured, "hand-written", "pipeline.baseline.", "", "peak_rss_bytes")}};
}

} // namespace

std::vector<std::string> write_plots(const measured_cases& measured, const std::string& json_file) {
  const auto stem = json_file.ends_with(".json") ? json_file.substr(0, json_file.size() - 5) : json_file;
  const std::vector<std::pair<const char*, chart>> plots{{"throughput", throughput(measured)}, {"lanes", lanes(measured)},
    {"batches", batches(measured)}, {"payloads", payloads(measured)}, {"latency", latency(measured)},
    {"wall", histories(measured)}, {"memory", history_memory(measured)}};
  std::vector<std::string> written;
  for (const auto& [name, drawn] : plots) {
    if (std::ranges::all_of(drawn.lines, [](const series& line) { return line.points.size() < 2; }))
      continue;
    const auto file = stem + "-" + name + ".svg";
    std::ofstream output{file};
    output << to_svg(drawn);
    if (output)
      written.push_back(file);
  }
  return written;
}

} // namespace weir_bench
