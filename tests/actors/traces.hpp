#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace actor_tests {

/// Writes down what happens, in order.
using journal = std::shared_ptr<std::vector<std::string>>;

inline journal new_journal() {
  return std::make_shared<std::vector<std::string>>();
}

/// Lives in a frame and says when it ends; a second end would be a crash under the sanitizers and a second line without.
class trace {
public:
  trace(journal into, std::string name) : into_{std::move(into)}, name_{std::move(name)} {}
  trace(trace&& other) noexcept : into_{std::move(other.into_)}, name_{std::move(other.name_)} {}
  trace& operator=(trace&&) = delete;
  ~trace() {
    if (into_)
      into_->push_back(name_);
  }

private:
  journal into_;
  std::string name_;
};

} // namespace actor_tests
