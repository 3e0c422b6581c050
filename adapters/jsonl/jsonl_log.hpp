#pragma once

#include <weir/batch.hpp>
#include <weir/change_lines.hpp>
#include <weir/error.hpp>
#include <weir/jsonl.hpp>
#include <weir/sink.hpp>

#include "../posix/file_descriptor.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace weir {

/// The blocking half of the JSONL sink: a file that holds every change once. Not thread-safe.
///
/// After any failure the file is cut back to what the last flush() made durable, and closed: open() again, and give it the same
/// items.
class jsonl_log {
public:
  explicit jsonl_log(jsonl_sink_options options)
    : options_{std::move(options)},
      lines_{change_lines::repeats::skip, options_.pipeline} {}
  ~jsonl_log() { close(); }
  jsonl_log(const jsonl_log&) = delete;
  jsonl_log& operator=(const jsonl_log&) = delete;

  /// Opens or creates the file, cuts off what a crash broke, and says what the last line holds. Keeps every other process of
  /// this kind out (in_use).
  result<sink_state> open();

  /// Appends the changes of live batches that the file does not hold. Snapshot batches and markers say what is, not what
  /// changed, and are passed over.
  result<void> write(std::span<const lane_item> items);

  /// Writes what is buffered, and up to where that is complete, and waits until the disk has it.
  result<void> flush();

  /// What open() would say, found out without changing anything.
  static result<sink_state> check(const jsonl_sink_options& options);

private:
  result<sink_state> open_file();
  result<void> write_buffer();
  error give_up(error why);
  void close() noexcept;

  const std::filesystem::path& path() const noexcept { return options_.path; }

  jsonl_sink_options options_;
  posix::file_descriptor file_;
  change_lines lines_;
  std::string buffer_;            ///< lines that are not in the file yet
  std::uint64_t written_end_ = 0; ///< how long the file is
  std::uint64_t durable_end_ = 0; ///< the file up to here survives anything
  bool is_durable_ = false;       ///< whether that is all of the file
};

} // namespace weir
