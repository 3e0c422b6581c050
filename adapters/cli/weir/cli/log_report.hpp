#pragma once

#include <weir/checkpoint.hpp>
#include <weir/cli/exit_code.hpp>
#include <weir/error.hpp>
#include <weir/log.hpp>
#include <weir/snapshot.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What the commands of `weir log` say, as text for people and as JSON: whole lines, each with its line feed. Pure.
namespace weir::cli {

/// Where a topic begins and ends.
struct topic_standing {
  topic_description topic = {};
  std::vector<shard_bounds> bounds = {}; ///< for each shard
  std::vector<shard_lag> retained = {};  ///< for each shard, what is there
};

/// Acknowledges everything up to the heads.
cursor head_of(const topic_description& topic, const std::vector<shard_bounds>& bounds);

std::string created_text(const topic_description& topic, std::string_view file);
std::string created_json(const topic_description& topic, std::string_view file);

std::string standing_text(const topic_standing& one);
std::string standing_json(const topic_standing& one);

/// @param before the bounds before the trim
std::string trimmed_text(const topic_description& topic, const std::vector<shard_bounds>& before, const trim_outcome& done);
std::string trimmed_json(const topic_description& topic, const std::vector<shard_bounds>& before, const trim_outcome& done);

std::string snapshot_text(const topic_description& topic, const snapshot_info& one);
std::string snapshot_json(const topic_description& topic, const snapshot_info& one);

/// @param behind how much it has not acknowledged, for each shard
std::string checkpoint_text(const topic_description& topic, const checkpoint& one, const std::vector<shard_lag>& behind);
std::string checkpoint_json(const topic_description& topic, const checkpoint& one, const std::vector<shard_lag>& behind);

/// How an append went.
struct append_report {
  std::uint64_t stored = 0;        ///< entries that are new
  std::uint64_t known = 0;         ///< entries that were there already, under their dedupe keys
  std::optional<cursor> head = {}; ///< where the topic ends now, if that is known
  std::optional<error> failure = {};
  std::uint64_t first_missing = 0; ///< the line from which on nothing was stored, where it failed
};

/// How it went, for standard output; and the failure, for standard error.
std::string appended_text(const append_report& done);
std::string appended_json(const append_report& done);
std::string not_appended_text(const append_report& done);

/// "weir log COMMAND: SENTENCE (code=…, fact=…)" and what can be done about it.
std::string failure_text(std::string_view command, const error& why);

/// 2 where what the command line names is not there or is not what it should be; otherwise 1.
exit_code code_of(const error& why) noexcept;

} // namespace weir::cli
