#include <weir/hint_buffer.hpp>

#include <algorithm>

namespace weir {

namespace {

void merge(std::optional<lost>& into, const std::optional<lost>& other) {
  if (!other)
    return;
  if (into)
    into->add(*other);
  else
    into = other;
}

} // namespace

std::string_view name_of(drop_policy policy) noexcept {
  switch (policy) {
  case drop_policy::drop_newest: return "drop_newest";
  case drop_policy::drop_oldest: return "drop_oldest";
  case drop_policy::conflate: return "conflate";
  case drop_policy::last_by_key: return "last_by_key";
  case drop_policy::end: return "end";
  }
  return "unknown";
}

hint_buffer::hint_buffer(std::size_t limit, drop_policy policy)
  : limit_{policy == drop_policy::conflate ? 1 : std::max<std::size_t>(limit, 1)},
    policy_{policy} {}

void hint_buffer::push(const hint& one) {
  if (is_evicted_)
    return;
  if (policy_ == drop_policy::last_by_key) {
    if (const auto known = newest_.find({one.publisher(), one.key()}); known != newest_.end())
      take_out(known->second, loss_cause::conflated);
    else if (live_ == limit_)
      drop_oldest();
    append(one);
    newest_.insert_or_assign({one.publisher(), one.key()}, first_ + slots_.size() - 1);
    return;
  }
  if (live_ < limit_)
    return append(one);
  switch (policy_) {
  case drop_policy::end: is_evicted_ = true; [[fallthrough]];
  case drop_policy::drop_newest: return merge(trailing_, lost{1, true, one.publisher(), loss_cause::buffer_full});
  case drop_policy::conflate: take_out(first_, loss_cause::conflated); break;
  default: drop_oldest(); break;
  }
  append(one);
}

void hint_buffer::push(const lost& missing) {
  if (!is_evicted_)
    merge(trailing_, missing);
}

void hint_buffer::push(gone who) {
  if (policy_ != drop_policy::last_by_key)
    return;
  for (auto one = newest_.lower_bound({who.publisher, {}}); one != newest_.end() && one->first.first == who.publisher;) {
    const auto number = one->second;
    ++one; // the next line forgets it
    take_out(number, loss_cause::conflated);
  }
  if (live_ == limit_)
    drop_oldest();
  append(who);
}

std::optional<bus_record> hint_buffer::pop() {
  if (slots_.empty()) {
    if (!trailing_)
      return std::nullopt;
    return *std::exchange(trailing_, std::nullopt);
  }
  auto& front = slots_.front();
  if (front.before)
    return *std::exchange(front.before, std::nullopt);
  bus_record taken = gone{};
  if (auto* one = std::get_if<hint>(&front.what)) {
    if (policy_ == drop_policy::last_by_key)
      newest_.erase({one->publisher(), one->key()});
    taken = std::move(*one);
  } else {
    taken = std::get<gone>(front.what);
  }
  slots_.pop_front();
  ++first_;
  --live_;
  settle_front();
  return taken;
}

void hint_buffer::append(std::variant<std::monostate, hint, gone> what) {
  slots_.push_back({std::exchange(trailing_, std::nullopt), std::move(what)});
  ++live_;
}

void hint_buffer::take_out(std::uint64_t number, loss_cause cause) {
  auto& from = slots_[number - first_];
  lost missing{1, true, {}, cause};
  if (const auto* one = std::get_if<hint>(&from.what)) {
    missing.publisher = one->publisher();
    if (policy_ == drop_policy::last_by_key)
      newest_.erase({one->publisher(), one->key()});
  } else { // no hint is missing, but that a bus is gone is not told
    missing = {0, false, std::get<gone>(from.what).publisher, cause};
  }
  merge(from.before, missing);
  from.what = std::monostate{};
  --live_;
  settle_front();
  close_holes();
}

void hint_buffer::drop_oldest() {
  take_out(first_, loss_cause::buffer_full);
}

/// What is missing at a hole in front is missing in front of what comes behind it.
void hint_buffer::settle_front() {
  std::optional<lost> missing;
  while (!slots_.empty() && slots_.front().what.index() == 0) {
    merge(missing, slots_.front().before);
    slots_.pop_front();
    ++first_;
  }
  merge(slots_.empty() ? trailing_ : slots_.front().before, missing);
}

/// Holes in the middle take memory, too.
void hint_buffer::close_holes() {
  constexpr std::size_t tolerated = 16;
  if (slots_.size() - live_ <= live_ + tolerated)
    return;
  std::deque<slot> closed;
  std::optional<lost> missing;
  for (auto& one : slots_) {
    merge(missing, one.before);
    if (one.what.index() == 0)
      continue;
    one.before = std::exchange(missing, std::nullopt);
    if (const auto* kept = std::get_if<hint>(&one.what); kept != nullptr && policy_ == drop_policy::last_by_key)
      newest_.insert_or_assign({kept->publisher(), kept->key()}, first_ + closed.size());
    closed.push_back(std::move(one));
  }
  merge(missing, trailing_);
  trailing_ = missing;
  slots_ = std::move(closed);
}

} // namespace weir
