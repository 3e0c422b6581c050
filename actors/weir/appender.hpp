#pragma once

#include <weir/append_window.hpp>
#include <weir/error.hpp>
#include <weir/log.hpp>
#include <weir/self.hpp>
#include <weir/task.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace weir {

namespace detail {
struct append_ticket_state;
struct appender_state;
} // namespace detail

struct appender_options {
  append_bound window = {};                                 ///< what may be on its way: appended, and its ticket not complete
  append_bound call = {.entries = 1024, .bytes = 1u << 20}; ///< what goes to the store at once; one append alone may be larger
  std::chrono::milliseconds give_up_after{30000};           ///< how long what fails in passing is tried again
  std::chrono::milliseconds first_pause{10};                ///< before it is; doubles
  std::chrono::milliseconds longest_pause{1000};

  /// Told on the actor's turn when the store begins to fail in passing, and without an error when that is over.
  std::function<void(std::optional<error>)> on_trouble = {};
};

/// The promise of an append's offsets. Copies are the same ticket. Dropping it changes nothing: the append happens. Stays
/// inside of the actor that appended.
class append_ticket {
public:
  /// Completes when the append is stored, durably where the store is durable: where each entry is. Fails with why it was not
  /// stored: a reason of its own (dedupe_conflict, head_moved, entry_too_large: "entry" says which), the store's, or
  /// append_aborted because one before it failed; the fact "retryable" says whether the same append may succeed later.
  /// Cancellation point: the append goes on.
  task<result<std::vector<entry_place>>> stored(self me, deadline until = deadline::never()) const;

  /// Whether stored() would complete at once.
  bool is_complete() const noexcept;

  explicit append_ticket(std::shared_ptr<detail::append_ticket_state> state) noexcept : state_{std::move(state)} {}

private:
  std::shared_ptr<detail::append_ticket_state> state_;
};

/// Appends to a topic, in order, from one actor. What waits goes to the store together; nobody waits in order to batch. Belongs
/// to the actor that first uses it. When it is destroyed, what was appended still goes to the store, once.
class appender {
public:
  explicit appender(std::shared_ptr<log_topic> to, appender_options how = {});
  ~appender();
  appender(appender&&) noexcept;
  appender& operator=(appender&&) noexcept;

  /// Takes the entries into the window, waiting for room in it. Cancellation point: a cancelled or timed-out append is not in
  /// the window. Entries without a shard get their key's; without a key, the next. Fails with invalid_argument (no entries,
  /// more than the window's whole bound of entries), append_aborted (until resume()), too_many_waiters and closed.
  task<result<append_ticket>> append(self me, std::vector<new_entry> entries,
    std::optional<std::int64_t> expected_head = std::nullopt, deadline until = deadline::never());

  /// Completes when everything that was appended before it is decided. Fails with the first failure since the last flush(), and
  /// with timed_out. Cancellation point.
  task<result<void>> flush(self me, deadline until = deadline::never());

  /// Refuses what comes later, and flushes.
  task<result<void>> close(self me, deadline until = deadline::never());

  /// After an append failed, and everything behind it with it: go on.
  void resume() noexcept;

  /// Entries and bytes in the window; never more than its bound, but for one append that alone is larger.
  credit held() const noexcept;

private:
  std::shared_ptr<detail::appender_state> state_;
};

} // namespace weir
