#include <weir/cli/plain_text.hpp>
#include <weir/cli/summary.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <utility>

namespace weir::cli {

namespace {

namespace json = boost::json;

std::string_view name_of(run_summary::outcomes outcome) noexcept {
  switch (outcome) {
  case run_summary::outcomes::done: return "done";
  case run_summary::outcomes::drained: return "drained";
  case run_summary::outcomes::failed: return "failed";
  case run_summary::outcomes::refused: break;
  }
  return "refused";
}

json::array to_array(const config_errors& mistakes) {
  json::array made;
  for (const auto& one : mistakes)
    made.push_back(json::object{{"line", one.where.line}, {"column", one.where.column}, {"key", valid_utf8(one.key)},
      {"wrong", valid_utf8(one.wrong)}, {"expected", valid_utf8(one.expected)}});
  return made;
}

json::object to_object(const error& what) {
  json::object facts;
  for (const auto& [name, value] : what.facts())
    facts[name] = valid_utf8(value);
  return {{"code", weir::name_of(what.code())}, {"sentence", valid_utf8(what.sentence())}, {"facts", std::move(facts)}};
}

json::object to_object(const position& at) {
  std::string stamp;
  for (const auto byte : at.stamp.bytes())
    stamp += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return {{"epoch", at.epoch}, {"seq", at.seq}, {"stamp", stamp}};
}

double seconds_of(const run_summary& told) {
  return std::chrono::duration<double>(told.elapsed).count();
}

/// An object that is written member by member: Boost.JSON has no plain decimals, and writes 0.03 as 3E-2.
class object_text {
public:
  template <class T>
  void add(std::string_view name, const T& value) {
    add_text(name, json::serialize(json::value_from(value)));
  }
  void add_decimal(std::string_view name, double number) { add_text(name, fmt::format("{}", number)); }
  std::string end() && { return std::move(text_) + "}"; }

private:
  void add_text(std::string_view name, std::string_view value) {
    text_ += fmt::format("{}\"{}\":{}", text_.size() > 1 ? "," : "", name, value);
  }

  std::string text_{"{"};
};

} // namespace

std::string to_json(const run_summary& told) {
  object_text made;
  made.add("file", valid_utf8(told.file));
  if (!told.pipeline.empty())
    made.add("pipeline", told.pipeline);
  made.add("outcome", name_of(told.outcome));
  made.add("exit_code", number_of(told.code));
  if (told.outcome != run_summary::outcomes::refused) {
    made.add_decimal("seconds", seconds_of(told));
    made.add("changes", told.changes);
    json::object sinks;
    for (const auto& [name, changes] : told.written)
      sinks[name] = json::object{{"changes", changes}};
    made.add("sinks", sinks);
    made.add("dead_letters", told.dead_letters);
  }
  if (told.confirmed)
    made.add("confirmed", to_object(*told.confirmed));
  if (told.failure)
    made.add("error", to_object(*told.failure));
  if (!told.mistakes.empty())
    made.add("mistakes", to_array(told.mistakes));
  return std::move(made).end();
}

std::string check_to_json(const std::string& file, const std::string& pipeline, const config_errors& mistakes) {
  json::object made{{"file", valid_utf8(file)}, {"ok", mistakes.empty()}};
  if (!pipeline.empty())
    made["pipeline"] = pipeline;
  made["mistakes"] = to_array(mistakes);
  return json::serialize(made);
}

std::vector<std::pair<std::string, std::string>> facts_of(const run_summary& told) {
  std::vector<std::pair<std::string, std::string>> facts{
    {"changes", std::to_string(told.changes)}, {"seconds", fmt::format("{:.1f}", seconds_of(told))}};
  for (const auto& [name, changes] : told.written)
    facts.emplace_back("written." + name, std::to_string(changes));
  if (told.confirmed)
    facts.emplace_back("confirmed", to_string(*told.confirmed));
  if (told.dead_letters > 0)
    facts.emplace_back("dead_letters", std::to_string(told.dead_letters));
  return facts;
}

} // namespace weir::cli
