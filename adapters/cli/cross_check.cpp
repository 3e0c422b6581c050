#include "cross_check.hpp"

#include <weir/cli/plain_text.hpp>
#include <weir/cli/units.hpp>

#include "shared_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace weir::cli {

namespace {

location place_of(const reading_notes& notes, std::string_view key) {
  const auto found = notes.places.find(key);
  return found == notes.places.end() ? location{} : found->second;
}

/// Whether the file gives the key, and nothing is wrong with it by itself.
bool is_sound(const reading_notes& notes, std::string_view key) {
  return notes.places.contains(key) && std::ranges::find(notes.errors, key, &config_error::key) == notes.errors.end();
}

void fail(reading_notes& notes, std::string key, std::string wrong, std::string expected) {
  const auto where = place_of(notes, key);
  notes.errors.push_back({where, std::move(key), std::move(wrong), std::move(expected)});
}

/// A batch must fit in a lane, and a lane in the budget. What the file does not give makes room for what it gives.
void check_bounds(config& read, reading_notes& notes) {
  auto& batch = read.source.max_bytes;
  auto& lane = read.stream.bytes;
  auto& budget = read.stream.budget;
  const bool batch_given = is_sound(notes, "source.max_bytes");
  const bool lane_given = is_sound(notes, "stream.bytes");
  const bool budget_given = is_sound(notes, "stream.budget");
  const auto at_most = [](std::string_view key, std::size_t bytes) {
    return fmt::format("at most {}, which is {}", key, in_quotes(exact_size(bytes)));
  };
  if (batch_given && lane_given && batch > lane)
    fail(notes, "source.max_bytes", fmt::format("{} is more than a lane may hold", in_quotes(exact_size(batch))),
      at_most("stream.bytes", lane));
  else if (batch_given && budget_given && batch > budget)
    fail(notes, "source.max_bytes", fmt::format("{} is more than all lanes together may hold", in_quotes(exact_size(batch))),
      at_most("stream.budget", budget));
  if (lane_given && budget_given && lane > budget)
    fail(notes, "stream.bytes", fmt::format("{} is more than all lanes together may hold", in_quotes(exact_size(lane))),
      at_most("stream.budget", budget));
  if (!lane_given) {
    lane = std::max(lane, batch_given ? batch : 0);
    lane = std::min(lane, budget_given ? budget : lane);
  }
  if (!batch_given)
    batch = std::min(batch, lane);
  if (!budget_given)
    budget = std::max(budget, lane);
}

void check_source(const config& read, reading_notes& notes) {
  const auto* jsonl = std::get_if<jsonl_source_options>(&read.source.from);
  if (jsonl != nullptr && jsonl->follow && jsonl->path == "-" && is_sound(notes, "source.path"))
    fail(notes, "source.follow", "standard input can't be followed", "false, or the path of a file in source.path");
}

void check_names(const config& read, reading_notes& notes) {
  std::map<std::string_view, std::size_t> named;
  for (std::size_t index = 0; index < read.sinks.size(); ++index) {
    const auto& name = read.sinks[index].name;
    const auto [first, is_new] = named.emplace(name, index);
    if (!is_new && !name.empty())
      fail(notes, path_of_sink(index) + ".name",
        fmt::format("{} names the sink in line {} already", in_quotes(name), place_of(notes, path_of_sink(first->second)).line),
        "a name of its own for each sink");
  }
}

void check_standard_output(const config& read, reading_notes& notes) {
  std::optional<std::size_t> first;
  for (std::size_t index = 0; index < read.sinks.size(); ++index) {
    if (!std::holds_alternative<stdout_sink_options>(read.sinks[index].to))
      continue;
    if (first)
      fail(notes, path_of_sink(index) + ".type",
        fmt::format("the sink in line {} writes to standard output already", place_of(notes, path_of_sink(*first)).line),
        "one sink of type \"stdout\" at most");
    else
      first = index;
  }
}

} // namespace

std::string path_of_sink(std::size_t index) {
  return fmt::format("sink[{}]", index);
}

void cross_check(config& read, reading_notes& notes) {
  check_bounds(read, notes);
  check_source(read, notes);
  check_names(read, notes);
  for (auto& one : compare_paths(read, notes.places))
    notes.errors.push_back(std::move(one));
  check_standard_output(read, notes);
}

} // namespace weir::cli
