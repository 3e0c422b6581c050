#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

namespace {

/// From WEIR_SEED; a failing run prints it.
std::uint64_t seed() {
  const auto* given = std::getenv("WEIR_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
}

void feed(std::string_view text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

// The fuzz target with a few thousand bent configurations, so that it is run wherever the tests are.
TEST_CASE("bent configurations are read or refused, never more") {
  const auto from = seed();
  INFO("WEIR_SEED=", from);
  std::mt19937_64 random{from};
  const auto below = [&](std::size_t limit) { return std::uniform_int_distribution<std::size_t>{0, limit - 1}(random); };
  const std::string sound = "name = \"n\"\nstate = \"s\"\n[source]\ntype = \"git\"\nrepository = \".\"\nmax_bytes = \"64KiB\"\n"
                            "[stream]\nitems = 5\nbytes = 1048576\n[[sink]]\nname = \"a\"\ntype = \"sqlite\"\npath = \"a.db\"\n"
                            "backoff_min = \"1s\"\n[[sink]]\nname = \"b\"\ntype = \"stdout\"\n[scheduler]\nthreads = 2\n";
  const std::vector<std::string_view> pieces{"[", "]", "[[", "]]", "=", "\"", "'''", "\n", ".", "{", "}", ",", "0", "-1",
    "9223372036854775807", "1979-05-27", "nan", "true", "name", "sink", "source", "type", "path", "\xff", "\\u0000", "#",
    "16MiB"};
  for (int round = 0; round < 3'000; ++round) {
    auto text = sound;
    for (auto bends = 1 + below(4); bends > 0; --bends) {
      const auto at = below(text.size() + 1);
      switch (below(3)) {
      case 0: text.insert(at, pieces[below(pieces.size())]); break;
      case 1: text.erase(at, 1 + below(12)); break;
      default: text = text.substr(0, at) + sound.substr(below(sound.size())); break;
      }
    }
    CAPTURE(text);
    feed(text);
  }
}

} // namespace
