#include "table_reader.hpp"

#include <weir/cli/config_keys.hpp>
#include <weir/cli/nearest_name.hpp>
#include <weir/cli/plain_text.hpp>
#include <weir/cli/units.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace weir::cli {

namespace {

/// What is read in one table, for a sentence: `at the top of the file`, `in [source] of type "git"`.
std::string place_of(const config_key& key) {
  if (key.table.empty())
    return "at the top of the file";
  const auto brackets = key.table == "sink" ? fmt::format("[[{}]]", key.table) : fmt::format("[{}]", key.table);
  return key.type.empty() ? "in " + brackets : fmt::format("in {} of type {}", brackets, in_quotes(key.type));
}

/// "16MB" and the like: the text with the unit that was most likely meant, if that is a size.
std::optional<std::string> with_binary_unit(std::string_view text) {
  const auto unit = text.find_first_not_of("0123456789 ");
  if (unit == std::string_view::npos)
    return std::nullopt;
  const auto letter = static_cast<char>(text[unit] & ~0x20); // upper case
  const auto rest = text.substr(unit + 1);
  const bool looks_like_one = rest.size() <= 2 && rest.find_first_not_of("bBiI") == std::string_view::npos;
  if ((letter != 'K' && letter != 'M' && letter != 'G') || !looks_like_one)
    return std::nullopt;
  auto mended = fmt::format("{}{}iB", text.substr(0, unit), letter);
  return parse_size(mended) ? std::optional{std::move(mended)} : std::nullopt;
}

/// Whether TOML lets the key be written without quotes.
bool is_bare(std::string_view key) noexcept {
  return !key.empty() && std::ranges::all_of(key, [](unsigned char one) {
    return (one >= 'a' && one <= 'z') || (one >= 'A' && one <= 'Z') || (one >= '0' && one <= '9') || one == '_' || one == '-';
  });
}

} // namespace

location location_of(const toml::source_position& position) noexcept {
  // Nodes that the file only implies have no place: they count as standing at its start.
  return {std::max<std::uint32_t>(position.line, 1), std::max<std::uint32_t>(position.column, 1)};
}

std::string described(const toml::node& node) {
  switch (node.type()) {
  case toml::node_type::string: return "the text " + in_quotes(node.as_string()->get(), 40);
  case toml::node_type::integer: return fmt::format("the integer {}", node.as_integer()->get());
  case toml::node_type::floating_point: return fmt::format("the number {}", node.as_floating_point()->get());
  case toml::node_type::boolean: return node.as_boolean()->get() ? "true" : "false";
  case toml::node_type::array: return "an array";
  case toml::node_type::table: return "a table";
  case toml::node_type::date: return "a date";
  case toml::node_type::time: return "a time of day";
  case toml::node_type::date_time: return "a date and time";
  case toml::node_type::none: break;
  }
  return "nothing";
}

table_reader::table_reader(const toml::table& table, std::string_view name, std::string path, reading_notes& notes)
  : table_{table},
    name_{name},
    path_{std::move(path)},
    notes_{notes} {
  notes_.places.emplace(path_, location_of(table_.source().begin));
}

std::string table_reader::path_of(std::string_view key) const {
  return path_.empty() ? std::string{key} : fmt::format("{}.{}", path_, key);
}

const toml::node* table_reader::find(std::string_view key) {
  const auto* node = table_.get(key);
  if (node != nullptr)
    notes_.places.emplace(path_of(key), location_of(node->source().begin));
  return node;
}

void table_reader::fail(std::string_view key, std::string wrong, std::string expected) {
  const auto* node = find(key);
  const auto& source = node != nullptr ? node->source() : table_.source();
  notes_.errors.push_back({location_of(source.begin), path_of(key), std::move(wrong), std::move(expected)});
}

bool table_reader::is(std::string_view key, std::string_view text) {
  const auto* node = find(key);
  return node != nullptr && node->is_string() && node->as_string()->get() == text;
}

void table_reader::require(std::string_view key, std::string_view expected) {
  if (!has(key))
    fail(key, "is missing", std::string{expected});
}

std::optional<std::string> table_reader::text(std::string_view key, std::string_view expected) {
  const auto* node = find(key);
  if (node == nullptr)
    return std::nullopt;
  const auto* value = node->as_string();
  if (value == nullptr) {
    fail(key, "is " + described(*node), fmt::format("text in quotes: {}", expected));
    return std::nullopt;
  }
  if (value->get().empty()) {
    fail(key, "is empty", std::string{expected});
    return std::nullopt;
  }
  if (std::ranges::any_of(value->get(), [](unsigned char byte) { return byte < 0x20 || byte == 0x7F; })) {
    fail(key, fmt::format("{} holds a control character", in_quotes(value->get())), std::string{expected});
    return std::nullopt;
  }
  return value->get();
}

std::optional<std::string> table_reader::choice(std::string_view key, std::span<const std::string_view> choices) {
  const auto* node = find(key);
  if (node == nullptr)
    return std::nullopt;
  const auto* value = node->as_string();
  if (value == nullptr) {
    fail(key, "is " + described(*node), one_of(choices));
    return std::nullopt;
  }
  if (std::ranges::find(choices, value->get()) != choices.end())
    return value->get();
  auto wrong = fmt::format("{} is not a choice here", in_quotes(value->get()));
  if (const auto nearest = nearest_name(value->get(), choices))
    wrong += fmt::format(" (did you mean {}?)", in_quotes(*nearest));
  fail(key, std::move(wrong), one_of(choices));
  return std::nullopt;
}

std::optional<bool> table_reader::flag(std::string_view key) {
  const auto* node = find(key);
  if (node == nullptr)
    return std::nullopt;
  if (const auto* value = node->as_boolean())
    return value->get();
  fail(key, "is " + described(*node), "true or false, without quotes");
  return std::nullopt;
}

std::optional<std::uint64_t> table_reader::number(std::string_view key, std::uint64_t least, std::uint64_t most) {
  const auto* node = find(key);
  if (node == nullptr)
    return std::nullopt;
  auto expected = fmt::format("a whole number from {} to {}", least, most);
  const auto* value = node->as_integer();
  if (value == nullptr) {
    fail(key, "is " + described(*node), std::move(expected));
    return std::nullopt;
  }
  const auto given = value->get();
  if (given < 0 || static_cast<std::uint64_t>(given) < least || static_cast<std::uint64_t>(given) > most) {
    fail(key, fmt::format("{} is out of range", given), std::move(expected));
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(given);
}

std::optional<std::uint64_t> table_reader::size(std::string_view key, std::uint64_t least, std::uint64_t most) {
  const auto* node = find(key);
  if (node == nullptr)
    return std::nullopt;
  const auto range = fmt::format("from {} to {}", exact_size(least), exact_size(most));
  const auto shape = fmt::format("a whole number of bytes, or text with KiB, MiB or GiB such as {}, {}",
    in_quotes(exact_size(std::min<std::uint64_t>(most, 16U << 20U))), range);
  std::optional<std::uint64_t> given;
  if (const auto* value = node->as_integer()) {
    if (value->get() >= 0)
      given = static_cast<std::uint64_t>(value->get());
  } else if (const auto* written = node->as_string()) {
    given = parse_size(written->get());
    if (!given) {
      auto wrong = fmt::format("{} is not a size", in_quotes(written->get()));
      if (const auto mended = with_binary_unit(written->get()))
        wrong += fmt::format(" (did you mean {}?)", in_quotes(*mended));
      fail(key, std::move(wrong), shape);
      return std::nullopt;
    }
  } else {
    fail(key, "is " + described(*node), shape);
    return std::nullopt;
  }
  if (given && *given >= least && *given <= most)
    return given;
  const auto written = node->is_string() ? in_quotes(node->as_string()->get()) : fmt::format("{}", node->as_integer()->get());
  fail(key, fmt::format("{} is out of range", written), "a size " + range);
  return std::nullopt;
}

std::optional<std::chrono::milliseconds> table_reader::duration(
  std::string_view key, std::chrono::milliseconds least, std::chrono::milliseconds most) {
  const auto* node = find(key);
  if (node == nullptr)
    return std::nullopt;
  const auto range = fmt::format("from {} to {}", exact_duration(least), exact_duration(most));
  const auto shape = fmt::format("text such as \"500ms\", \"10s\", \"5min\" or \"1h\", {}", range);
  const auto* value = node->as_string();
  if (value == nullptr) {
    fail(key, "is " + described(*node), shape);
    return std::nullopt;
  }
  const auto given = parse_duration(value->get());
  if (!given) {
    fail(key, fmt::format("{} is not a duration", in_quotes(value->get())), shape);
    return std::nullopt;
  }
  if (*given < least || *given > most) {
    fail(key, fmt::format("{} is out of range", in_quotes(value->get())), "a duration " + range);
    return std::nullopt;
  }
  return given;
}

const toml::table* table_reader::table(std::string_view key) {
  const auto* node = find(key);
  if (node == nullptr)
    return nullptr;
  if (const auto* value = node->as_table())
    return value;
  const auto header = name_.empty() ? std::string{key} : fmt::format("{}.{}", name_, key); // as it is written
  const bool twice = node->is_array_of_tables();
  fail(key, twice ? fmt::format("is given in double brackets, [[{}]]", header) : "is " + described(*node),
    fmt::format("one table, [{}]", header));
  return nullptr;
}

void table_reader::refuse_unknown_keys(std::optional<std::string_view> type) {
  for (const auto& [key, value] : table_)
    refuse_unknown_key(key, type);
}

void table_reader::refuse_unknown_key(const toml::key& key, std::optional<std::string_view> type) {
  const std::string_view given = key.str();
  std::vector<std::string_view> valid;
  const config_key* elsewhere = nullptr;
  for (const auto& known : config_keys) {
    const bool belongs = known.table == name_ && (known.type.empty() || !type || known.type == *type);
    if (belongs && known.name == given)
      return;
    if (belongs && std::ranges::find(valid, known.name) == valid.end())
      valid.push_back(known.name);
    // Of several places where it would mean something, the first one in this very table is the likelier slip.
    if (!belongs && known.name == given && (elsewhere == nullptr || (known.table == name_ && elsewhere->table != name_)))
      elsewhere = &known;
  }
  std::string wrong;
  if (elsewhere != nullptr) {
    wrong = "belongs " + place_of(*elsewhere);
  } else {
    wrong = "is not a known key";
    if (const auto nearest = nearest_name(given, valid))
      wrong += fmt::format(" (did you mean {}?)", in_quotes(*nearest));
  }
  const auto here = place_of({name_, type.value_or(""), {}});
  notes_.errors.push_back({location_of(key.source().begin), path_of(is_bare(given) ? std::string{given} : in_quotes(given, 40)),
    std::move(wrong), fmt::format("{} {}", one_of(valid), here)});
}

} // namespace weir::cli
