#include "conformance/log/outcomes.hpp"

#include "conformance/log/log_implementation.hpp"

#include <cstdio>

namespace log_suite {

bool lacks(bool capability, const char* reason) {
  if (capability)
    return false;
  std::string name = doctest::getContextOptions()->currentTest->m_name;
  if (name.starts_with("log: "))
    name.erase(0, 5);
  std::printf("SKIP %s log, %s: %s\n", implementation_name(), name.c_str(), reason);
  return true;
}

} // namespace log_suite
