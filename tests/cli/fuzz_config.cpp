#include <weir/cli/config.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

// Any bytes are read as a configuration or refused, and what is refused says where and what was expected, in the order of
// the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace weir::cli;
  const std::string_view text{reinterpret_cast<const char*>(bytes), size};
  const auto parsed = parse_config(text, "/d");
  if (parsed) {
    const auto& read = parsed.value();
    const bool sound = !read.name.empty() && !read.sinks.empty() && read.source.max_bytes <= read.stream.bytes
                       && read.stream.bytes <= read.stream.budget && read.source.max_changes > 0 && read.stream.items > 0;
    if (!sound)
      std::abort();
    return 0;
  }
  if (parsed.error().empty())
    std::abort();
  location last{0, 0};
  for (const auto& one : parsed.error()) {
    if (one.where < last || one.wrong.empty() || one.expected.empty() || to_string(one, "f").find('\n') != std::string::npos)
      std::abort();
    last = one.where;
  }
  return 0;
}
