#pragma once

#include <string>

namespace weir_bench {

/// What a reader has to know to make anything of the figures.
struct machine {
  std::string cpu;
  unsigned cores = 0; ///< that this process may use
  std::string memory;
  std::string kernel;
  std::string compiler;
  std::string flags;
  std::string caf;
  std::string boost;
};

machine this_machine();

/// "clang" or "gcc": what the ratios to reach depend on.
std::string compiler_family();

} // namespace weir_bench
