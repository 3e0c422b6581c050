#include "any_bytes.hpp"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto piece = size == 0 ? 1u : 1u + data[0] % 64u;
  git_tests::parse_any_bytes({reinterpret_cast<const char*>(data), size}, piece); // NOLINT: bytes are bytes
  return 0;
}
