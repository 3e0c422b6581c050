#include "log_stamp.hpp"

#include <cstring>
#include <string>

namespace weir {

namespace {

void append(std::string& out, std::uint64_t number) {
  for (int byte = 0; byte < 8; ++byte)
    out += static_cast<char>(number >> (8 * byte));
}

std::uint64_t number_at(std::string_view bytes) noexcept {
  std::uint64_t number = 0;
  for (std::size_t byte = 0; byte < 8; ++byte)
    number |= std::uint64_t{static_cast<unsigned char>(bytes[byte])} << (8 * byte);
  return number;
}

constexpr std::size_t size = 16 + sizeof(chain_digest);

} // namespace

stamp log_stamp::to_stamp() const {
  std::string bytes;
  append(bytes, store);
  append(bytes, topic_epoch);
  bytes.append(reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size());
  return stamp::from(bytes).value();
}

std::optional<log_stamp> log_stamp::from(const stamp& bytes) noexcept {
  const auto all = bytes.bytes();
  if (all.size() != size)
    return std::nullopt;
  log_stamp found{number_at(all), number_at(all.substr(8)), {}};
  std::memcpy(found.digest.bytes.data(), all.data() + 16, found.digest.bytes.size());
  return found;
}

} // namespace weir
