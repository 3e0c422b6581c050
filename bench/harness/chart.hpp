#pragma once

#include <string>
#include <utility>
#include <vector>

namespace weir_bench {

/// A line of a chart: points in the order of x.
struct series {
  std::string label;
  std::vector<std::pair<double, double>> points;
};

/// A line chart with logarithmic axes.
struct chart {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<series> lines;
  std::vector<std::pair<double, std::string>> x_ticks = {}; ///< none: at each x that a point has
};

/// The chart as SVG text, readable on a light and on a dark page. Points that are not above zero are left out.
std::string to_svg(const chart& drawn);

} // namespace weir_bench
