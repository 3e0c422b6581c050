#pragma once

#include <weir/batch.hpp>
#include <weir/change_text.hpp>
#include <weir/error.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace weir {

/// Turns live batches into the lines of a log of changes: each change once, at its place (epoch, seq, index), whatever the
/// batches' boundaries, and one line where a new epoch begins behind an older one.
class change_lines {
public:
  /// Whether changes that the log holds are left out when they come again.
  enum class repeats { skip, write };

  /// @param last where the log's last line stands; absent when it is empty or not known
  explicit change_lines(repeats repeated, std::optional<change_place> last = {}) noexcept : repeated_{repeated}, last_{last} {}

  /// Appends the lines of one live batch. source_failed, with nothing appended, when the block's parts are not sound or when a
  /// transaction is cut by a batch that does not say where: such a change could not be told from its repetition.
  result<void> append(std::string& out, const batch& live);

  const std::optional<change_place>& last() const noexcept { return last_; }

private:
  repeats repeated_;
  std::optional<change_place> last_;
};

} // namespace weir
