#include "report.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace weir_bench {

namespace {

namespace json = boost::json;

/// A duration or a size with its unit, at three digits.
std::string with_unit(double value, double step, std::initializer_list<const char*> units) {
  auto unit = units.begin();
  while (value >= step && std::next(unit) != units.end()) {
    value /= step;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", value, value >= 100 ? 0 : value >= 10 ? 1 : 2, *unit);
}

std::string number(const std::vector<double>& values, int digits) {
  return values.empty() ? "–" : fmt::format("{:.{}f}", median(values), digits);
}

std::string duration(const std::vector<double>& nanoseconds) {
  return nanoseconds.empty() ? "–" : with_unit(median(nanoseconds), 1000, {"ns", "µs", "ms", "s"});
}

json::value median_or_null(const std::vector<double>& values) {
  return values.empty() ? json::value{nullptr} : json::value{median(values)};
}

json::object to_json(const machine& where) {
  return {{"cpu", where.cpu}, {"cores", where.cores}, {"memory", where.memory}, {"kernel", where.kernel},
    {"compiler", where.compiler}, {"flags", where.flags}, {"caf", where.caf}, {"boost", where.boost},
    {"scheduler", "stealing; sharing where a case's name ends with @sharing"}};
}

json::object to_json(const measured_case& one) {
  json::object object;
  object["name"] = one.name;
  for (const char* figure :
    {"items_per_s", "ns_per_item", "p50_ns", "p99_ns", "p999_ns", "allocs_per_item", "bytes_copied_per_item", "peak_rss_bytes"})
    object[figure] = median_or_null(values_of(one, figure));
  object["repetitions"] = one.repetitions.size();
  object["spread"] = spread(values_of(one, "items_per_s"));
  return object;
}

json::object to_json(const found_ratio& one) {
  json::object object{{"name", one.wanted.name}, {"figure", one.wanted.figure}, {"of", one.wanted.of}};
  if (!one.wanted.over.empty())
    object["over"] = one.wanted.over;
  if (one.wanted.least)
    object["at_least"] = *one.wanted.least;
  if (one.wanted.most)
    object["at_most"] = *one.wanted.most;
  object["value"] = one.value ? json::value{*one.value} : json::value{nullptr};
  object["reached"] = one.holds();
  return object;
}

/// One element in a line, so that two reports can be compared line by line.
template <class Elements>
std::string to_lines(const Elements& elements) {
  std::string lines;
  for (const auto& one : elements)
    lines += (lines.empty() ? "\n    " : ",\n    ") + json::serialize(to_json(one));
  return lines;
}

} // namespace

std::string to_json(const machine& where, const std::vector<measured_case>& measured, const std::vector<found_ratio>& ratios) {
  return fmt::format("{{\n  \"machine\": {},\n  \"cases\": [{}\n  ],\n  \"ratios\": [{}\n  ]\n}}\n",
    json::serialize(to_json(where)), to_lines(measured), to_lines(ratios));
}

std::string to_table(const std::vector<measured_case>& measured) {
  std::size_t width = 4;
  for (const auto& one : measured)
    width = std::max(width, one.name.size());
  std::string table = fmt::format("{:<{}} {:>12} {:>9} {:>9} {:>9} {:>9} {:>9} {:>8} {:>8} {:>9} {:>7}\n", "case", width,
    "items/s", "per item", "cpu", "p50", "p99", "p99.9", "allocs", "copied", "peak RSS", "spread");
  for (const auto& one : measured) {
    const auto of = [&](const char* figure) { return values_of(one, figure); };
    table += fmt::format("{:<{}} {:>12.0f} {:>9} {:>9} {:>9} {:>9} {:>9} {:>8} {:>8} {:>9} {:>6.0f}%\n", one.name, width,
      median(of("items_per_s")), duration(of("ns_per_item")), duration(of("cpu_ns_per_item")), duration(of("p50_ns")),
      duration(of("p99_ns")), duration(of("p999_ns")), number(of("allocs_per_item"), 3), number(of("bytes_copied_per_item"), 0),
      with_unit(median(of("peak_rss_bytes")), 1024, {"B", "KiB", "MiB", "GiB"}), spread(of("items_per_s")) * 100);
  }
  return table;
}

std::string to_table(const std::vector<found_ratio>& ratios) {
  std::size_t width = 4;
  for (const auto& one : ratios)
    width = std::max(width, one.wanted.name.size());
  std::string table;
  for (const auto& one : ratios) {
    const auto limit = one.wanted.least  ? fmt::format("≥ {:g}", *one.wanted.least)
                       : one.wanted.most ? fmt::format("≤ {:g}", *one.wanted.most)
                                         : std::string{};
    if (one.value)
      table += fmt::format("{:<{}} {:>10.4g}  ({:.4g} … {:.4g})  {:<12} {}\n", one.wanted.name, width, *one.value, one.lowest,
        one.highest, limit,
        limit.empty() ? ""
        : one.holds() ? "reached"
                      : "NOT REACHED");
    else
      table += fmt::format("{:<{}} {:>10}  {:<12} not measured\n", one.wanted.name, width, "–", limit);
  }
  return table;
}

} // namespace weir_bench
