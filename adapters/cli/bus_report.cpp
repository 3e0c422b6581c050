#include <weir/cli/bus_report.hpp>
#include <weir/cli/entry_text.hpp>
#include <weir/cli/json_members.hpp>
#include <weir/cli/log.hpp>
#include <weir/cli/plain_text.hpp>
#include <weir/cli/units.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace weir::cli {

namespace {

namespace json = boost::json;

/// Everybody but the one who listens.
std::vector<publisher_figures> others(const bus_stats& heard, bus_id own) {
  auto all = heard.publishers;
  std::erase_if(all, [own](const auto& one) { return one.publisher == own; });
  return all;
}

std::string_view state_of(const publisher_figures& one) noexcept {
  return one.has_left ? "closed" : one.is_gone ? "gone" : one.beacon.count() == 0 ? "no beacon yet" : "alive";
}

std::int64_t milliseconds(std::chrono::nanoseconds time) noexcept {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

/// "512 µs", "1.0 ms", "2.1 s".
std::string short_time(std::uint64_t microseconds) {
  if (microseconds < 1'000)
    return fmt::format("{} µs", microseconds);
  if (microseconds < 1'000'000)
    return fmt::format("{:.1f} ms", static_cast<double>(microseconds) / 1e3);
  return fmt::format("{:.1f} s", static_cast<double>(microseconds) / 1e6);
}

std::string lag_lines(const bus_stats& heard) {
  std::uint64_t all = 0;
  for (const auto count : heard.lag)
    all += count;
  if (all == 0)
    return {};
  std::string text = "\nlag from publish to here:\n";
  std::uint64_t so_far = 0;
  for (std::size_t place = 0; place < heard.lag.size(); ++place) {
    if (heard.lag.at(place) == 0)
      continue;
    so_far += heard.lag.at(place);
    text += fmt::format("  below {:>9}  {:>10}  {:6.2f} %\n", short_time(std::uint64_t{1} << place), heard.lag.at(place),
      100.0 * static_cast<double>(so_far) / static_cast<double>(all));
  }
  return text;
}

} // namespace

std::string record_json(const bus_record& one) {
  std::string text{'{'};
  if (const auto* said = std::get_if<hint>(&one)) {
    append_member(text, "type", "hint");
    append_bytes_member(text, "topic", said->topic());
    if (!said->key().empty())
      append_bytes_member(text, "key", said->key());
    append_bytes_member(text, "payload", said->payload());
    append_member(text, "publisher", to_string(said->publisher()));
    append_member(text, "number", static_cast<std::int64_t>(said->at().number));
    append_member(text, "on_topic", static_cast<std::int64_t>(said->at().on_topic));
    append_member(text, "time", nanosecond_time(said->at().published_at));
  } else if (const auto* missing = std::get_if<lost>(&one)) {
    append_member(text, "type", "lost");
    append_member(text, "count", static_cast<std::int64_t>(missing->count));
    text += missing->is_exact ? ",\"exact\":true" : ",\"exact\":false";
    if (missing->publisher)
      append_member(text, "publisher", to_string(*missing->publisher));
    append_member(text, "cause", name_of(missing->cause));
  } else {
    append_member(text, "type", "gone");
    append_member(text, "publisher", to_string(std::get<gone>(one).publisher));
  }
  return text + "}\n";
}

std::string loss_text(const bus_record& one) {
  if (const auto* away = std::get_if<gone>(&one))
    return fmt::format("the bus {} is gone\n", to_string(away->publisher));
  const auto* missing = std::get_if<lost>(&one);
  if (missing == nullptr)
    return {};
  const auto number = missing->is_exact     ? counted(missing->count, "hint", "hints")
                      : missing->count == 0 ? std::string{"an unknown number of hints"}
                                            : "at least " + counted(missing->count, "hint", "hints");
  return fmt::format("lost {}{} ({})\n", number,
    missing->publisher ? fmt::format(" of the bus {}", to_string(*missing->publisher)) : "", name_of(missing->cause));
}

std::string published_text(const publish_report& done) {
  auto text = "published " + counted(done.published, "hint", "hints");
  if (done.unconfirmed > 0)
    text += fmt::format("; {} of these the server has refused, or nobody knows whether it has them", grouped(done.unconfirmed));
  return text + '\n';
}

std::string published_json(const publish_report& done) {
  return json::serialize(json::object{{"published", done.published}, {"unconfirmed", done.unconfirmed}}) + '\n';
}

std::string stat_text(const bus_stats& heard, bus_id own, std::chrono::milliseconds time) {
  auto text = fmt::format("listened for {}: {} heard, {} not understood, {} that no bus has said\n", rounded_duration(time),
    counted(heard.heard, "hint", "hints"), grouped(heard.undecodable), grouped(heard.foreign));
  if (heard.queue_usage)
    text += fmt::format("the server's queue of notifications is {:.4f} % full\n", *heard.queue_usage * 100);
  const auto all = others(heard, own);
  if (all.empty())
    return text + "no other bus was heard\n" + lag_lines(heard);
  text += fmt::format("\n{:<16}  {:>12}  {:>10}  {:>10}  {:>8}  {:>10}  {}\n", "BUS", "PUBLISHED", "HEARD", "MISSING", "BEACON",
    "SILENT", "STATE");
  for (const auto& one : all)
    text += fmt::format("{:<16}  {:>12}  {:>10}  {:>10}  {:>8}  {:>10}  {}\n", to_string(one.publisher), one.published,
      one.heard, one.missing, one.beacon.count() == 0 ? "-" : exact_duration(one.beacon),
      rounded_duration(std::chrono::milliseconds{milliseconds(one.silent)}), state_of(one));
  return text + lag_lines(heard);
}

std::string stat_json(const bus_stats& heard, bus_id own, std::chrono::milliseconds time) {
  json::array buses;
  for (const auto& one : others(heard, own))
    buses.push_back(
      {{"bus", to_string(one.publisher)}, {"published", one.published}, {"heard", one.heard}, {"missing", one.missing},
        {"beacon_ms", one.beacon.count()}, {"silent_ms", milliseconds(one.silent)}, {"state", state_of(one)}});
  json::array lag;
  for (std::size_t place = 0; place < heard.lag.size(); ++place)
    if (heard.lag.at(place) > 0)
      lag.push_back({{"below_us", std::uint64_t{1} << place}, {"hints", heard.lag.at(place)}});
  json::object whole{{"listened_ms", time.count()}, {"heard", heard.heard}, {"undecodable", heard.undecodable},
    {"foreign", heard.foreign}, {"reconnects", heard.reconnects}, {"buses", std::move(buses)}, {"lag", std::move(lag)}};
  if (heard.queue_usage)
    whole["queue_usage"] = *heard.queue_usage;
  return json::serialize(whole) + '\n';
}

std::string bus_failure_text(std::string_view command, const error& why) {
  const auto sentence = why.sentence().empty() ? std::string{weir::name_of(why.code())} : why.sentence();
  std::vector<error::fact> facts{{"code", std::string{weir::name_of(why.code())}}};
  for (const auto& one : why.facts())
    if (one.first != "option")
      facts.push_back(one);
  return fmt::format("weir bus {}: {}\n", command, with_facts(sentence, facts));
}

exit_code code_of_bus(const error& why) noexcept {
  switch (why.code()) {
  case errc::invalid_argument:
  case errc::unsupported:
  case errc::not_found:
  case errc::permission_denied: return exit_code::usage;
  default: return exit_code::failed;
  }
}

} // namespace weir::cli
