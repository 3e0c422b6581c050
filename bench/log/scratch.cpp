#include "scratch.hpp"

#include "cases.hpp"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace weir_bench {

scratch::scratch() {
  const char* wanted = std::getenv("WEIR_BENCH_DIRECTORY");
  auto pattern = (std::filesystem::path{wanted != nullptr ? wanted : "/var/tmp"} / "weir-bench-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr)
    give_up("no directory " + pattern);
  path_ = pattern;
}

scratch::~scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void give_up(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

std::string payload_of(std::uint64_t number) {
  std::string bytes(entry_bytes, '\0');
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    number = number * 6364136223846793005U + 1442695040888963407U;
    for (std::size_t byte = 0; byte < 8; ++byte)
      bytes[at + byte] = static_cast<char>(number >> (8 * byte));
  }
  return bytes;
}

} // namespace weir_bench
