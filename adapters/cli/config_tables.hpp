#pragma once

#include <weir/cli/config.hpp>

#include "table_reader.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace weir::cli {

/// The key "name" of a table: required, and plain enough to name a lane, a table and a file.
std::optional<std::string> read_name(table_reader& reader, std::string_view example);

/// A path in the table; what is relative is relative to `directory`.
std::optional<std::filesystem::path> read_path(
  table_reader& reader, std::string_view key, std::string_view expected, const std::filesystem::path& directory);

/// Each of these reads one table, checks what can be checked within it, and refuses the keys that it does not know. What is
/// wrong or missing keeps its default.
void read_source(table_reader& reader, const std::filesystem::path& directory, source_config& source);
void read_stream(table_reader& reader, const std::filesystem::path& directory, reading_notes& notes, stream_config& stream);
sink_config read_sink(table_reader& reader, const std::filesystem::path& directory, reading_notes& notes);
void read_scheduler(table_reader& reader, scheduler_settings& scheduler);

} // namespace weir::cli
