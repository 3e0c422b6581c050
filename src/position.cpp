#include <weir/position.hpp>

namespace weir {

result<stamp> stamp::from(std::string_view bytes) {
  if (bytes.size() > max_size)
    return error{errc::stamp_too_long, "a position's stamp holds at most 64 bytes", {{"size", std::to_string(bytes.size())}}};
  stamp made;
  made.size_ = static_cast<std::uint8_t>(bytes.size());
  bytes.copy(made.bytes_.data(), bytes.size());
  return made;
}

bool may_follow(const position& last, const position& next) noexcept {
  return next > last || (next == last && !last.ends_transaction);
}

bool covers(const position& reached, const position& wanted) noexcept {
  if (reached == wanted)
    return reached.ends_transaction || !wanted.ends_transaction;
  return reached > wanted;
}

const position& lesser(const position& left, const position& right) noexcept {
  return covers(right, left) ? left : right;
}

std::string to_string(const position& at) {
  return std::to_string(at.epoch) + ":" + std::to_string(at.seq);
}

} // namespace weir
