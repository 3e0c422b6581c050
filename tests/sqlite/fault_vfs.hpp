#pragma once

#include <cstdint>

/// A file system for SQLite that goes wrong at a given point: everything else it leaves to the usual one. Writes, syncs,
/// truncations and deletions count, from 1, over all files of the process.
namespace sqlite_tests {

enum class fault : std::uint8_t {
  none,
  fail_once, ///< that call fails, and those after it don't
  fail,      ///< that call fails, and so does every one after it
  full,      ///< as fail; the disk is full
  kill,      ///< the process is killed before that call (SIGKILL)
  torn,      ///< the process is killed in the middle of that write
  power, ///< the process is killed before that call, and whatever was written and not synced is not there, as when the power
         ///< fails
};

inline constexpr const char* fault_vfs = "weir-fault";

/// Registers it (once for a process).
void register_fault_vfs();

/// Arms it: the counting begins anew.
void arm_fault(fault what, std::uint64_t at);

/// How many calls were counted since.
std::uint64_t counted_calls();

} // namespace sqlite_tests
