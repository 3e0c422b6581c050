#pragma once

#include <weir/actor_ref.hpp>
#include <weir/detail/host.hpp>
#include <weir/detail/protocol.hpp>

#include <caf/actor_system.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/behavior.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/exit_reason.hpp>
#include <caf/send.hpp>

#include <chrono>
#include <memory>

/// The one place where Weir's actors meet CAF's: messages as CAF sees them, posting, and what all our actors share.
namespace weir::detail {

/// Lets a host go on after its coroutines have had their share of a turn.
struct turn_message {};

/// A call of on_timer() that was asked for.
struct timer_message {};

} // namespace weir::detail

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(weir::detail::control_message)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(weir::detail::data_message)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(weir::detail::watermark_message)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(weir::detail::turn_message)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(weir::detail::timer_message)

namespace weir {

/// Lets the runtime see through an actor_ref.
struct actor_ref_access {
  static actor_ref make(const caf::strong_actor_ptr& actor) noexcept;
  static caf::actor_control_block* get(const actor_ref& ref) noexcept;
};

} // namespace weir

namespace weir::detail {

/// Sends from any thread; `context` is the sending actor's execution unit, null elsewhere.
template <class Message>
void enqueue(const actor_ref& to, caf::message_id id, Message&& message, caf::execution_unit* context) {
  auto* block = actor_ref_access::get(to);
  if (block == nullptr)
    return;
  block->get()->enqueue(caf::make_mailbox_element(nullptr, id, caf::no_stages, std::forward<Message>(message)), context);
}

inline void post(const actor_ref& to, control_message message, caf::execution_unit* context = nullptr) {
  enqueue(to, caf::make_message_id(caf::message_priority::high), std::move(message), context);
}
inline void post_in_order(const actor_ref& to, control_message message, caf::execution_unit* context = nullptr) {
  enqueue(to, caf::make_message_id(caf::message_priority::normal), std::move(message), context);
}
inline void post(const actor_ref& to, data_message message, caf::execution_unit* context = nullptr) {
  enqueue(to, caf::make_message_id(caf::message_priority::normal), std::move(message), context);
}
inline void post(const actor_ref& to, watermark_message message, caf::execution_unit* context = nullptr) {
  enqueue(to, caf::make_message_id(caf::message_priority::high), std::move(message), context);
}

/// What monitors of a failed actor see: category "weir", the code of weir::errc, and the error's text as context.
inline caf::error caf_error(const error& why) {
  return caf::error{static_cast<std::uint8_t>(why.code()), caf::atom("weir"), caf::make_message(why.to_string())};
}

/// A CAF actor whose mailbox is counted: how many data messages it holds, how many it ever held.
class metered_actor : public caf::event_based_actor {
public:
  explicit metered_actor(caf::actor_config& config)
    : caf::event_based_actor(config),
      mailbox_meter_{std::make_shared<meter>()} {}

  using caf::event_based_actor::enqueue;
  void enqueue(caf::mailbox_element_ptr what, caf::execution_unit* context) override {
    if (what->content().match_elements<data_message>())
      what->content().get_mutable_as<data_message>(0).items->count_in(mailbox_meter_);
    caf::event_based_actor::enqueue(std::move(what), context);
  }

  const std::shared_ptr<meter>& mailbox_meter() const noexcept { return mailbox_meter_; }

protected:
  /// Whether no other message waits behind the one that is handled. Only on the actor's turn.
  bool is_last_message() noexcept { return mailbox().empty(); }

  actor_ref own_ref() noexcept { return actor_ref_access::make(caf::strong_actor_ptr{ctrl()}); }

private:
  std::shared_ptr<meter> mailbox_meter_;
};

} // namespace weir::detail
