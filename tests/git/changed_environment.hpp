#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace git_tests {

/// Sets one variable of the process's environment as long as it lives.
class changed_environment {
public:
  changed_environment(std::string name, const std::string& value) : name_{std::move(name)} {
    if (const char* before = std::getenv(name_.c_str()))
      before_ = before;
    ::setenv(name_.c_str(), value.c_str(), 1);
  }
  ~changed_environment() {
    if (before_)
      ::setenv(name_.c_str(), before_->c_str(), 1);
    else
      ::unsetenv(name_.c_str());
  }
  changed_environment(const changed_environment&) = delete;
  changed_environment& operator=(const changed_environment&) = delete;

private:
  std::string name_;
  std::optional<std::string> before_;
};

} // namespace git_tests
