#pragma once

#include <weir/cli/log.hpp>
#include <weir/cli/progress.hpp>
#include <weir/pipeline.hpp>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace weir::cli {

/// Keeps the score of a running pipeline: the engines tell it, the program's main thread asks it. Thread-safe; whoever tells it
/// something never waits for a terminal.
class scoreboard final : public pipeline_observer {
public:
  /// `confirmed` is where the pipeline goes on. A sink_failed of the sink that is named `final_sink` is one that no further try
  /// can mend: standard output whose reader has gone.
  scoreboard(std::vector<std::string> sinks, std::optional<position> confirmed, std::optional<std::string> final_sink = {});

  void on_read(std::uint64_t changes, const position& at) override;
  void on_confirmed(const position& at) override;
  void on_source_ended() override;
  void on_written(const std::string& sink, std::uint64_t changes) override;
  void on_overload(const std::string& sink, std::chrono::milliseconds wait) override;
  void on_unannounced(const std::string& sink, const error& why) override;
  void on_failure(const std::string& sink, const error& why, std::chrono::milliseconds next_try) override;
  void on_recovery(const std::string& sink) override;
  void on_dead_letters(const std::string& lane, std::size_t count, const error& first) override;
  void on_backfill(const std::string& sink, bool complete) override;

  /// What is to be logged since the last call. When more came than are kept, the last entry says how many were left out.
  std::vector<log_entry> take_events();

  /// The failure that no further try can mend, once there is one.
  std::optional<error> final_failure() const;

  /// How things stand, with what the stream says about its lanes.
  figures now(std::chrono::milliseconds elapsed, const stream_figures& lanes) const;

  std::uint64_t changes() const;
  std::uint64_t dead_letters() const;
  std::optional<position> confirmed() const;
  std::vector<std::pair<std::string, std::uint64_t>> written() const;

private:
  struct sink_score {
    std::string name;
    std::uint64_t written = 0;
    bool is_filling = false;
    bool is_waiting = false;
  };

  /// Null for a name that is no sink's.
  sink_score* find(const std::string& sink);
  void tell(severity level, std::string message, std::vector<std::pair<std::string, std::string>> facts);

  mutable std::mutex mutex_;
  std::uint64_t changes_ = 0;
  std::uint64_t dead_letters_ = 0;
  std::optional<position> read_;
  std::optional<position> confirmed_;
  std::vector<sink_score> sinks_;
  std::optional<std::string> final_sink_;
  std::optional<error> final_failure_;
  std::vector<log_entry> events_;
  std::uint64_t left_out_ = 0;
};

} // namespace weir::cli
