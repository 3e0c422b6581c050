#include <weir/caf.hpp>
#include <weir/detail/caf_actor.hpp>
#include <weir/detail/ending.hpp>
#include <weir/spawn.hpp>

namespace weir {

namespace detail {

/// The CAF actor behind a host: hands messages in, carries the host's wishes out.
class host_actor final : public metered_actor, public host {
public:
  host_actor(
    caf::actor_config& config, spawn_options options, std::unique_ptr<starter>* first, std::shared_ptr<ending> when_ended)
    : metered_actor(config),
      first_{std::move(*first)},
      ending_{std::move(when_ended)},
      shielded_{options.shielded} {
    name_ = std::move(options.name);
    id_ = id();
  }

  ~host_actor() override { ending_->set(error{errc::actor_stopped, "the actor ended before it ran"}); }

  const char* name() const override { return name_.c_str(); }

  void on_exit() override {
    destroy_frames();
    ending_->set(error{errc::actor_stopped, "the actor was ended from outside"});
  }

  // host ------------------------------------------------------------------------------------------------------------------

  actor_ref ref() noexcept override { return own_ref(); }
  void post(const actor_ref& to, control_message message) override { detail::post(to, std::move(message), context()); }
  void post_in_order(const actor_ref& to, control_message message) override {
    detail::post_in_order(to, std::move(message), context());
  }
  void post(const actor_ref& to, data_message message) override { detail::post(to, std::move(message), context()); }
  void post(const actor_ref& to, watermark_message message) override { detail::post(to, std::move(message), context()); }
  clock::time_point now() noexcept override { return caf::event_based_actor::clock().now(); }

  void* native() noexcept override { return static_cast<caf::event_based_actor*>(this); }
  void finish_foreign_message() override { finish_message(is_last_message()); }

protected:
  caf::behavior make_behavior() override {
    set_default_handler([this](caf::scheduled_actor*, caf::message_view& message) { return offer_to_inboxes(message); });
    set_exit_handler([this](caf::exit_msg& message) {
      if (message.reason == caf::exit_reason::kill || message.reason == caf::exit_reason::user_shutdown)
        end(error{errc::actor_stopped, "the actor was ended from outside"});
      else
        request_stop();
      finish_message(is_last_message());
    });
    auto& root = make_root(shielded_ ? stops_with_actor::no : stops_with_actor::yes);
    try {
      first_->start(root);
    } catch (const std::exception& thrown) {
      end(error{errc::coroutine_failed, std::string{"the coroutine could not be started: "} + thrown.what()});
    }
    first_.reset();
    request_turn();
    return {
      [this](control_message& message) {
        deliver(message);
        finish_message(is_last_message());
      },
      [this](data_message& message) {
        deliver(message);
        message.items.reset();
        finish_message(is_last_message());
      },
      [this](turn_message) {
        on_turn();
        finish_message(is_last_message());
      },
      [this](timer_message) {
        on_timer();
        finish_message(is_last_message());
      },
    };
  }

  void request_turn() override { send(this, turn_message{}); }

  void arm(clock::time_point at) override {
    caf::event_based_actor::clock().schedule_message(at, caf::strong_actor_ptr{ctrl()},
      caf::make_mailbox_element(nullptr, caf::make_message_id(caf::message_priority::high), caf::no_stages, timer_message{}));
  }

  void ended(std::optional<error> why) override {
    const bool failed = why.has_value();
    if (failed)
      ending_->set(*why);
    else
      ending_->set(success());
    quit(failed ? caf_error(*why) : caf::error{});
  }

private:
  /// A message that is not Weir's: one of the host's inboxes takes it, or its sender is told that nobody does.
  caf::result<caf::message> offer_to_inboxes(caf::message_view& message) {
    const foreign_sender asking{current_sender(), current_message_id()};
    for (auto* one : inboxes()) {
      const auto outcome = one->offer(message, asking);
      if (outcome == foreign_inbox::outcome::other_type)
        continue;
      finish_message(is_last_message());
      if (outcome == foreign_inbox::outcome::full)
        return caf_error(error{errc::inbox_full, "the receiver's inbox is full"});
      return caf::delegated<caf::message>{};
    }
    finish_message(is_last_message()); // what came before may have waited for this one
    return caf::make_error(caf::sec::unexpected_message);
  }

  std::unique_ptr<starter> first_;
  std::shared_ptr<ending> ending_;
  bool shielded_;
};

} // namespace detail

void spawned::request_stop() const {
  detail::post(ref_, detail::control_message{{}, detail::stop_host{}});
}

void spawned::kill() const {
  detail::post(ref_, detail::control_message{{}, detail::kill_host{}});
}

result<void> spawned::wait() const {
  return ending_->wait();
}

std::optional<result<void>> spawned::wait_for(std::chrono::milliseconds timeout) const {
  return ending_->wait_for(timeout);
}

spawned spawn_host(caf::actor_system& system, spawn_options options, std::unique_ptr<detail::starter> first) {
  auto ending = std::make_shared<detail::ending>();
  auto actor = options.detached ? system.spawn<detail::host_actor, caf::detached>(options, &first, ending)
                                : system.spawn<detail::host_actor>(options, &first, ending);
  return spawned{actor_ref_access::make(caf::actor_cast<caf::strong_actor_ptr>(actor)), std::move(ending)};
}

} // namespace weir
