#include <weir/cli/plain_text.hpp>
#include <weir/cli/scrub_text.hpp>
#include <weir/cli/units.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace weir::cli {

namespace json = boost::json;

std::string scrub_text(const sqlite::scrub_report& found, std::string_view file, bool is_sound) {
  std::string text;
  for (const auto& one : found.damaged) {
    const auto which =
      one.first == one.last ? fmt::format("entry {} is", one.first) : fmt::format("entries {} to {} are", one.first, one.last);
    text += fmt::format("{} shard {}: {} {}: {}\n", printable(one.topic), one.shard, which,
      one.is_given_up ? "given up" : "damaged", printable(one.why));
  }
  for (const auto& one : found.others)
    text += printable(one) + "\n";
  return text
         + fmt::format("{} is {}: {} ({}) and {}\n", printable(file), is_sound ? "sound" : "damaged",
           counted(found.entries, "entry", "entries"), rounded_size(found.bytes),
           counted(found.snapshots, "snapshot", "snapshots"));
}

std::string scrub_json(const sqlite::scrub_report& found, std::string_view file, bool is_sound) {
  json::array damaged;
  for (const auto& one : found.damaged)
    damaged.push_back(json::object{{"topic", valid_utf8(one.topic)}, {"shard", one.shard}, {"first", one.first},
      {"last", one.last}, {"why", valid_utf8(one.why)}, {"given_up", one.is_given_up}});
  json::array others;
  for (const auto& one : found.others)
    others.emplace_back(valid_utf8(one));
  const json::object made{{"file", valid_utf8(file)}, {"sound", is_sound}, {"entries", found.entries}, {"bytes", found.bytes},
    {"snapshots", found.snapshots}, {"damaged", std::move(damaged)}, {"others", std::move(others)}};
  return json::serialize(made) + "\n";
}

std::string progress_bar(std::uint64_t done, std::uint64_t total, std::size_t width) {
  constexpr std::size_t longest_bar = 40;
  constexpr std::size_t shortest_bar = 4;
  const auto share = total == 0 ? 1.0 : static_cast<double>(std::min(done, total)) / static_cast<double>(total);
  const auto percent = fmt::format("{}%", static_cast<int>(share * 100));
  const auto sizes = fmt::format("  {} of {}", rounded_size(std::min(done, total)), rounded_size(total));
  if (percent.size() + sizes.size() > width)
    return percent.substr(0, width);
  constexpr std::size_t around = 3; // brackets, and a space
  const auto room = width - percent.size() - sizes.size();
  if (room < around + shortest_bar)
    return percent + sizes;
  const auto cells = std::min(longest_bar, room - around);
  const auto full = static_cast<std::size_t>(share * static_cast<double>(cells));
  return "[" + std::string(full, '#') + std::string(cells - full, '-') + "] " + percent + sizes;
}

} // namespace weir::cli
