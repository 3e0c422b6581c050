#pragma once

#include <weir/cli/log_arguments.hpp>
#include <weir/log.hpp>

#include "../jsonl/line_buffer.hpp"
#include "../jsonl/line_input.hpp"

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace weir::cli {

/// Entries of lines that stand together, to be appended whole or not at all.
struct line_batch {
  std::vector<new_entry> entries = {};
  std::vector<std::uint64_t> lines = {}; ///< of each entry, counted from 1
  std::size_t bytes = 0;
  bool has_dedupe_key = false; ///< some entry may be refused for the sake of one that is there
};

/// Makes entries of the lines of standard input. One thread at a time, but for stop().
class append_input {
public:
  append_input(log_append how, topic_description to);

  /// Waits until more can be taken, or nothing will come: because the input has ended, or stop() was called.
  result<void> fill();

  /// What is there, and can be appended together: perhaps nothing. Behind it may be a fault().
  line_batch take();

  /// Nothing will come, and everything was taken.
  bool has_ended() const noexcept { return has_ended_; }

  /// What is wrong with the line behind everything that was taken, which is no entry; nothing is taken after it.
  const std::optional<error>& fault() const noexcept { return fault_; }

  /// How many lines were read, that of the fault included.
  std::uint64_t lines() const noexcept { return lines_; }

  /// Whether a line is left that was not read to its end when stop() was called.
  bool has_cut_line() const noexcept { return is_cut_ && buffer_.received() != buffer_.offset(); }

  /// Reads no further. Any thread, and any number of times.
  void stop() noexcept;

private:
  std::optional<line_buffer::line> next_line();
  result<std::optional<new_entry>> entry_of(const line_buffer::line& one) const;
  result<void> check(const new_entry& one) const;

  log_append how_;
  topic_description to_;
  std::size_t longest_line_;
  line_buffer buffer_;
  line_input input_;
  std::optional<error> fault_;
  std::uint64_t lines_ = 0;
  bool is_at_end_ = false; ///< nothing more is filled in
  bool is_cut_ = false;    ///< by stop()
  bool has_ended_ = false;
  std::atomic<bool> is_stopped_{false};
};

} // namespace weir::cli
