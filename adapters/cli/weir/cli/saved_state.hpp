#pragma once

#include <weir/error.hpp>
#include <weir/position.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::cli {

/// Whose state it is: the pipeline, and everything about its source that makes two positions comparable. A position means
/// nothing to a pipeline that differs in any of this.
struct state_owner {
  std::string pipeline;
  std::vector<std::pair<std::string, std::string>> source; ///< "type", "repository", "ref" …, bytes as they are

  friend bool operator==(const state_owner&, const state_owner&) = default;
};

/// What `position.json` holds.
struct saved_state {
  state_owner owner;
  position confirmed;
};

/// The text of `position.json`: one line of JSON, format version 1, with a checksum over everything but itself.
std::string to_json(const saved_state& saved);

/// Reads what to_json() wrote. Fails with corrupt where the text is not that (the sentence says how), and with unsupported
/// where a newer format was written (fact `format`).
result<saved_state> parse_saved_state(std::string_view text);

/// Refuses with wrong_owner, naming the first thing that differs, unless both are the same.
result<void> expect_owner(const state_owner& kept, const state_owner& wanted);

} // namespace weir::cli
