#include "input_buffer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace weir::git {

char* input_buffer::prepare() {
  const auto kept = unread();
  if (capacity_ - kept.size() < read_size) {
    const auto wanted = std::max(2 * capacity_, kept.size() + read_size);
    auto larger = std::make_unique_for_overwrite<char[]>(wanted);
    kept.copy(larger.get(), kept.size());
    bytes_ = std::move(larger);
    capacity_ = wanted;
  } else if (begin_ != 0 && (kept.empty() || room() < read_size)) {
    std::memmove(bytes_.get(), kept.data(), kept.size());
  } else {
    return bytes_.get() + end_;
  }
  begin_ = 0;
  end_ = kept.size();
  return bytes_.get() + end_;
}

} // namespace weir::git
