#include "outbox.hpp"

#include <weir/bus_text.hpp>

namespace weir::postgres {

namespace {

/// Asks that find no room are asked again, and so are answers.
constexpr std::size_t most_words = 1024;

constexpr std::string_view beacon_begin = "W1b";
constexpr std::string_view leave_begin = "W1l";

} // namespace

result<void> outbox::add(
  std::string_view topic, std::string_view key, std::string_view payload, std::shared_ptr<detail::commit_ticket> told) {
  const std::lock_guard lock{mutex_};
  if (is_closed_)
    return detail::bus_is_closed();
  const auto bytes = topic.size() + key.size() + payload.size();
  if (hints_ == most_ || (hints_ > 0 && hint_bytes_ + bytes > most_bytes_))
    return error{errc::bus_full, "too much is on its way to the server already",
      {{"hints", std::to_string(hints_)}, {"bytes", std::to_string(hint_bytes_)}}};
  const auto at = numbers_.next(topic, detail::wall_clock());
  waiting_.push_back({encode_hint(topic, key, payload, at), true, std::move(told)});
  ++hints_;
  hint_bytes_ += waiting_.back().text.size();
  return success();
}

outbox::word outbox::first_word(std::chrono::milliseconds interval) const {
  const std::lock_guard lock{mutex_};
  return {encode(numbers_.first_beacon(interval, detail::wall_clock()))};
}

void outbox::add_beacon(std::chrono::milliseconds interval) {
  const std::lock_guard lock{mutex_};
  const auto beacon = numbers_.beacon(interval, detail::wall_clock());
  if (!std::exchange(has_beacon_, true))
    push(encode(beacon));
}

void outbox::add_ask(bus_id whom, std::uint64_t since) {
  const std::lock_guard lock{mutex_};
  push(encode(bus_ask{own_, ++asks_, whom, since}));
}

void outbox::add_answer(std::uint64_t since, std::chrono::milliseconds interval) {
  const std::lock_guard lock{mutex_};
  auto parts = encode(numbers_.since(since));
  if (words_ + parts.size() > most_words && words_ > 0)
    return;
  if (!std::exchange(has_beacon_, true))
    push(encode(numbers_.beacon_on_demand(interval, detail::wall_clock())));
  for (auto& one : parts)
    push(std::move(one));
}

void outbox::add_leave() {
  const std::lock_guard lock{mutex_};
  for (auto& one : encode(numbers_.last_answer()))
    push(std::move(one));
  push(encode(numbers_.leave(detail::wall_clock())));
}

/// With the lock held.
void outbox::push(std::string text) {
  if (words_ >= most_words && !text.starts_with(beacon_begin) && !text.starts_with(leave_begin))
    return;
  waiting_.push_back({std::move(text)});
  ++words_;
  changed_.set();
}

std::vector<outbox::word> outbox::take(std::size_t most, std::size_t most_bytes) {
  const std::lock_guard lock{mutex_};
  std::vector<word> taken;
  for (std::size_t bytes = 0; !waiting_.empty() && taken.size() < most; waiting_.pop_front()) {
    auto& next = waiting_.front();
    bytes += next.text.size();
    if (!taken.empty() && bytes > most_bytes)
      break;
    if (next.is_hint) {
      --hints_;
      ++taken_hints_;
      hint_bytes_ -= next.text.size();
    } else {
      --words_;
      has_beacon_ = has_beacon_ && !next.text.starts_with(beacon_begin);
    }
    taken.push_back(std::move(next));
  }
  return taken;
}

void outbox::on_settled() {
  const std::lock_guard lock{mutex_};
  taken_hints_ = 0;
}

void outbox::close() {
  const std::lock_guard lock{mutex_};
  is_closed_ = true;
  changed_.set();
}

bool outbox::is_closed() const {
  const std::lock_guard lock{mutex_};
  return is_closed_;
}

bool outbox::empty() const {
  const std::lock_guard lock{mutex_};
  return waiting_.empty();
}

std::size_t outbox::hints() const {
  const std::lock_guard lock{mutex_};
  return hints_ + taken_hints_;
}

std::uint64_t outbox::published() const {
  const std::lock_guard lock{mutex_};
  return numbers_.last();
}

} // namespace weir::postgres
