#pragma once

#include <weir/cli/config.hpp>
#include <weir/cli/saved_state.hpp>
#include <weir/error.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir::cli {

/// The source that the configuration describes, not opened yet.
result<std::unique_ptr<source>> make_source(const config& from);

/// The sink, not opened yet.
std::unique_ptr<sink> make_sink(const config& from, const sink_config& one);

/// What a backfill of the source brings: all collections that it can walk. None where it can't.
std::vector<std::string> collections_of(const config& from);

/// Whose state this pipeline's is. Looks at the file system for the real path behind symbolic links.
state_owner owner_of(const config& from);

/// Everything that the source and the sinks would not open, and the sinks that lack what was confirmed and will not come again,
/// at the keys that name it. Blocks on the real things; changes nothing.
config_errors check_endpoints(const config& from, const std::optional<position>& confirmed);

/// The same for the source alone.
config_errors check_source(const config& from);

/// For people: "git /srv/site at main", "sqlite /srv/files.db".
std::string described_source(const config& from);
std::string described_stream(const config& from);
std::string described_sink(const sink_config& one);

} // namespace weir::cli
