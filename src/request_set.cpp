#include <weir/request_set.hpp>

#include <algorithm>

namespace weir {

void request_set::add(request asked) {
  drop_pairs_of(asked);
  const auto age = next_age_++;
  waiting_.emplace(age, entry{.asked = std::move(asked), .age = age});
}

std::optional<request_set::lent> request_set::next() {
  const auto found = std::ranges::find_if(waiting_, [this](const auto& one) {
    const auto& asked = one.second.asked;
    return std::ranges::none_of(asked.collections, [&](const auto& name) { return is_running(asked.sink, name); });
  });
  if (found == waiting_.end())
    return std::nullopt;
  auto node = waiting_.extract(found);
  const auto ticket = next_ticket_++; // never the one of an earlier delivery, whose server may still answer
  node.key() = ticket;
  ++node.mapped().attempts;
  const auto& running = running_.insert(std::move(node)).position->second;
  return lent{ticket, running.attempts, running.asked};
}

bool request_set::acknowledge(std::uint64_t ticket) {
  return running_.erase(ticket) == 1;
}

bool request_set::give_back(std::uint64_t ticket) {
  auto node = running_.extract(ticket);
  if (node.empty())
    return false;
  // Pairs that a newer request asks for are that one's affair.
  auto& collections = node.mapped().asked.collections;
  std::erase_if(collections, [&](const std::string& name) {
    return std::ranges::any_of(waiting_, [&](const auto& one) {
      return one.first > node.mapped().age && one.second.asked.sink == node.mapped().asked.sink
             && std::ranges::find(one.second.asked.collections, name) != one.second.asked.collections.end();
    });
  });
  if (!collections.empty()) {
    node.key() = node.mapped().age; // kept: before anything newer
    waiting_.insert(std::move(node));
  }
  return true;
}

void request_set::return_all() {
  while (!running_.empty())
    give_back(running_.rbegin()->first);
}

void request_set::forget(const std::string& sink) {
  std::erase_if(waiting_, [&](const auto& one) { return one.second.asked.sink == sink; });
  std::erase_if(running_, [&](const auto& one) { return one.second.asked.sink == sink; });
}

void request_set::forget(const std::string& sink, const std::string& collection) {
  for (auto* part : {&waiting_, &running_})
    for (auto one = part->begin(); one != part->end();) {
      auto& asked = one->second.asked;
      const auto found = std::ranges::find(asked.collections, collection);
      if (asked.sink == sink && found != asked.collections.end())
        asked.collections.erase(found);
      one = asked.collections.empty() ? part->erase(one) : std::next(one);
    }
}

std::vector<request> request_set::all() const {
  std::map<std::uint64_t, const request*> by_age;
  for (const auto* part : {&waiting_, &running_})
    for (const auto& [number, one] : *part)
      by_age.emplace(one.age, &one.asked);
  std::vector<request> found;
  for (const auto& [age, asked] : by_age)
    found.push_back(*asked);
  return found;
}

bool request_set::is_running(const std::string& sink, const std::string& collection) const {
  return std::ranges::any_of(running_, [&](const auto& one) {
    const auto& asked = one.second.asked;
    return asked.sink == sink && std::ranges::find(asked.collections, collection) != asked.collections.end();
  });
}

void request_set::drop_pairs_of(const request& newer) {
  for (auto one = waiting_.begin(); one != waiting_.end();) {
    auto& older = one->second.asked;
    if (older.sink == newer.sink)
      std::erase_if(older.collections,
        [&](const std::string& name) { return std::ranges::find(newer.collections, name) != newer.collections.end(); });
    one = older.collections.empty() ? waiting_.erase(one) : std::next(one);
  }
}

} // namespace weir
