#pragma once

#include <weir/detail/bus_link.hpp>
#include <weir/error.hpp>
#include <weir/hint_numbers.hpp>

#include "wake_event.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace weir::postgres {

/// What this bus says, in the order in which it will be heard: hints within a bound, and between them what buses tell each
/// other. Numbers are given as something goes in, so that whatever is said of them stands behind the hints that it counts. Any
/// thread.
class outbox {
public:
  struct word {
    std::string text;
    bool is_hint = false;
    std::shared_ptr<detail::commit_ticket> told = {};
  };

  outbox(bus_id own, std::size_t most, std::size_t most_bytes)
    : own_{own},
      most_{most},
      most_bytes_{most_bytes},
      numbers_{own} {}

  /// Calls nobody. Fails with bus_full and bus_closed.
  result<void> add(
    std::string_view topic, std::string_view key, std::string_view payload, std::shared_ptr<detail::commit_ticket> told);

  /// What the bus says first, and again until the server has taken it.
  word first_word(std::chrono::milliseconds interval) const;

  /// At most one waits: a newer one says the same and more.
  void add_beacon(std::chrono::milliseconds interval);
  void add_ask(bus_id whom, std::uint64_t since);

  /// Behind a beacon: who asks may not have heard any.
  void add_answer(std::uint64_t since, std::chrono::milliseconds interval);
  void add_leave();

  /// The next ones, as many as go into one statement. They count as on their way until on_settled().
  std::vector<word> take(std::size_t most, std::size_t most_bytes);

  /// It is known of those that were taken whether they went out, or known that nobody knows.
  void on_settled();

  /// Refuses hints from now on.
  void close();

  bool is_closed() const;
  bool empty() const;

  /// On their way: in here, or taken and not settled.
  std::size_t hints() const;
  std::uint64_t published() const;

  /// Set whenever something else than a hint goes in, when somebody calls, and when it is closed.
  const wake_event& changed() const noexcept { return changed_; }
  void call() noexcept { changed_.set(); }
  void heard_of_changes() noexcept { changed_.clear(); }

private:
  void push(std::string text);

  const bus_id own_;
  const std::size_t most_;
  const std::size_t most_bytes_;
  mutable std::mutex mutex_;
  hint_numbers numbers_;
  std::deque<word> waiting_;
  std::size_t hints_ = 0;
  std::size_t taken_hints_ = 0; // and not settled
  std::size_t hint_bytes_ = 0;
  std::size_t words_ = 0; // that are no hints
  std::uint64_t asks_ = 0;
  bool has_beacon_ = false;
  bool is_closed_ = false;
  wake_event changed_;
};

} // namespace weir::postgres
