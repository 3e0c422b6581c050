#pragma once

#include <weir/error.hpp>
#include <weir/jsonl.hpp>
#include <weir/position.hpp>
#include <weir/source.hpp>

#include "line_buffer.hpp"
#include "line_input.hpp"
#include "line_stamp.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

namespace weir {

/// The blocking half of the JSONL source: reads lines and makes batches of them. One thread at a time, but for stop().
class jsonl_feed {
public:
  /// What one call brought. With neither, nothing was there in time.
  struct turn {
    std::optional<reading> brought;
    bool has_ended = false; ///< nothing more will come
  };

  /// @param standard_input what the path "-" stands for
  explicit jsonl_feed(jsonl_source_options options, int standard_input = 0);

  result<void> open(const resume_point& from);

  /// Returns what is ready, up to the limit, or waits until something is, as long as its patience lasts.
  result<turn> next(read_limit limit, std::chrono::milliseconds patience);

  /// Ends the wait of a call that is running at once, and that of every later one. Thread-safe.
  void stop() noexcept { input_.stop(); }

  static result<void> check(const jsonl_source_options& options);

private:
  enum class finish { none, ended, next_file };
  struct gathering;

  result<void> open_file(const resume_point& from);
  result<void> open_pipe(const resume_point& from);
  result<std::optional<std::string>> find(const position& at) const;
  std::optional<line_buffer::line> next_line();
  void pass_confirmed();
  std::optional<reading> gather(read_limit limit);
  void take(const line_buffer::line& line, gathering& into);
  void set_aside(const line_buffer::line& line, gathering& into, error fault);
  turn finish_file();
  reading begin_epoch(std::uint64_t epoch);
  position place() const;

  jsonl_source_options options_;
  line_input input_;
  line_buffer buffer_;
  std::uint64_t epoch_ = 1;
  std::uint64_t seq_ = 0; ///< the number of the last line taken
  std::optional<std::uint64_t> epoch_to_begin_;
  std::optional<position> pass_until_; ///< lines up to here are passed over
  finish finish_ = finish::none;
  std::optional<error> failure_; ///< kept: every later call fails alike
};

} // namespace weir
