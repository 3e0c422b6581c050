#pragma once

#include <weir/cli/config_error.hpp>

#include <toml++/toml.h>

#include <string_view>

namespace weir::cli {

/// What the parser found wrong with the text, as a mistake: with what it expected apart from what it saw, and a number that is
/// too long where that begins, not where it ends.
config_error syntax_error(const toml::parse_error& failure, std::string_view text);

} // namespace weir::cli
