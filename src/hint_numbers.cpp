#include <weir/base85.hpp>
#include <weir/hint_numbers.hpp>

namespace weir {

hint_place hint_numbers::next(std::string_view topic, std::int64_t now) {
  if (const auto known = by_name_.find(topic); known != by_name_.end()) {
    topics_.splice(topics_.end(), topics_, known->second);
  } else {
    topics_.push_back({std::string{topic}});
    by_name_.emplace(topics_.back().name, std::prev(topics_.end()));
  }
  auto& state = topics_.back();
  ++state.on_topic;
  state.last = ++last_;
  if (topics_.size() > most_) {
    forgotten_ = topics_.front().last;
    by_name_.erase(topics_.front().name);
    topics_.pop_front();
  }
  return {publisher_, last_, state.on_topic, now};
}

bus_answer hint_numbers::since(std::uint64_t number) const {
  bus_answer answer{.publisher = publisher_, .number = last_, .since = number, .has_forgotten = number < forgotten_};
  constexpr std::size_t beside_a_name = 24; // its number, and what stands between
  auto first = topics_.end();
  for (std::size_t bytes = 0; first != topics_.begin() && std::prev(first)->last > number; --first) {
    bytes += base85_size(std::prev(first)->name.size()) + beside_a_name;
    if (bytes > most_answer_bytes) {
      answer.has_forgotten = true;
      break;
    }
  }
  for (; first != topics_.end(); ++first)
    answer.topics.emplace_back(first->name, first->on_topic);
  return answer;
}

bus_beacon hint_numbers::beacon(std::chrono::milliseconds interval, std::int64_t now) {
  at_beacons_.push_back(last_);
  if (at_beacons_.size() > most_beacons)
    at_beacons_.pop_front();
  return {publisher_, last_, interval, now};
}

} // namespace weir
