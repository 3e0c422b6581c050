#include "checked_lane.hpp"

#include <utility>

namespace core_tests {

using weir::credit;
using weir::outlet;

namespace {

std::string text_of(std::uint64_t number) {
  return std::to_string(number);
}

std::string text_of(bool answer) {
  return answer ? "yes" : "no";
}

std::string text_of(const credit& amount) {
  return std::to_string(amount.items) + " items/" + std::to_string(amount.bytes) + " bytes";
}

std::string text_of(const weir::position& at) {
  return to_string(at) + (at.ends_transaction ? "" : " (open)");
}

std::string text_of(const std::vector<delivered>& all) {
  std::string text;
  for (const auto& one : all)
    text += " #" + std::to_string(one.ordinal) + "=" + std::to_string(one.sequence) + "x" + std::to_string(one.attempt);
  return text.empty() ? "none" : text;
}

template <class T>
std::string text_of(const std::optional<T>& maybe) {
  return maybe ? text_of(*maybe) : "none";
}

bool is_same(const auto& left, const auto& right) {
  return left == right;
}

// Positions compare by epoch and seq alone; here an open part is not its transaction's end.
bool is_same(const std::optional<weir::position>& left, const std::optional<weir::position>& right) {
  return left == right && (!left || left->ends_transaction == right->ends_transaction);
}

} // namespace

checked_lane::checked_lane(weir::lane_policy policy, weir::lane_floor start) : machine_{policy, start}, naive_{policy, start} {}

template <class T>
T checked_lane::same(std::string_view what, T found, T expected) {
  if (difference_.empty() && !is_same(found, expected))
    difference_ = std::string{what} + ": " + text_of(found) + ", and should be " + text_of(expected);
  return expected;
}

std::uint64_t checked_lane::attach_producer() {
  return same("attach_producer", machine_.attach_producer(), naive_.attach_producer());
}

bool checked_lane::receive(std::uint64_t generation, std::uint64_t first, std::vector<weir::lane_item> items) {
  const bool expected = naive_.receive(generation, first, items);
  return same("receive", machine_.receive(generation, first, std::move(items)), expected);
}

void checked_lane::on_probe(std::uint64_t generation, credit wanted) {
  machine_.on_probe(generation, wanted);
  naive_.on_probe(generation, wanted);
}

void checked_lane::detach_producer(std::uint64_t generation) {
  machine_.detach_producer(generation);
  naive_.detach_producer(generation);
}

std::optional<credit> checked_lane::take_grant(bool has_starved) {
  return same("take_grant", machine_.take_grant(has_starved), naive_.take_grant(has_starved));
}

std::uint64_t checked_lane::attach_consumer(outlet out, credit window) {
  return same("attach_consumer", machine_.attach_consumer(out, window), naive_.attach_consumer(out, window));
}

void checked_lane::detach_consumer(outlet out, std::uint64_t generation, std::uint64_t taken) {
  machine_.detach_consumer(out, generation, taken);
  naive_.detach_consumer(out, generation, taken);
}

void checked_lane::on_grant(outlet out, std::uint64_t generation, credit up_to) {
  machine_.on_grant(out, generation, up_to);
  naive_.on_grant(out, generation, up_to);
}

bool checked_lane::on_acknowledged_below(outlet out, std::uint64_t generation, std::uint64_t through, std::uint64_t taken) {
  return same("on_acknowledged_below", machine_.on_acknowledged_below(out, generation, through, taken),
    naive_.on_acknowledged_below(out, generation, through, taken));
}

bool checked_lane::on_acknowledged(outlet out, std::uint64_t generation, std::uint64_t ordinal) {
  return same(
    "on_acknowledged", machine_.on_acknowledged(out, generation, ordinal), naive_.on_acknowledged(out, generation, ordinal));
}

bool checked_lane::on_returned(outlet out, std::uint64_t generation, std::uint64_t ordinal, std::uint64_t due) {
  return same(
    "on_returned", machine_.on_returned(out, generation, ordinal, due), naive_.on_returned(out, generation, ordinal, due));
}

void checked_lane::return_untaken(outlet out, std::uint64_t generation, std::uint64_t taken) {
  machine_.return_untaken(out, generation, taken);
  naive_.return_untaken(out, generation, taken);
}

std::vector<delivered> checked_lane::deliver(outlet out, std::uint64_t now) {
  std::vector<delivered> all;
  bool same_item = true;
  const std::size_t most = 1 + deliveries_++ % 4; // how many are asked for at once makes no difference
  for (auto lent = machine_.lend(out, now, most); lent.count > 0; lent = machine_.lend(out, now, most)) {
    std::uint64_t bytes = 0;
    const auto items = machine_.take_lent(lent);
    for (std::size_t number = 0; number < lent.count; ++number) {
      all.push_back({lent.ordinal + number, lent.sequence + number, lent.attempt});
      const auto& published = naive_.at(lent.sequence + number);
      const auto& item = items.at(number);
      const auto* at = item.at();
      bytes += item.bytes();
      same_item = same_item && item.bytes() == published.bytes && (at != nullptr) == published.at.has_value()
                  && (at == nullptr || *at == *published.at);
    }
    same("the bytes of what is lent at once", lent.bytes, bytes);
    same("no more are lent at once than were asked for", lent.count <= most, true);
  }
  same("the delivered items are the published ones", same_item, true);
  return same("deliver", std::move(all), naive_.deliver(out, now));
}

void checked_lane::drop_all() {
  machine_.drop_all();
  naive_.drop_all();
}

void checked_lane::compare(std::uint64_t now) {
  if (!difference_.empty())
    return;
  same("floor", machine_.floor().reached, naive_.floor().reached);
  same("confirmable", machine_.floor().confirmable, naive_.floor().confirmable);
  same("last_position", machine_.last_position(), naive_.last_position());
  same<std::uint64_t>("held_items", machine_.held_items(), naive_.end() - naive_.prefix_end());
  same<std::uint64_t>("held_bytes", machine_.held_bytes(), naive_.held_bytes());
  same<std::uint64_t>("parked_items", machine_.parked_items(), naive_.parked());
  same("released_items", machine_.released_items(), naive_.prefix_end());
  same("received_items", machine_.received_items(), naive_.end());
  same("is_stopped", machine_.is_stopped(), naive_.is_stopped());
  same("has_producer", machine_.has_producer(), naive_.has_producer());
  same("is_producer_starved", machine_.is_producer_starved(), naive_.is_producer_starved());
  same("waits_for_time", machine_.waits_for_time(), naive_.waits_for_time());
  same("next_due", machine_.next_due(now), naive_.next_due(now));
  for (const auto out : {outlet::main, outlet::dead_letters}) {
    same("has_consumer", machine_.has_consumer(out), naive_.at(out).attached);
    same("consumer_generation", machine_.consumer_generation(out), naive_.at(out).generation);
    same("all_delivered", machine_.all_delivered(out), naive_.all_delivered(out));
  }
  same("granted", std::optional{machine_.producer_credit().granted()}, std::optional{naive_.granted()});
  same("spent", std::optional{machine_.producer_credit().spent()}, std::optional{naive_.received()});
}

} // namespace core_tests
