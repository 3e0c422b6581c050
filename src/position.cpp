#include <weir/position.hpp>

namespace weir {

result<stamp> stamp::from(std::string_view bytes) {
  if (bytes.size() > max_size)
    return error{errc::stamp_too_long, "a position's stamp holds at most 64 bytes", {{"size", std::to_string(bytes.size())}}};
  stamp made;
  made.size_ = static_cast<std::uint8_t>(bytes.size());
  made.bytes_ = {};
  bytes.copy(made.bytes_.data(), bytes.size());
  return made;
}

std::string to_string(const position& at) {
  return std::to_string(at.epoch) + ":" + std::to_string(at.seq);
}

} // namespace weir
