#pragma once

#include <weir/announcements.hpp>
#include <weir/cli/bus_place.hpp>
#include <weir/cli/config_error.hpp>
#include <weir/configure.hpp>
#include <weir/durable_options.hpp>
#include <weir/error.hpp>
#include <weir/git.hpp>
#include <weir/jsonl.hpp>
#include <weir/log_endpoints.hpp>
#include <weir/pipeline.hpp>
#include <weir/sqlite.hpp>
#include <weir/stdout.hpp>

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace weir::cli {

/// A topic of a log in a SQLite file, to be read.
struct log_source_config {
  std::filesystem::path path = {};
  std::string topic = "main";
  std::string consumer = {}; ///< empty: the pipeline's name
  bool follow = false;
  log_format format = log_format::changes;
  std::string collection = "entries"; ///< of log_format::entries
  bad_record_policy on_bad = bad_record_policy::stop;
};

/// A topic of a log in a SQLite file, to be written.
struct log_sink_config {
  std::filesystem::path path = {};
  std::string topic = "main";
};

struct source_config {
  std::variant<git_options, jsonl_source_options, log_source_config> from = {};
  std::size_t max_changes = 512;     ///< in one batch
  std::size_t max_bytes = 1U << 20U; ///< in one batch; at most what a lane may hold
};

/// Lanes that are kept in a log.
struct durable_config {
  std::filesystem::path path = {}; ///< a log in a SQLite file
  std::string topic = {};          ///< empty: the pipeline's name
  lane_floors floors = lane_floors::sink;
  retention_budget retention = {};
};

struct stream_config {
  std::optional<durable_config> log = {}; ///< absent: lanes in memory
  std::size_t items = 1024;               ///< that one lane holds, published and not yet acknowledged
  std::size_t bytes = 16U << 20U;         ///< that one lane holds
  std::size_t budget = 32U << 20U;        ///< that all lanes hold together, what several share counted once; at least `bytes`
};

/// Where a sink tells what it has committed.
struct announce_config {
  bus_place where = {};
  std::string topic = {};
  announce_per per = announce_per::key;
};

struct sink_config {
  std::string name = {}; ///< and its lane's
  std::variant<sqlite_sink_options, jsonl_sink_options, stdout_sink_options, log_sink_config> to = {};
  sink_policy policy = {};
  std::optional<announce_config> announce = {};
};

/// Where a file gives each key ("source.path", "sink[1].path") and each table ("source", "sink[1]").
using key_places = std::map<std::string, location, std::less<>>;

/// One pipeline, as its file describes it. No path in it was checked against the file system.
struct config {
  std::string name;
  std::filesystem::path state;
  source_config source;
  stream_config stream;
  std::vector<sink_config> sinks; ///< in the order of the file, one at least
  scheduler_settings scheduler;
  key_places places;

  /// Where the file gives the key; if it does not, where it gives the table that would hold it.
  location where(std::string_view key) const;

  /// Of a durable stream.
  std::string topic_of_stream() const { return stream.log->topic.empty() ? name : stream.log->topic; }
};

/// Reads a pipeline from TOML. Pure: touches no file. Relative paths in it are relative to `directory`, which is absolute.
/// Reports everything that is wrong, not only the first thing; after a syntax error nothing else.
config_result<config> parse_config(std::string_view text, const std::filesystem::path& directory);

/// The text of a configuration file. Fails with not_found, permission_denied, invalid_argument (a directory, or more than
/// 64 KiB) or io_failed; never blocks on a FIFO.
result<std::string> read_config_file(const std::filesystem::path& file);

} // namespace weir::cli
