#include <weir/wiring.hpp>

#include <algorithm>

namespace weir {

result<void> wiring::connect(std::string sender, std::string receiver) {
  if (const auto path = find_path(receiver, sender); !path.empty()) {
    std::string drawn = sender;
    for (const auto& step : path)
      drawn += " -> " + step;
    return error{errc::wait_cycle, "these actors would wait for each other in a circle; one lane of it must not wait",
      {{"path", std::move(drawn)}}};
  }
  edges_.emplace(std::move(sender), std::move(receiver));
  return success();
}

void wiring::disconnect(std::string_view sender, std::string_view receiver) {
  const auto [first, last] = edges_.equal_range(sender);
  for (auto edge = first; edge != last; ++edge)
    if (edge->second == receiver) {
      edges_.erase(edge);
      return;
    }
}

std::vector<std::string> wiring::find_path(const std::string& from, const std::string& to) const {
  std::map<std::string, std::string> reached_from{{from, {}}};
  std::vector<std::string> unvisited{from};
  while (!unvisited.empty() && !reached_from.contains(to)) {
    const auto at = std::move(unvisited.back());
    unvisited.pop_back();
    const auto [first, last] = edges_.equal_range(at);
    for (auto edge = first; edge != last; ++edge)
      if (reached_from.emplace(edge->second, at).second)
        unvisited.push_back(edge->second);
  }
  std::vector<std::string> path;
  if (reached_from.contains(to)) {
    for (auto step = to; step != from; step = reached_from.at(step))
      path.push_back(step);
    path.push_back(from);
    std::ranges::reverse(path);
  }
  return path;
}

} // namespace weir
