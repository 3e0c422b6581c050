#pragma once

#include <weir/detail/host.hpp>
#include <weir/detail/protocol.hpp>
#include <weir/self.hpp>

#include <coroutine>
#include <memory>
#include <optional>

namespace weir {

/// What a stream's watermark says at one moment.
struct watermark_reading {
  std::optional<position> watermark;   ///< the minimum of the lanes' floors
  std::optional<position> confirmable; ///< the last position at or below it that ends a transaction
};

/// Awaits a condition of the watermark. Cancellation point.
class [[nodiscard]] watermark_operation : public detail::waiter {
public:
  ~watermark_operation();
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> frame) {
    start(frame, *frame.promise().root);
  }
  result<watermark_reading> await_resume();

private:
  friend class watermark_view;
  class end;
  watermark_operation(actor_ref actor, std::shared_ptr<const void> stream, detail::watch::until condition,
    std::optional<position> given, deadline until);
  void start(std::coroutine_handle<> frame, detail::root_frame& root);
  void settle(result<watermark_reading> outcome) noexcept;
  void on_stop() noexcept override;
  void on_deadline() noexcept override;

  actor_ref actor_;
  std::shared_ptr<const void> stream_;
  detail::watch::until condition_;
  std::optional<position> given_;
  deadline until_;
  std::unique_ptr<end> end_;
  std::optional<result<watermark_reading>> outcome_;
};

/// Reads, awaits and observes a stream's watermark, from any coroutine.
class watermark_view {
public:
  watermark_operation read() const { return make(detail::watch::until::now, std::nullopt, deadline::never()); }

  /// Completes when everything up to `wanted` is acknowledged by every lane: the fence behind which a reader sees its own write
  /// in every sink. Fails with timed_out.
  watermark_operation reaches(position wanted, deadline until = deadline::never()) const {
    return make(detail::watch::until::watermark_covers, wanted, until);
  }

  /// Completes when the watermark is another than `last`.
  watermark_operation changed(std::optional<position> last, deadline until = deadline::never()) const {
    return make(detail::watch::until::watermark_differs, last, until);
  }

  /// Completes when what the source may confirm is another than `last`.
  watermark_operation confirmable_changed(std::optional<position> last, deadline until = deadline::never()) const {
    return make(detail::watch::until::confirmable_differs, last, until);
  }

  watermark_view(actor_ref actor, std::shared_ptr<const void> stream) noexcept
    : actor_{std::move(actor)},
      stream_{std::move(stream)} {}

private:
  watermark_operation make(detail::watch::until condition, std::optional<position> given, deadline until) const {
    return watermark_operation{actor_, stream_, condition, given, until};
  }

  actor_ref actor_;
  std::shared_ptr<const void> stream_;
};

} // namespace weir
