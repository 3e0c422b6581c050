#pragma once

#include <boost/outcome/basic_result.hpp>
#include <boost/outcome/policy/terminate.hpp>

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::cli {

/// A place in a text file. Both count from 1; columns count characters, as editors do.
struct location {
  std::uint32_t line = 1;
  std::uint32_t column = 1;

  friend auto operator<=>(const location&, const location&) = default;
};

/// One thing that is wrong in a configuration.
struct config_error {
  location where;
  std::string key;      ///< the dotted key, "sink[1].path"; empty where no key is to blame (the syntax, the whole file)
  std::string wrong;    ///< what is wrong: half a sentence without a full stop
  std::string expected; ///< what would be right: the sentence's other half; empty where `wrong` says it already
};

/// Everything that is wrong in a configuration, in the order of the file.
using config_errors = std::vector<config_error>;

/// A value, or everything that is wrong with the text it was to be read from.
template <class T>
using config_result = boost::outcome_v2::basic_result<T, config_errors, boost::outcome_v2::policy::terminate>;

/// "FILE:LINE:COLUMN: KEY: what is wrong; expected what", one line, for people and for editors that jump to places.
std::string to_string(const config_error& one, std::string_view file);

/// One line for each of the errors.
std::string to_string(const config_errors& all, std::string_view file);

/// In the order of the file; those of one place in the order in which they were found.
config_errors in_order(config_errors found);

} // namespace weir::cli
