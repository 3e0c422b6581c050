#pragma once

#include <weir/detail/lane_ends.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace weir::detail {

/// The line on which the producers of one actor publish to a durable stream: one credit, one message for each turn. Copies of
/// one item that are offered in a row, each for another lane, become one entry of the log.
class log_line final : public endpoint {
public:
  /// The actor's line to that stream: the one that its other producers have, or a new one.
  static std::shared_ptr<log_line> of(host& owner, const std::shared_ptr<const log_link>& to);

  log_line(host& owner, std::shared_ptr<const log_link> to);
  ~log_line() override;

  void join(producer_end& one) { ends_.push_back(&one); }
  void leave(producer_end& one) noexcept { std::erase(ends_, &one); }

  /// What waits of an end that has ended.
  void fail(const producer_end& of);

  /// Whether nobody waits. Not before every end is attached: what is offered to all of them stays together.
  bool is_open() const noexcept;

  /// Takes the item if there is room; nothing is wrong with it.
  bool try_enqueue(producer_end& by, lane_machine::offered& offered);

  /// The publication takes its place in the line, or is refused with too_many_waiters.
  std::optional<error> wait(producer_end& by, publication& waiting);
  void withdraw(publication& waiting) noexcept;

  void pump();

  void on_control(control& message) override;
  void flush() override;

private:
  /// Copies of one item.
  using group = std::vector<publication*>;

  void settle(publication& one, std::optional<error> failure);
  void send();
  bool is_last_offered(const shared_item& item) const noexcept;
  /// Whether there is room, which is taken then.
  bool take_room(std::uint64_t bytes);
  void begin_entry(lane_machine::offered&& offered);
  void add_target(producer_end& of);
  void end_entry();

  std::shared_ptr<const log_link> to_;
  std::vector<producer_end*> ends_;
  std::optional<std::uint64_t> number_; // the line's, once the log actor knows it
  sending_credit credit_;
  std::deque<group> line_; // none of them empty
  std::size_t waiting_ = 0;
  std::shared_ptr<published_entries> outgoing_;
  published_entries::target_list targets_; // of the last one in it
  bool probed_ = false;
};

} // namespace weir::detail
