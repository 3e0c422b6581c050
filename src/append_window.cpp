#include <weir/append_window.hpp>

#include <cassert>

namespace weir {

std::size_t append_window::send(append_bound most) noexcept {
  if (in_call_ != 0)
    return 0;
  credit sent;
  while (in_call_ < sizes_.size()) {
    const auto& next = sizes_[in_call_];
    const bool fits = sent.items + next.items <= most.entries && sent.bytes + next.bytes <= most.bytes;
    if (in_call_ > 0 && !fits)
      break;
    sent.items += next.items;
    sent.bytes += next.bytes;
    ++in_call_;
  }
  return in_call_;
}

void append_window::on_decided() noexcept {
  assert(in_call_ > 0);
  held_.items -= sizes_.front().items;
  held_.bytes -= sizes_.front().bytes;
  sizes_.pop_front();
  ++first_;
  --in_call_;
}

std::size_t append_window::abandon() noexcept {
  assert(in_call_ == 0);
  const auto count = sizes_.size();
  sizes_.clear();
  first_ += count;
  held_ = {};
  return count;
}

} // namespace weir
