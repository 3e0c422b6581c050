#include <weir/cli/config_error.hpp>

#include <fmt/format.h>

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

} // namespace weir::cli
