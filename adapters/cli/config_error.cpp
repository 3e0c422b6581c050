#include <weir/cli/config_error.hpp>

#include <fmt/format.h>

#include <map>

namespace weir::cli {

std::string to_string(const config_error& one, std::string_view file) {
  auto text = fmt::format("{}:{}:{}: ", file, one.where.line, one.where.column);
  if (!one.key.empty())
    text += one.key + ": ";
  text += one.wrong;
  if (!one.expected.empty())
    text += "; expected " + one.expected;
  return text;
}

std::string to_string(const config_errors& all, std::string_view file) {
  std::string text;
  for (const auto& one : all)
    text += to_string(one, file) + "\n";
  return text;
}

config_errors in_order(config_errors found) {
  std::multimap<location, config_error> sorted;
  for (auto& one : found)
    sorted.emplace(one.where, std::move(one));
  config_errors ordered;
  for (auto& [where, one] : sorted)
    ordered.push_back(std::move(one));
  return ordered;
}

} // namespace weir::cli
