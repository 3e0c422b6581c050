#include "chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <set>

namespace weir_bench {

namespace {

constexpr double width = 860;
constexpr double height = 420;
constexpr double left = 76;
constexpr double right = 232; // the legend is there
constexpr double top = 44;
constexpr double bottom = 56;

// Distinguishable with the common colour deficiencies (Okabe and Ito), and on white and on black.
constexpr std::array colours{"#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#8a8a00", "#888888"};

/// Maps values to places, logarithmically.
struct axis {
  double lowest;
  double highest;
  double begin;
  double end;

  double place(double value) const {
    const auto range = std::log(highest) - std::log(lowest);
    const auto share = range > 0 ? (std::log(value) - std::log(lowest)) / range : 0.5;
    return begin + share * (end - begin);
  }
};

/// 1200000 as "1.2 M".
std::string short_number(double value) {
  constexpr std::array units{"", " k", " M", " G"};
  std::size_t unit = 0;
  while (value >= 1000 && unit + 1 < units.size()) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{:g}{}", std::round(value * 100) / 100, units[unit]);
}

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char letter : text) {
    switch (letter) {
    case '<': safe += "&lt;"; break;
    case '>': safe += "&gt;"; break;
    case '&': safe += "&amp;"; break;
    default: safe += letter;
    }
  }
  return safe;
}

std::string text_at(double x, double y, const std::string& anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, escaped(text));
}

/// 1, 2 and 5 times the powers of ten between the two.
std::vector<double> round_values(double lowest, double highest) {
  std::vector<double> found;
  for (double power = std::pow(10, std::floor(std::log10(lowest))); power <= highest; power *= 10)
    for (const double times : {1.0, 2.0, 5.0})
      if (power * times >= lowest * 0.999 && power * times <= highest * 1.001)
        found.push_back(power * times);
  return found;
}

std::string draw_axes(const chart& drawn, const axis& x, const axis& y) {
  std::string svg;
  auto values = round_values(y.lowest, y.highest);
  if (values.size() > 9) // powers of ten alone
    std::erase_if(values, [](double value) { return std::abs(std::log10(value) - std::round(std::log10(value))) > 0.01; });
  for (const auto value : values) {
    const auto at = y.place(value);
    svg +=
      fmt::format("<line class=\"grid\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>\n", x.begin, x.end, at, at);
    svg += text_at(x.begin - 8, at + 4, "end", short_number(value));
  }
  auto ticks = drawn.x_ticks;
  if (ticks.empty()) {
    std::set<double> seen;
    for (const auto& line : drawn.lines)
      for (const auto& [value, unused] : line.points)
        seen.insert(value);
    for (const auto value : seen)
      ticks.emplace_back(value, fmt::format("{:g}", value));
  }
  for (const auto& [value, label] : ticks)
    svg += text_at(x.place(value), y.begin + 18, "middle", label);
  svg += text_at((x.begin + x.end) / 2, height - 14, "middle", drawn.x_label);
  svg += text_at(x.begin, top - 24, "start", drawn.title);
  svg += fmt::format("<text class=\"unit\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x.begin, top - 8, escaped(drawn.y_label));
  return svg;
}

std::string draw_line(const series& line, const axis& x, const axis& y, const char* colour, double legend_y) {
  std::string places;
  std::string dots;
  for (const auto& [at, value] : line.points) {
    if (at <= 0 || value <= 0)
      continue;
    places += fmt::format("{:.1f},{:.1f} ", x.place(at), y.place(value));
    dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", x.place(at), y.place(value), colour);
  }
  return fmt::format("<polyline fill=\"none\" stroke=\"{0}\" stroke-width=\"2\" points=\"{1}\"/>\n{2}"
                     "<rect x=\"{3:.1f}\" y=\"{4:.1f}\" width=\"14\" height=\"4\" fill=\"{0}\"/>\n",
           colour, places, dots, x.end + 18, legend_y - 6)
         + text_at(x.end + 40, legend_y, "start", line.label);
}

} // namespace

std::string to_svg(const chart& drawn) {
  std::vector<double> xs;
  std::vector<double> ys;
  for (const auto& line : drawn.lines)
    for (const auto& [at, value] : line.points)
      if (at > 0 && value > 0) {
        xs.push_back(at);
        ys.push_back(value);
      }
  std::string svg =
    fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\">\n"
                "<style>text{{font:13px system-ui,sans-serif;fill:#777}} .unit{{font-size:11px}} "
                ".grid{{stroke:#777;stroke-opacity:.25}}</style>\n",
      width, height);
  if (!xs.empty()) {
    const auto [x_low, x_high] = std::ranges::minmax(xs);
    const auto [y_low, y_high] = std::ranges::minmax(ys);
    const axis x{x_low, x_high, left, width - right};
    const axis y{y_low * 0.85, y_high * 1.15, height - bottom, top};
    svg += draw_axes(drawn, x, y);
    double legend_y = top + 12;
    std::size_t index = 0;
    for (const auto& line : drawn.lines) {
      if (line.points.empty())
        continue;
      svg += draw_line(line, x, y, colours[index++ % colours.size()], legend_y);
      legend_y += 20;
    }
  }
  return svg + "</svg>\n";
}

} // namespace weir_bench
