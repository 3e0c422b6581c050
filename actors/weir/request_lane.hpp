#pragma once

#include <weir/lane.hpp>

#include <coroutine>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

namespace weir {

namespace detail {

/// What the stream knows of its lanes, for refusing requests that nobody could serve.
class lane_directory;

struct request_link {
  actor_ref requests;
  std::shared_ptr<lane_gauge> gauge;
  std::shared_ptr<const void> stream;
  const lane_directory* lanes = nullptr; // lives as long as the stream
};

class request_end;

} // namespace detail

/// The asking end of the request lane. Never waits; usable from any thread.
template <>
class producer<request> {
public:
  /// Adds the request to the set: at most one waits for each (sink, collection), the newest. Fails with unknown_lane or
  /// unknown_collection, with invalid_argument when it names no collection, and with closed.
  result<void> publish(request asked) const;

  // For the runtime.
  explicit producer(std::shared_ptr<const detail::request_link> link) noexcept : link_{std::move(link)} {}

private:
  std::shared_ptr<const detail::request_link> link_;
};

/// A lease on one request: acknowledged after the marker that ends it is published. Dropping it makes it due again. Stays
/// inside of the actor that received it.
template <>
class delivery<request> {
public:
  delivery(delivery&& other) noexcept;
  delivery& operator=(delivery&& other) noexcept;
  ~delivery();

  const request& item() const noexcept { return item_; }
  std::uint32_t attempt() const noexcept { return attempt_; }

  result<void> ack();
  result<void> nack();

private:
  friend class detail::request_end;
  delivery(detail::request_end& from, std::uint64_t ticket, std::uint32_t attempt, request item) noexcept;
  result<void> finish(bool served);

  detail::host* host_;
  detail::endpoint_address from_;
  std::uint64_t ticket_;
  std::uint32_t attempt_;
  request item_;
};

/// Awaits the next request. Cancellation point.
class [[nodiscard]] receive_request_operation : public detail::waiter {
public:
  ~receive_request_operation();
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> frame) {
    start(frame, *frame.promise().root);
  }
  result<delivery<request>> await_resume();

private:
  friend class consumer<request>;
  friend class detail::request_end;
  receive_request_operation(consumer<request>& from, deadline until) noexcept : from_{&from}, until_{until} {}
  void start(std::coroutine_handle<> frame, detail::root_frame& root);
  void settle(result<delivery<request>> outcome) noexcept;
  void on_stop() noexcept override;
  void on_deadline() noexcept override;

  consumer<request>* from_;
  deadline until_;
  std::optional<result<delivery<request>>> outcome_;
};

/// The serving end of the request lane: one at a time, attaching fences the one before.
template <>
class consumer<request> {
public:
  consumer(consumer&&) noexcept;
  consumer& operator=(consumer&&) noexcept;
  ~consumer();

  receive_request_operation receive(deadline until = deadline::never()) { return receive_request_operation{*this, until}; }

  // For the runtime.
  explicit consumer(std::shared_ptr<const detail::request_link> link) noexcept;
  detail::request_end& bind(detail::host& host);
  detail::request_end* bound() const noexcept { return end_.get(); }

private:
  std::shared_ptr<const detail::request_link> link_;
  std::unique_ptr<detail::request_end> end_;
};

} // namespace weir
