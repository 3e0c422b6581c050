#pragma once

#include <weir/cli/config.hpp>

namespace weir::cli {

/// Reports every sink's path that names what the source reads, what a sink before it writes, or something in the state
/// directory. Compares the paths as they are written.
config_errors compare_paths(const config& read, const key_places& places);

/// The same for what the file system has there: other names of one file are found, too. Blocks; changes nothing.
config_errors compare_files(const config& read);

} // namespace weir::cli
