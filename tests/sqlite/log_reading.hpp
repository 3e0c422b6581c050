#pragma once

#include <weir/error.hpp>
#include <weir/log.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sqlite_tests {

/// What can be read of a log's topic, and where it ended.
struct log_reading {
  std::optional<weir::error> failure = {}; ///< of opening the file or the topic
  std::vector<weir::shard_bounds> bounds = {};
  std::vector<std::vector<weir::entry>> shards = {};
  std::vector<std::optional<weir::error>> ends = {}; ///< of each shard: why not all of it was read
  std::vector<weir::checkpoint> checkpoints = {};
  std::optional<weir::error> checkpoint_failure = {};
};

/// An actor system in which a test opens logs.
class log_opener {
public:
  log_opener();
  ~log_opener();
  log_opener(const log_opener&) = delete;
  log_opener& operator=(const log_opener&) = delete;

  /// Reads all that is retained of a log that is there, a few entries at a time.
  log_reading read(const std::filesystem::path& path, const std::string& topic);

  /// Appends entries in one append; the log and the topic are made where they are not there.
  weir::result<void> append(
    const std::filesystem::path& path, const std::string& topic, std::uint32_t shards, std::vector<weir::new_entry> entries);

private:
  struct running;
  std::unique_ptr<running> running_;
};

} // namespace sqlite_tests
