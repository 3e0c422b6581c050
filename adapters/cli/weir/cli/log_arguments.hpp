#pragma once

#include <weir/cli/early_end.hpp>
#include <weir/retention.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <variant>

namespace weir::cli {

// What each command of `weir log` is asked for. A place is what the user gave for a CURSOR: what it means, place_in() says.

struct log_create {
  std::uint32_t shards = 1;
  std::optional<std::uint64_t> dedupe_horizon = {};
};

struct log_append {
  std::string key = {}; ///< of entries that come without one; empty: none
  std::optional<std::uint32_t> shard = {};
  bool reads_jsonl = false;
  bool tells_offsets = false;
};

/// `read` and `tail`.
struct log_read {
  std::optional<std::string> after = {};
  std::optional<std::uint64_t> limit = {};
  std::optional<std::uint32_t> shard = {};
  bool follows = false;
};

struct log_head {};

struct log_trim {
  std::string through = {};
  bool force = false;
  retention_budget budget = {};
};

struct log_snapshot {
  std::optional<std::string> at = {};
};
struct log_snapshot_list {};
struct log_snapshot_read {
  std::uint64_t id = 0;
};

struct log_checkpoint_list {};
struct log_checkpoint_drop {
  std::string consumer = {};
};
struct log_checkpoint_set {
  std::string consumer = {};
  std::string to = {};
};

/// `verify` and `repair`.
struct log_scrub {
  bool repairs = false;
};

using log_request = std::variant<log_create, log_append, log_read, log_head, log_trim, log_snapshot, log_snapshot_list,
  log_snapshot_read, log_checkpoint_list, log_checkpoint_drop, log_checkpoint_set, log_scrub>;

/// What `weir log COMMAND FILE …` asks for.
struct log_arguments {
  std::string command = {}; ///< as it was called: "append"
  std::filesystem::path file = {};
  std::optional<std::string> topic = {}; ///< a valid name; absent: the only one there is
  bool json = false;
  log_request what = log_head{};
};

/// Reads the arguments that follow `weir log`. Pure.
std::variant<log_arguments, early_end> parse_log_arguments(std::span<const std::string> given);

} // namespace weir::cli
