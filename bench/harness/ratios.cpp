#include "ratios.hpp"

#include <boost/json.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace weir_bench {

namespace {

namespace json = boost::json;

/// A limit is a number, or a number for each compiler.
std::optional<double> limit_of(const json::object& object, const char* name, const std::string& compiler) {
  const auto* value = object.if_contains(name);
  if (value != nullptr && value->is_object())
    value = value->as_object().if_contains(compiler);
  if (value == nullptr)
    return std::nullopt;
  return value->to_number<double>();
}

std::string text_of(const json::object& object, const char* name) {
  const auto* value = object.if_contains(name);
  return value == nullptr ? std::string{} : std::string{value->as_string()};
}

} // namespace

std::vector<ratio> read_ratios(const std::string& file, const std::string& program, const std::string& compiler) {
  std::ifstream input{file};
  if (!input)
    throw std::runtime_error{file + ": can't be read"};
  const std::string text{std::istreambuf_iterator<char>{input}, {}};
  try {
    std::vector<ratio> wanted;
    const auto parsed = json::parse(text);
    for (const auto& entry : parsed.as_object().at(program).as_array()) {
      const auto& one = entry.as_object();
      wanted.push_back({text_of(one, "name"), text_of(one, "figure"), text_of(one, "of"), text_of(one, "over"),
        limit_of(one, "at_least", compiler), limit_of(one, "at_most", compiler)});
    }
    return wanted;
  } catch (const std::exception& wrong) {
    throw std::runtime_error{file + ": " + wrong.what()};
  }
}

std::vector<std::size_t> beside_peers(const std::vector<std::string>& names, const std::vector<ratio>& wanted) {
  std::vector<std::size_t> order;
  const auto add = [&](const std::string& name) {
    const auto found = static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
    if (found < names.size() && std::ranges::find(order, found) == order.end())
      order.push_back(found);
  };
  for (const auto& name : names) {
    add(name);
    for (const auto& one : wanted)
      if (one.of == name)
        add(one.over);
  }
  return order;
}

std::vector<found_ratio> find_ratios(const std::vector<ratio>& wanted, const std::vector<measured_case>& measured) {
  const auto find = [&](const std::string& name, const std::string& figure) {
    const auto one = std::ranges::find(measured, name, &measured_case::name);
    return one == measured.end() ? std::vector<double>{} : values_of(*one, figure);
  };
  std::vector<found_ratio> found;
  for (const auto& one : wanted) {
    found.push_back({one, std::nullopt});
    auto values = find(one.of, one.figure);
    if (!one.over.empty()) {
      const auto peers = find(one.over, one.figure);
      values.resize(std::min(values.size(), peers.size()));
      for (std::size_t index = 0; index < values.size(); ++index)
        values[index] = peers[index] > 0 ? values[index] / peers[index] : 0;
    }
    if (values.empty())
      continue;
    found.back().value = median(values);
    const auto [lowest, highest] = std::ranges::minmax(values);
    found.back().lowest = lowest;
    found.back().highest = highest;
  }
  return found;
}

} // namespace weir_bench
