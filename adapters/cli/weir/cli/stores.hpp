#pragma once

#include <weir/cli/dead_letters.hpp>
#include <weir/cli/state_directory.hpp>
#include <weir/pipeline.hpp>
#include <weir/worker.hpp>

#include <atomic>
#include <memory>

namespace weir::cli {

/// Keeps a pipeline's confirmed position in its state directory.
class directory_positions final : public position_store {
public:
  explicit directory_positions(std::shared_ptr<state_directory> directory);

  task<result<void>> save(self me, position at) override;

  /// Set when a save() failed, by which the end of the pipeline can be told from that of its sinks. Any thread.
  std::shared_ptr<const std::atomic<bool>> failed() const noexcept { return failed_; }

private:
  std::shared_ptr<state_directory> directory_;
  std::shared_ptr<std::atomic<bool>> failed_;
  worker disk_;
};

/// Keeps a pipeline's dead letters in a file.
class file_dead_letters final : public dead_letter_store {
public:
  explicit file_dead_letters(std::filesystem::path path);

  task<result<void>> add(self me, std::vector<dead_letter> letters) override;

private:
  std::shared_ptr<dead_letter_file> file_;
  worker disk_;
};

} // namespace weir::cli
