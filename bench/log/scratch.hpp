#pragma once

#include <filesystem>
#include <string>

namespace weir_bench {

/// A directory of its own on a disk (/var/tmp, or WEIR_BENCH_DIRECTORY), removed at the end.
class scratch {
public:
  scratch();
  ~scratch();
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

private:
  std::filesystem::path path_;
};

/// Ends the benchmark where what must not fail has failed.
[[noreturn]] void give_up(const std::string& why);

/// Bytes that don't compress and are not the same twice.
std::string payload_of(std::uint64_t number);

} // namespace weir_bench
