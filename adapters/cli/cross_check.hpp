#pragma once

#include <weir/cli/config.hpp>

#include "table_reader.hpp"

#include <cstddef>
#include <string>

namespace weir::cli {

/// How messages call a sink's table: "sink[1]".
std::string path_of_sink(std::size_t index);

/// Reports what is right in each table and wrong between them, and lets a default make room for what the file gives: a default
/// is never to blame.
void cross_check(config& read, reading_notes& notes);

} // namespace weir::cli
