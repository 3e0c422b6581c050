#pragma once

#include <weir/batch.hpp>
#include <weir/change_lines.hpp>
#include <weir/error.hpp>

#include <span>
#include <string>
#include <string_view>

namespace weir {

/// The blocking half of the stdout sink: lines of changes into an open descriptor. One thread at a time, but for stop().
class descriptor_log {
public:
  explicit descriptor_log(int descriptor) noexcept;
  ~descriptor_log();
  descriptor_log(const descriptor_log&) = delete;
  descriptor_log& operator=(const descriptor_log&) = delete;

  /// Forgets what was buffered before a failure.
  result<void> open();

  result<void> write(std::span<const lane_item> items);
  result<void> flush();

  /// Ends a wait for the reader at once, and every later one, with cancelled. Thread-safe.
  void stop() noexcept;

private:
  result<void> write_buffer();
  result<void> wait_for_room() const;
  error failure(int number) const;

  int descriptor_;
  int wake_; ///< readable once stop() was called
  change_lines lines_{change_lines::repeats::write};
  std::string buffer_;
  bool is_inside_line_ = false; ///< a failure broke off the last line that was written
};

} // namespace weir
