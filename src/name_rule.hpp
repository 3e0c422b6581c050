#pragma once

#include <weir/error.hpp>
#include <weir/utf8.hpp>

#include "excerpt.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace weir::detail {

/// The rule that all names of topics follow: 1 to `most` bytes of well-formed UTF-8 without NUL. `what` begins the sentence.
inline result<void> check_name(std::string_view name, std::size_t most, errc code, std::string_view what) {
  const auto refused = [&](const std::string& rule, std::size_t at) {
    return error{code, std::string{what} + rule, {{"topic", excerpt(name)}, {"at", std::to_string(at)}}};
  };
  if (name.empty())
    return refused(" is not empty", 0);
  if (name.size() > most)
    return refused(" has at most " + std::to_string(most) + " bytes", most);
  for (std::size_t at = 0; at < name.size();) {
    if (name[at] == '\0')
      return refused(" has no NUL in it", at);
    const auto length = utf8_length(name.substr(at));
    if (length == 0)
      return refused(" is well-formed UTF-8", at);
    at += length;
  }
  return success();
}

} // namespace weir::detail
