#pragma once

#include <weir/actor_ref.hpp>
#include <weir/detail/host.hpp>
#include <weir/error.hpp>
#include <weir/self.hpp>

#include <caf/actor.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/message_view.hpp>

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

/// Where coroutines meet an application's own CAF actors: requests to them, and messages from them. The one public header that
/// names CAF's types.
namespace weir {

/// The CAF handle of an actor of Weir's, for monitors, links and ordinary sends.
caf::actor to_caf(const actor_ref& ref);
actor_ref from_caf(const caf::actor& actor);

/// The text of a CAF error, for people.
std::string describe(const caf::error& why);

/// Awaits an answer of a CAF actor. Cancellation point; on cancellation and after its deadline the answer is dropped when it
/// comes. Fails with actor_stopped when the other is gone, broken_promise when it dropped the question, and otherwise with
/// invalid_argument and the text of its error.
template <class Reply>
class [[nodiscard]] request_operation : public detail::waiter, private detail::endpoint {
public:
  request_operation(const request_operation&) = delete;
  request_operation& operator=(const request_operation&) = delete;

  bool await_ready() const noexcept { return outcome_.has_value(); }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> frame) {
    suspend(frame, *frame.promise().root);
    if (!outcome_)
      if (const auto at = until_.resolve(owner()))
        set_deadline(*at);
  }
  result<Reply> await_resume() { return std::move(*outcome_); }

private:
  template <class R, class... Args>
  friend request_operation<R> request_until(self me, deadline until, const caf::actor& to, Args... args);

  template <class... Args>
  request_operation(detail::host& host, deadline until, const caf::actor& to, Args&&... args) : endpoint{host},
                                                                                                until_{until} {
    // The handlers outlive this operation: they know it by its address alone.
    auto* actor = static_cast<caf::event_based_actor*>(host.native());
    const auto back = here();
    actor->request(to, caf::infinite, std::forward<Args>(args)...)
      .then(
        [&host, back](Reply& answer) {
          if (auto* waiting = host.find(back))
            static_cast<request_operation*>(waiting)->settle(std::move(answer));
          else
            host.drop_late();
          host.finish_foreign_message();
        },
        [&host, back](caf::error& why) {
          if (auto* waiting = host.find(back))
            static_cast<request_operation*>(waiting)->settle(translate(why));
          else
            host.drop_late();
          host.finish_foreign_message();
        });
  }

  static error translate(const caf::error& why) {
    if (why == caf::sec::request_receiver_down)
      return error{errc::actor_stopped, "the actor that was asked has ended"};
    if (why.category() == caf::atom("weir"))
      return error{static_cast<errc>(why.code()), describe(why)};
    return error{errc::invalid_argument, "the actor that was asked answered with an error", {{"error", describe(why)}}};
  }

  void settle(result<Reply> outcome) {
    if (outcome_)
      return;
    outcome_.emplace(std::move(outcome));
    resume_soon();
  }
  void on_control(detail::control&) override {}
  void on_stop() noexcept override { settle(error{errc::cancelled, "the coroutine was asked to stop; the answer is dropped"}); }
  void on_deadline() noexcept override { settle(error{errc::timed_out, "no answer came before the deadline"}); }

  deadline until_;
  std::optional<result<Reply>> outcome_;
};

/// Asks a CAF actor; the question is sent at once.
///
///     auto asking = weir::request_until<int>(me, 2s, adder, 1, 2);
///     auto sum = co_await asking;
template <class Reply, class... Args>
request_operation<Reply> request_until(self me, deadline until, const caf::actor& to, Args... args) {
  return request_operation<Reply>{me.host(), until, to, std::move(args)...};
}

namespace detail {

/// Who sent a message, for answering later. Holds the sender, never the receiver: a question that waits keeps nobody alive.
struct foreign_sender {
  caf::strong_actor_ptr actor;
  caf::message_id id;

  void answer(caf::message content) const;
};

class foreign_inbox {
public:
  enum class outcome { taken, full, other_type };
  virtual outcome offer(caf::message_view& message, const foreign_sender& sender) = 0;

protected:
  ~foreign_inbox() = default;
};

} // namespace detail

/// A message from a CAF actor. If it was a request, answer() answers it; dropping it unanswered answers broken_promise, or
/// actor_stopped where the receiving actor ends. Stays inside of that actor.
template <class T>
class incoming {
public:
  incoming(incoming&& other) noexcept
    : host_{other.host_},
      value_{std::move(other.value_)},
      sender_{std::exchange(other.sender_, {})} {}
  incoming& operator=(incoming&& other) noexcept {
    std::swap(host_, other.host_);
    std::swap(value_, other.value_);
    std::swap(sender_, other.sender_);
    return *this;
  }
  ~incoming() {
    if (!sender_.actor || !sender_.id.is_request())
      return;
    const bool ends = host_->is_ending();
    const auto reason = ends ? errc::actor_stopped : errc::broken_promise;
    const auto* text = ends ? "the actor that was asked has ended" : "the question was dropped without an answer";
    sender_.answer(caf::make_message(
      caf::error{static_cast<std::uint8_t>(reason), caf::atom("weir"), caf::make_message(std::string{text})}));
  }

  const T& value() const noexcept { return value_; }
  bool is_request() const noexcept { return sender_.id.is_request(); }

  template <class... Answer>
  void answer(Answer... values) {
    if (sender_.actor && sender_.id.is_request())
      sender_.answer(caf::make_message(std::move(values)...));
    sender_ = {};
  }

private:
  template <class>
  friend class inbox;
  incoming(detail::host& host, T value, detail::foreign_sender sender)
    : host_{&host},
      value_{std::move(value)},
      sender_{std::move(sender)} {}

  detail::host* host_;
  T value_;
  detail::foreign_sender sender_;
};

template <class T>
class inbox;

/// Awaits the next message of an inbox. Cancellation point; a receive that timed out took nothing.
template <class T>
class [[nodiscard]] inbox_operation : public detail::waiter {
public:
  ~inbox_operation() { std::erase(from_->receivers_, this); }
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> frame) {
    auto& root = *frame.promise().root;
    suspend(frame, root);
    if (outcome_)
      return;
    from_->receivers_.push_back(this);
    from_->serve();
    if (!outcome_)
      if (const auto at = until_.resolve(root.owner()))
        set_deadline(*at);
  }
  result<incoming<T>> await_resume() { return std::move(*outcome_); }

private:
  friend class inbox<T>;
  inbox_operation(inbox<T>& from, deadline until) noexcept : from_{&from}, until_{until} {}
  void settle(result<incoming<T>> outcome) {
    std::erase(from_->receivers_, this);
    outcome_.emplace(std::move(outcome));
    resume_soon();
  }
  void on_stop() noexcept override {
    if (!outcome_)
      settle(error{errc::cancelled, "the coroutine was asked to stop before a message came"});
  }
  void on_deadline() noexcept override {
    if (!outcome_)
      settle(error{errc::timed_out, "no message came before the deadline"});
  }

  inbox<T>* from_;
  deadline until_;
  std::optional<result<incoming<T>>> outcome_;
};

/// Receives messages of one type that CAF actors send to this actor. Senders have no credit, so it is bounded: beyond `bound`
/// waiting messages a request is answered with inbox_full, and a plain message is dropped and counted. One coroutine that loops
/// over receive() handles one message at a time; n of them handle n.
template <class T>
class inbox final : private detail::foreign_inbox {
public:
  inbox(self me, std::size_t bound) : host_{&me.host()}, bound_{bound} { host_->add(*this); }
  ~inbox() { host_->remove(*this); }
  inbox(const inbox&) = delete;
  inbox& operator=(const inbox&) = delete;

  inbox_operation<T> receive(deadline until = deadline::never()) { return inbox_operation<T>{*this, until}; }
  std::uint64_t refused() const noexcept { return refused_; }

private:
  friend class inbox_operation<T>;

  outcome offer(caf::message_view& message, const detail::foreign_sender& sender) override {
    if (!message.content().template match_elements<T>())
      return outcome::other_type;
    if (waiting_.size() >= bound_) {
      ++refused_;
      return outcome::full;
    }
    waiting_.push_back(incoming<T>{*host_, message.content().template get_as<T>(0), sender});
    serve();
    return outcome::taken;
  }

  void serve() {
    while (!waiting_.empty() && !receivers_.empty()) {
      auto* first = receivers_.front();
      auto next = std::move(waiting_.front());
      waiting_.pop_front();
      first->settle(std::move(next));
    }
  }

  detail::host* host_;
  std::size_t bound_;
  std::uint64_t refused_ = 0;
  std::deque<incoming<T>> waiting_;
  std::deque<inbox_operation<T>*> receivers_;
};

} // namespace weir
