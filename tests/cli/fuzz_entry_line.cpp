#include <weir/cli/entry_text.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

// Any bytes are read as an entry's line or refused with a reason, and what was read is written and read again as the same.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace weir;
  const auto read = cli::read_entry({reinterpret_cast<const char*>(bytes), size});
  if (!read) {
    if (read.error() != errc::bad_record || read.error().sentence().empty())
      std::abort();
    return 0;
  }
  if (!read.value())
    return 0;
  const auto& one = *read.value();
  const entry stored{0, one.key, one.dedupe, one.payload, 0, {}};
  std::string line;
  cli::append_entry(line, one.shard.value_or(0), stored, {0, "t", 1, {0}});
  const auto again = cli::read_entry(line);
  if (!again || !again.value() || again.value()->key != one.key || again.value()->dedupe != one.dedupe
      || again.value()->payload != one.payload || again.value()->shard != one.shard.value_or(0))
    std::abort();
  return 0;
}
