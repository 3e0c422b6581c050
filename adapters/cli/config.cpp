#include <weir/cli/config.hpp>
#include <weir/cli/files.hpp>
#include <weir/cli/plain_text.hpp>

#include "config_tables.hpp"
#include "cross_check.hpp"
#include "syntax_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

namespace weir::cli {

namespace {

constexpr std::size_t longest_text = 64UL << 10U;

/// The parser recurses once for every dot in a key; nothing that a person writes comes near this.
constexpr std::ptrdiff_t most_dots_in_a_line = 64;

constexpr std::size_t most_sinks = 64;

/// Whether a line begins as the header of a table without beginning a name. The parser (toml++ 3.3) takes for granted that one
/// begins there.
std::optional<std::size_t> end_of_nameless_header(std::string_view line) {
  constexpr std::string_view blanks = " \t";
  auto at = line.find_first_not_of(blanks);
  if (at == std::string_view::npos || line[at] != '[')
    return std::nullopt;
  at += line.substr(at).starts_with("[[") ? 2 : 1;
  at = std::min(line.find_first_not_of(blanks, at), line.size());
  const auto first = at < line.size() ? static_cast<unsigned char>(line[at]) : 0;
  const bool begins_name = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || (first >= '0' && first <= '9')
                           || first == '_' || first == '-' || first == '"' || first == '\'';
  return begins_name ? std::nullopt : std::optional{at};
}

/// What must not reach the parser.
std::optional<config_error> find_absurdity(std::string_view text) {
  if (text.size() > longest_text)
    return config_error{{}, {}, fmt::format("the file has {} bytes", text.size()), "at most 64 KiB"};
  location here;
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    const auto first = line.find_first_not_of(" \t");
    const bool comment = first != std::string_view::npos && line[first] == '#';
    if (!comment && std::ranges::count(line, '.') > most_dots_in_a_line)
      return config_error{here, {}, "the line has too many dots", fmt::format("at most {}", most_dots_in_a_line)};
    if (const auto end = end_of_nameless_header(line))
      return config_error{{here.line, static_cast<std::uint32_t>(*end + 1)}, {}, "not valid TOML: a table without a name",
        "a name after the bracket, such as [source]"};
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    ++here.line;
  }
  return std::nullopt;
}

std::vector<sink_config> read_sinks(
  table_reader& top, const toml::table& root, const std::filesystem::path& directory, reading_notes& notes) {
  constexpr std::string_view expected = "one table [[sink]] for each destination";
  const auto* node = root.get("sink");
  if (node == nullptr) {
    top.fail("sink", "is missing", std::string{expected});
    return {};
  }
  const auto* array = node->as_array();
  if (array == nullptr) {
    top.fail(
      "sink", node->is_table() ? "is given in single brackets, [sink]" : "is " + described(*node), std::string{expected});
    return {};
  }
  if (array->empty() || array->size() > most_sinks) {
    top.fail("sink", fmt::format("holds {} tables", array->size()), fmt::format("from 1 to {}", most_sinks));
    return {};
  }
  std::vector<sink_config> sinks;
  for (const auto& element : *array) {
    const auto path = path_of_sink(sinks.size());
    const auto* table = element.as_table();
    if (table == nullptr) {
      notes.errors.push_back({location_of(element.source().begin), path, "is " + described(element), std::string{expected}});
      sinks.emplace_back();
      continue;
    }
    table_reader reader{*table, "sink", path, notes};
    sinks.push_back(read_sink(reader, directory, notes));
  }
  return sinks;
}

config read_root(const toml::table& root, const std::filesystem::path& directory, reading_notes& notes) {
  config read;
  table_reader top{root, "", "", notes};
  if (auto given = read_name(top, "quickstart"))
    read.name = std::move(*given);
  constexpr std::string_view expected_state = "the path of a directory that is this pipeline's alone";
  top.require("state", expected_state);
  if (auto given = read_path(top, "state", expected_state, directory))
    read.state = std::move(*given);
  top.require("source", "a table [source] that says where changes come from");
  if (const auto* table = top.table("source")) {
    table_reader reader{*table, "source", "source", notes};
    read_source(reader, directory, read.source);
  }
  if (const auto* table = top.table("stream")) {
    table_reader reader{*table, "stream", "stream", notes};
    read_stream(reader, directory, notes, read.stream);
  }
  read.sinks = read_sinks(top, root, directory, notes);
  if (const auto* table = top.table("scheduler")) {
    table_reader reader{*table, "scheduler", "scheduler", notes};
    read_scheduler(reader, read.scheduler);
  }
  top.refuse_unknown_keys(std::nullopt);
  cross_check(read, notes);
  return read;
}

} // namespace

location config::where(std::string_view key) const {
  for (;;) {
    if (const auto found = places.find(key); found != places.end())
      return found->second;
    const auto dot = key.rfind('.');
    if (dot == std::string_view::npos)
      return {};
    key = key.substr(0, dot);
  }
}

config_result<config> parse_config(std::string_view text, const std::filesystem::path& directory) {
  if (auto absurd = find_absurdity(text))
    return config_errors{std::move(*absurd)};
  toml::table root;
  try {
    root = toml::parse(text, std::string_view{});
  } catch (const toml::parse_error& failure) {
    return config_errors{syntax_error(failure, text)};
  } catch (const std::exception& failure) {
    return config_errors{{{}, {}, fmt::format("not readable as TOML: {}", failure.what()), "valid TOML"}};
  }
  reading_notes notes;
  auto read = read_root(root, directory, notes);
  if (!notes.errors.empty()) {
    return in_order(std::move(notes.errors));
  }
  read.places = std::move(notes.places);
  return read;
}

result<std::string> read_config_file(const std::filesystem::path& file) {
  return read_file(file, longest_text);
}

} // namespace weir::cli
