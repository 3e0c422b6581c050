#include "machine.hpp"

#include <boost/version.hpp>
#include <caf/config.hpp>

#include <fstream>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace weir_bench {

namespace {

std::string cpu_model() {
  std::ifstream info{"/proc/cpuinfo"};
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name"))
      if (const auto colon = line.find(": "); colon != std::string::npos)
        return line.substr(colon + 2);
  return "unknown";
}

unsigned usable_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
    return 0;
  return static_cast<unsigned>(CPU_COUNT(&allowed));
}

std::string memory_size() {
  const auto pages = sysconf(_SC_PHYS_PAGES);
  const auto page = sysconf(_SC_PAGE_SIZE);
  return pages > 0 && page > 0 ? std::to_string(pages / 1024 * page / 1024) + " MiB" : "unknown";
}

std::string kernel_release() {
  utsname names{};
  return uname(&names) == 0 ? std::string{names.sysname} + " " + names.release : "unknown";
}

} // namespace

machine this_machine() {
  return {cpu_model(), usable_cores(), memory_size(), kernel_release(),
#ifdef __clang__
    "clang " __clang_version__,
#else
    "g++ " __VERSION__,
#endif
    WEIR_BENCH_FLAGS,
    std::to_string(CAF_MAJOR_VERSION) + "." + std::to_string(CAF_MINOR_VERSION) + "." + std::to_string(CAF_PATCH_VERSION),
    BOOST_LIB_VERSION};
}

std::string compiler_family() {
#ifdef __clang__
  return "clang";
#else
  return "gcc";
#endif
}

} // namespace weir_bench
