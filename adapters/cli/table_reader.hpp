#pragma once

#include <weir/cli/config.hpp>

#include <toml++/toml.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weir::cli {

/// What reading a configuration leaves behind besides the values.
struct reading_notes {
  config_errors errors;
  key_places places;
};

/// Reads the keys of one TOML table by name and kind. Whatever is missing or wrong goes to the notes, with its place, and
/// reads as absent: so that everything that is wrong is found in one go.
class table_reader {
public:
  /// `name` is the table's in config_keys; `path` is how messages call it: "", "source", "sink[1]". The table and the notes
  /// must outlive the reader.
  table_reader(const toml::table& table, std::string_view name, std::string path, reading_notes& notes);

  bool has(std::string_view key) const { return table_.contains(key); }

  /// Whether the key is there with exactly this text.
  bool is(std::string_view key, std::string_view text);

  /// Reports the key as missing unless it is there.
  void require(std::string_view key, std::string_view expected);

  /// Each of these is absent when the key is, and when the value is not what it should be.
  std::optional<std::string> text(std::string_view key, std::string_view expected);
  std::optional<std::string> choice(std::string_view key, std::span<const std::string_view> choices);
  std::optional<bool> flag(std::string_view key);
  std::optional<std::uint64_t> number(std::string_view key, std::uint64_t least, std::uint64_t most);
  std::optional<std::uint64_t> size(std::string_view key, std::uint64_t least, std::uint64_t most);
  std::optional<std::chrono::milliseconds> duration(
    std::string_view key, std::chrono::milliseconds least, std::chrono::milliseconds most);

  /// The table under the key, or null.
  const toml::table* table(std::string_view key);

  /// Reports every key that a table of this name and `type` does not have, with what it was most likely meant to be. Without
  /// a known type, the keys of all types are let pass.
  void refuse_unknown_keys(std::optional<std::string_view> type);

  /// Reports the key's value, where it stands; the table itself where the key is not given.
  void fail(std::string_view key, std::string wrong, std::string expected);

  /// How messages call the key: "sink[1].path".
  std::string path_of(std::string_view key) const;

private:
  const toml::node* find(std::string_view key);
  void refuse_unknown_key(const toml::key& key, std::optional<std::string_view> type);

  const toml::table& table_;
  std::string_view name_;
  std::string path_;
  reading_notes& notes_;
};

location location_of(const toml::source_position& position) noexcept;

/// What a value is, for a sentence: `the integer 5`, `the text "five"`, `a table`.
std::string described(const toml::node& node);

} // namespace weir::cli
