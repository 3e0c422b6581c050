#include <weir/cli/log.hpp>
#include <weir/cli/plain_text.hpp>

#include <boost/json.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>

namespace weir::cli {

namespace {

std::string_view name_of(severity level) noexcept {
  switch (level) {
  case severity::info: return "info";
  case severity::warning: return "warning";
  case severity::error: break;
  }
  return "error";
}

std::string to_text(std::chrono::system_clock::time_point time) {
  const auto milliseconds = std::chrono::floor<std::chrono::milliseconds>(time);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(milliseconds);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(seconds), (milliseconds - seconds).count());
}

/// A value as it is where it is one plain word, quoted where it is not.
std::string value_text(std::string_view value) {
  constexpr std::size_t longest = 400;
  auto made = in_quotes(value, longest);
  const bool is_plain = !value.empty() && made.size() == value.size() + 2 && value.find_first_of(" ,()=") == value.npos;
  return is_plain ? std::string{value} : made;
}

} // namespace

std::string with_facts(std::string_view sentence, const std::vector<std::pair<std::string, std::string>>& facts) {
  auto text = printable(sentence);
  const char* separator = " (";
  for (const auto& [name, value] : facts) {
    text += fmt::format("{}{}={}", separator, name, value_text(value));
    separator = ", ";
  }
  return facts.empty() ? text : text + ")";
}

std::string to_text(const log_entry& entry) {
  return fmt::format("{} {:<7} {}", to_text(entry.time), name_of(entry.level), with_facts(entry.message, entry.facts));
}

std::string to_json(const log_entry& entry) {
  namespace json = boost::json;
  json::object made{{"time", to_text(entry.time)}, {"level", name_of(entry.level)}, {"message", valid_utf8(entry.message)}};
  if (!entry.facts.empty()) {
    json::object facts;
    for (const auto& [name, value] : entry.facts)
      facts[name] = valid_utf8(value);
    made["facts"] = std::move(facts);
  }
  return json::serialize(made);
}

log_entry entry_of(severity level, const error& what) {
  log_entry entry{{}, level, what.sentence(), what.facts()};
  if (entry.message.empty())
    entry.message = weir::name_of(what.code());
  entry.facts.insert(entry.facts.begin(), {"code", std::string{weir::name_of(what.code())}});
  return entry;
}

void log::info(std::string message, std::vector<std::pair<std::string, std::string>> facts) {
  write({{}, severity::info, std::move(message), std::move(facts)});
}

void log::warning(std::string message, std::vector<std::pair<std::string, std::string>> facts) {
  write({{}, severity::warning, std::move(message), std::move(facts)});
}

void log::failure(const error& what) {
  write(entry_of(severity::error, what));
}

void log::write(log_entry entry) {
  if (chosen_.quiet && entry.level == severity::info)
    return;
  if (entry.time == std::chrono::system_clock::time_point{})
    entry.time = std::chrono::system_clock::now();
  to_.line(chosen_.json ? to_json(entry) : to_text(entry));
}

} // namespace weir::cli
