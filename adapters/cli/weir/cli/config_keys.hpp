#pragma once

#include <array>
#include <string_view>

namespace weir::cli {

/// Every key that a configuration may hold, by the table it belongs to. What reads them and what says "did you mean" both go
/// by this list; a test holds docs/configuration.md against it.
struct config_key {
  std::string_view table; ///< "" for the top of the file
  std::string_view type;  ///< the `type` that the table must have for the key to mean something; "" for any
  std::string_view name;
};

inline constexpr std::array config_keys{
  config_key{"", "", "name"},
  config_key{"", "", "state"},
  config_key{"", "", "source"},
  config_key{"", "", "stream"},
  config_key{"", "", "sink"},
  config_key{"", "", "scheduler"},
  config_key{"source", "", "type"},
  config_key{"source", "", "max_changes"},
  config_key{"source", "", "max_bytes"},
  config_key{"source", "", "follow"},
  config_key{"source", "git", "repository"},
  config_key{"source", "git", "ref"},
  config_key{"source", "git", "collection"},
  config_key{"source", "jsonl", "path"},
  config_key{"source", "jsonl", "on_bad_record"},
  config_key{"source", "jsonl", "on_restart"},
  config_key{"source", "jsonl", "max_line"},
  config_key{"source", "log", "path"},
  config_key{"source", "log", "topic"},
  config_key{"source", "log", "consumer"},
  config_key{"source", "log", "format"},
  config_key{"source", "log", "collection"},
  config_key{"source", "log", "on_bad_record"},
  config_key{"stream", "", "type"},
  config_key{"stream", "", "items"},
  config_key{"stream", "", "bytes"},
  config_key{"stream", "", "budget"},
  config_key{"stream", "durable", "log"},
  config_key{"stream", "durable", "floor"},
  config_key{"stream", "durable", "retain_bytes"},
  config_key{"stream", "durable", "retain_age"},
  config_key{"stream.log", "", "type"},
  config_key{"stream.log", "", "path"},
  config_key{"stream.log", "", "topic"},
  config_key{"sink", "", "name"},
  config_key{"sink", "", "type"},
  config_key{"sink", "", "on_failure"},
  config_key{"sink", "", "dead_letter_after"},
  config_key{"sink", "", "backoff_min"},
  config_key{"sink", "", "backoff_max"},
  config_key{"sink", "", "announce"},
  config_key{"sink.announce", "", "bus"},
  config_key{"sink.announce", "", "topic"},
  config_key{"sink.announce", "", "per"},
  config_key{"sink.announce", "", "channel"},
  config_key{"sink", "sqlite", "path"},
  config_key{"sink", "jsonl", "path"},
  config_key{"sink", "log", "path"},
  config_key{"sink", "log", "topic"},
  config_key{"scheduler", "", "threads"},
  config_key{"scheduler", "", "policy"},
};

} // namespace weir::cli
