#include <weir/cli/saved_state.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

// Any bytes are read as a saved state or refused with a reason, and what was read is written and read again as the same.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace weir::cli;
  const auto read = parse_saved_state({reinterpret_cast<const char*>(bytes), size});
  if (!read) {
    const bool is_typed = read.error() == weir::errc::corrupt || read.error() == weir::errc::unsupported;
    if (!is_typed || read.error().sentence().empty())
      std::abort();
    return 0;
  }
  const auto text = to_json(read.value());
  const auto again = parse_saved_state(text);
  if (!again || to_json(again.value()) != text || !(again.value().owner == read.value().owner))
    std::abort();
  return 0;
}
