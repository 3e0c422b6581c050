#pragma once

#include <weir/cli/config.hpp>
#include <weir/durable.hpp>
#include <weir/error.hpp>
#include <weir/log.hpp>
#include <weir/sink.hpp>
#include <weir/source.hpp>

#include <memory>
#include <optional>
#include <string>

/// Logs in SQLite files as a pipeline's source and sinks.
namespace weir::cli {

result<std::unique_ptr<source>> make_log_source(const log_source_config& log, const std::string& pipeline);
std::unique_ptr<sink> make_log_sink(const log_sink_config& log, const std::string& pipeline);

/// The log that a pipeline's stream is kept in. Blocks.
result<std::shared_ptr<log_store>> open_stream_log(const durable_config& durable);

/// The pipeline's stream in it.
durable::options options_of_stream(const config& from, const std::optional<position>& confirmed);

/// Why it can't be the one of which that position was confirmed to the source.
error behind_confirmed(const config& from, const position& confirmed, const std::optional<position>& stored);

/// What is there. Fails where it would not open. Blocks; changes nothing.
result<durable::seen> look_at_stream_log(const config& from, const std::optional<position>& confirmed);

/// Whether it would open. Blocks; changes nothing.
result<void> check_log_source(const log_source_config& log);
result<sink_state> check_log_sink(const log_sink_config& log, const std::string& pipeline);

} // namespace weir::cli
