#pragma once

#include <weir/batch.hpp>
#include <weir/change_text.hpp>
#include <weir/error.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir {

/// Turns live batches into the lines of a log of changes: each change once, at its place (epoch, seq, index), whatever the
/// batches' boundaries, and one line where a new epoch begins behind an older one.
class change_lines {
public:
  /// Whether changes that the log holds are left out when they come again.
  enum class repeats { skip, write };

  explicit change_lines(repeats repeated, std::string pipeline = {}) noexcept
    : repeated_{repeated},
      pipeline_{std::move(pipeline)} {}

  /// Where a line that was appended ends, behind its line feed.
  struct line_end {
    std::size_t end = 0;
    change_place place = {};
    const envelope* change = nullptr; ///< of the batch; null for an event
  };

  /// Goes on behind the log's last line; absent when it is empty.
  void go_on(const std::optional<log_line>& last);

  /// Appends the lines of one live batch. source_failed, with nothing appended, when the block's parts are not sound or when a
  /// transaction is cut by a batch that does not say where: such a change could not be told from its repetition.
  result<void> append(std::string& out, const batch& live, std::vector<line_end>* ends = nullptr);

  /// Appends a line that says up to where the log is complete, unless its last line says so.
  void append_position(std::string& out, std::vector<line_end>* ends = nullptr);

  const std::optional<change_place>& last() const noexcept { return last_; }

private:
  repeats repeated_;
  std::string pipeline_;
  std::optional<change_place> last_; ///< where the last line stands
  std::optional<position> told_;     ///< what is in, as the last line says
  std::optional<position> reached_;  ///< what is in
};

} // namespace weir
