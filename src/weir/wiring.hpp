#pragma once

#include <weir/error.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

/// Who may wait for whom. Every lane on which a sender waits for its receiver's credit is an edge; an edge that would close a
/// circle is refused, because actors that wait for each other in a circle never go on. A circle needs at least one lane that
/// does not wait.
class wiring {
public:
  /// Adds an edge; wait_cycle, with the circle as the fact "path", when the receiver already waits for the sender, directly or
  /// through others. Adding an edge twice counts twice.
  result<void> connect(std::string sender, std::string receiver);

  /// Takes one edge away again.
  void disconnect(std::string_view sender, std::string_view receiver);

  std::size_t edges() const noexcept { return edges_.size(); }

private:
  std::vector<std::string> find_path(const std::string& from, const std::string& to) const;

  std::multimap<std::string, std::string, std::less<>> edges_;
};

} // namespace weir
