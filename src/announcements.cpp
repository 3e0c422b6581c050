#include <weir/announcements.hpp>
#include <weir/hint.hpp>

#include <utility>

namespace weir {

namespace {

constexpr std::string_view placeholder{"{collection}"};

std::string topic_from(std::string_view pattern, std::string_view collection) {
  std::string topic;
  for (;;) {
    const auto at = pattern.find(placeholder);
    topic.append(pattern.substr(0, at));
    if (at == pattern.npos)
      return topic;
    topic.append(collection);
    pattern.remove_prefix(at + placeholder.size());
  }
}

} // namespace

result<void> check_announced_topic(std::string_view pattern) {
  const auto rest = topic_from(pattern, "");
  if (const auto brace = rest.find_first_of("{}"); brace != rest.npos)
    return error{errc::bad_topic, "in a topic that is announced on, braces stand for one thing alone: {collection}"};
  return check_bus_topic(topic_from(pattern, "c"));
}

announcements::announcements(std::string pattern, announce_per per, bounds most)
  : pattern_{std::move(pattern)},
    per_{per},
    most_{most} {}

void announcements::begin(const std::vector<std::string>& collections) {
  if (pattern_.find(placeholder) == pattern_.npos)
    to_begin_.insert(pattern_);
  else
    for (const auto& one : collections) {
      auto topic = topic_from(pattern_, one);
      if (auto valid = check_bus_topic(topic); !valid)
        drop(one, std::move(valid).error());
      else
        to_begin_.insert(std::move(topic));
    }
  begin_more();
}

/// As far as there is room.
void announcements::begin_more() {
  while (!to_begin_.empty() && topics_.size() < most_.topics)
    wait_on(std::move(to_begin_.extract(to_begin_.begin()).value())).whole.emplace();
}

void announcements::add(const lane_item& committed) {
  if (const auto* carried = std::get_if<batch>(&committed))
    return add_batch(*carried);
  for (const auto& collection : std::get<snapshot_complete>(committed).collections)
    add_all(collection);
}

void announcements::add_batch(const batch& one) {
  if (!one.envelopes)
    return;
  const auto payload = one.at ? to_string(*one.at) : std::string{};
  std::set<std::string_view> whole;
  for (const auto& change : one.envelopes->envelopes()) {
    if (per_ == announce_per::key && !one.is_snapshot())
      add_key(change.collection, change.key, payload);
    else if (whole.insert(change.collection).second)
      add_all(change.collection, payload);
  }
}

void announcements::add_all(std::string_view collection, const std::string& payload) {
  auto* in = topic_of(collection);
  if (in == nullptr)
    return;
  forget_keys(*in);
  in->whole = payload;
}

void announcements::add_key(std::string_view collection, const std::string& key, const std::string& payload) {
  auto* in = topic_of(collection);
  if (in == nullptr)
    return;
  const auto known = in->payloads.find(key);
  const bool fits =
    known != in->payloads.end() || (keys_ < most_.keys && bytes_ + key.size() <= most_.bytes && check_hint_size(key, {}));
  if (!fits || key.empty()) {
    forget_keys(*in);
    in->whole = payload;
    return;
  }
  if (known == in->payloads.end()) {
    in->keys.push_back(key);
    ++keys_;
    bytes_ += key.size();
  }
  in->payloads[key] = check_hint_size(key, payload) ? payload : std::string{};
}

/// Null where it can't wait.
announcements::waiting* announcements::topic_of(std::string_view collection) {
  auto topic = topic_from(pattern_, collection);
  if (const auto found = topics_.find(topic); found != topics_.end())
    return &found->second;
  if (auto valid = check_bus_topic(topic); !valid) {
    drop(collection, std::move(valid).error());
    return nullptr;
  }
  if (topics_.size() < most_.topics)
    return &wait_on(std::move(topic));
  if (to_begin_.size() < most_.names || to_begin_.contains(topic))
    to_begin_.insert(std::move(topic)); // that says more, not less
  else
    drop(collection, error{errc::bus_full, "too many topics wait to be announced on already"});
  return nullptr;
}

announcements::waiting& announcements::wait_on(std::string topic) {
  const auto [at, is_new] = topics_.try_emplace(topic);
  auto& made = at->second;
  if (!is_new)
    return made;
  if (!known_.contains(topic)) {
    if (known_.size() == most_.topics)
      known_.clear(); // they all become new again: that says more, not less
    known_.insert(topic);
    made.whole.emplace();
  }
  order_.push_back(std::move(topic));
  return made;
}

void announcements::drop(std::string_view collection, error why) {
  ++dropped_;
  if (told_.size() == most_.topics)
    told_.clear(); // they are told again
  if (faults_.size() < most_.topics && told_.emplace(collection).second)
    faults_.push_back(std::move(why).with("collection", std::string{collection}));
}

void announcements::forget_keys(waiting& in) {
  keys_ -= in.keys.size();
  for (const auto& key : in.keys)
    bytes_ -= key.size();
  in.keys.clear();
  in.payloads.clear();
}

std::optional<announcement> announcements::front() const {
  if (order_.empty())
    return std::nullopt;
  const auto& topic = order_.front();
  const auto& in = topics_.at(topic);
  if (in.whole)
    return announcement{topic, {}, *in.whole};
  return announcement{topic, in.keys.front(), in.payloads.at(in.keys.front())};
}

void announcements::pop() {
  const auto at = topics_.find(order_.front());
  auto& in = at->second;
  if (in.whole) {
    in.whole.reset();
  } else {
    --keys_;
    bytes_ -= in.keys.front().size();
    in.payloads.erase(in.keys.front());
    in.keys.pop_front();
  }
  if (!in.keys.empty())
    return;
  topics_.erase(at);
  order_.pop_front();
  begin_more();
}

} // namespace weir
