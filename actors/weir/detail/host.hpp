#pragma once

#include <weir/actor_ref.hpp>
#include <weir/detail/protocol.hpp>
#include <weir/detail/runnable.hpp>
#include <weir/error.hpp>
#include <weir/timer_wheel.hpp>

#include <chrono>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::detail {

class foreign_inbox;
class host;
class root_frame;
class waiter;

using clock = std::chrono::steady_clock;

/// What every coroutine of ours has in its promise: who hosts it, and who goes on when it is done.
class promise_base {
public:
  root_frame* root = nullptr;
  runnable continuation;                    ///< the awaiting coroutine; its handle is empty in a root
  bool is_detached = false;                 ///< the awaiting coroutine is suspended and must be put into the run queue
  promise_base* caller = nullptr;           ///< the awaiting coroutine's
  std::coroutine_handle<>* owner = nullptr; ///< where the awaiting coroutine keeps this one
  std::exception_ptr failure;

  void unhandled_exception() noexcept { failure = std::current_exception(); }
};

/// One suspended await. Lives in the awaiting frame, or in the operation that the frame holds, and leaves every queue and the
/// wheel when it is destroyed.
class waiter : public runnable {
public:
  waiter(const waiter&) = delete;
  waiter& operator=(const waiter&) = delete;

  /// The coroutine was asked to stop: complete as cancelled, or do nothing where this await is no cancellation point.
  virtual void on_stop() noexcept = 0;

  /// The deadline has passed before completion.
  virtual void on_deadline() noexcept {}

protected:
  waiter() noexcept { timer_.owner = this; }
  ~waiter();

  /// Called as the await suspends, with everything else done: from here on the coroutine may be resumed.
  void suspend(std::coroutine_handle<> frame, root_frame& root) noexcept;

  /// Puts the coroutine into its host's run queue.
  void resume_soon() noexcept;

  void set_deadline(clock::time_point at) noexcept;

  bool is_suspended() const noexcept { return root_ != nullptr; }
  root_frame* root() const noexcept { return root_; }

private:
  friend class host;
  struct deadline_entry : timer_entry {
    waiter* owner = nullptr;
  };

  root_frame* root_ = nullptr;
  deadline_entry timer_;
};

/// Waits for a root frame to end.
class join_waiter;

/// A shielded coroutine is not stopped together with its actor: whoever spawned it stops it.
enum class stops_with_actor : bool { no, yes };

/// The top of one coroutine chain: owned by its host, destroyed with it.
class root_frame {
public:
  root_frame(host& owner, std::uint64_t id, stops_with_actor stops, bool stop_requested) noexcept
    : owner_{owner},
      id_{id},
      stop_requested_{stop_requested},
      shielded_{stops == stops_with_actor::no} {}
  ~root_frame();
  root_frame(const root_frame&) = delete;
  root_frame& operator=(const root_frame&) = delete;

  host& owner() const noexcept { return owner_; }
  std::uint64_t id() const noexcept { return id_; }
  bool stop_requested() const noexcept { return stop_requested_; }

  /// Takes the frame over; it runs with the host's next turn.
  void adopt(std::coroutine_handle<> frame, promise_base& promise) noexcept;

  /// Called as one coroutine of the chain awaits another, and as that one ends.
  void on_called(promise_base& called) noexcept { innermost_ = &called; }
  void on_returned(const promise_base& called) noexcept { innermost_ = called.caller; }

  /// Called by the chain's last final_suspend.
  void on_finished() noexcept;

  void request_stop() noexcept;

private:
  friend class waiter;
  friend class host;
  friend class join_waiter;

  host& owner_;
  std::uint64_t id_;
  bool stop_requested_;
  bool shielded_;
  bool finished_ = false;
  waiter* waiting_ = nullptr;
  runnable start_;
  std::coroutine_handle<> frame_;
  promise_base* promise_ = nullptr;
  promise_base* innermost_ = nullptr; // of the chain's coroutines that have not ended
  std::vector<join_waiter*> joining_;
};

/// Something in a host that messages are addressed to: one end of a lane, a pending question. Registers with its host, and is
/// unknown there from its destructor on: what comes later for it is dropped and counted.
class endpoint {
public:
  endpoint(const endpoint&) = delete;
  endpoint& operator=(const endpoint&) = delete;

  virtual void on_control(control& message) = 0;
  virtual void on_data(parcel& items);

  /// Sends what was gathered in this turn; called once after it when asked for by flush_later().
  virtual void flush() {}

  host& owner() const noexcept { return *owner_; }
  endpoint_address here() const noexcept { return address_; }

protected:
  explicit endpoint(host& owner);
  virtual ~endpoint();

  void flush_later() noexcept;

private:
  friend class host;
  host* owner_;
  endpoint_address address_;
  bool flush_wanted_ = false;
};

/// Runs coroutines inside one actor: its run queue, its frames, its endpoints, its timers. Everything happens on the actor's
/// turn, so nothing here is locked. Knows no CAF: what it needs of the actor is a handful of functions.
class host {
public:
  host() = default;
  virtual ~host();
  host(const host&) = delete;
  host& operator=(const host&) = delete;

  // Frames ---------------------------------------------------------------------------------------------------------------

  root_frame& make_root(stops_with_actor stops = stops_with_actor::yes);
  root_frame* find_root(std::uint64_t id) noexcept;
  void schedule(runnable& ready) noexcept { ready_.push_back(ready); }

  /// Pays for one await that completed at once. False when the coroutine has had its share of this turn and must suspend.
  bool spend(int cost = 1) noexcept { return (spent_ += cost) < awaits_per_turn && !ending_; }

  /// How deep calls of coroutines are nested on the machine's stack; beyond max_depth a call goes through the run queue.
  int depth = 0;
  static constexpr int max_depth = 64;

  // Ending ---------------------------------------------------------------------------------------------------------------

  /// Asks every coroutine to stop, and those that begin later: pending awaits complete as cancelled.
  void request_stop() noexcept;

  /// Ends the host at the end of this turn: frames are destroyed, newest first, without being resumed.
  void end(std::optional<error> why = std::nullopt) noexcept;
  bool is_ending() const noexcept { return ending_; }

  // Messages ---------------------------------------------------------------------------------------------------------------

  endpoint_address add(endpoint& one);
  void remove(endpoint& one) noexcept;
  void flush_later(endpoint& one);
  endpoint* find(endpoint_address to) noexcept {
    return to.slot < slots_.size() && slots_[to.slot].generation == to.generation ? slots_[to.slot].held : nullptr;
  }
  void deliver(control_message& message);
  void deliver(data_message& message);

  /// What several endpoints of this actor share, known by what it stands for; null where none of them holds one.
  std::shared_ptr<void> find_shared(const void* key) const noexcept;
  void share(const void* key, const std::shared_ptr<void>& one);

  virtual actor_ref ref() noexcept = 0;
  /// Control messages are urgent; `in_order` sends one behind the data messages sent before it.
  virtual void post(const actor_ref& to, control_message message) = 0;
  virtual void post_in_order(const actor_ref& to, control_message message) = 0;
  virtual void post(const actor_ref& to, data_message message) = 0;
  virtual void post(const actor_ref& to, watermark_message message) = 0;

  /// Messages of the application's own, for <weir/caf.hpp>.
  void add(foreign_inbox& one) { inboxes_.push_back(&one); }
  void remove(foreign_inbox& one) noexcept { std::erase(inboxes_, &one); }
  const std::vector<foreign_inbox*>& inboxes() const noexcept { return inboxes_; }

  /// The CAF actor that this is, and what it does after a message that it handles for <weir/caf.hpp>.
  virtual void* native() noexcept = 0;
  virtual void finish_foreign_message() = 0;

  // Time -------------------------------------------------------------------------------------------------------------------

  virtual clock::time_point now() noexcept = 0;
  void schedule(waiter& one, clock::time_point at) noexcept;
  void on_timer();

  // The turn ---------------------------------------------------------------------------------------------------------------

  /// Called by the actor after every message: resumes what is ready; flushes when no message waits; ends if asked to.
  void finish_message(bool mailbox_is_empty);
  void on_turn() noexcept { turn_requested_ = false; }

  /// Counts an answer that found nobody who waits for it.
  void drop_late() noexcept { ++late_messages_; }
  std::uint64_t late_messages() const noexcept { return late_messages_; }
  const std::string& name() const noexcept { return name_; }
  std::string unique_name() const { return name_ + "#" + std::to_string(id_); }

protected:
  std::string name_ = "weir.host";
  std::uint64_t id_ = 0; // unique in the actor system

  /// Have finish_message() called again soon, with urgent messages let in before.
  virtual void request_turn() = 0;
  /// Have on_timer() called at that time, or earlier.
  virtual void arm(clock::time_point at) = 0;
  /// The actor ends: called once, frames are gone.
  virtual void ended(std::optional<error> why) = 0;

  /// Destroys every frame, newest first. Idempotent.
  void destroy_frames() noexcept;

private:
  friend class root_frame;
  friend class waiter;
  static constexpr int awaits_per_turn = 512;

  struct slot {
    endpoint* held = nullptr;
    std::uint32_t generation = 0;
  };

  void run_ready();
  void flush_all();
  timer_wheel& wheel();
  std::uint64_t tick_of(clock::time_point at) const noexcept;
  void rearm() noexcept;

  run_queue ready_;
  std::list<root_frame> roots_;
  std::vector<root_frame*> finished_;
  std::uint64_t next_root_ = 1;
  int spent_ = 0;
  bool stop_requested_ = false;
  bool ending_ = false;
  bool has_ended_ = false;
  bool turn_requested_ = false;
  std::optional<error> why_;
  std::vector<foreign_inbox*> inboxes_;
  std::vector<slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::vector<endpoint_address> to_flush_;
  std::vector<std::pair<const void*, std::weak_ptr<void>>> shared_;
  std::uint64_t late_messages_ = 0;
  std::unique_ptr<timer_wheel> wheel_;
  clock::time_point wheel_start_;
  std::vector<clock::time_point> armed_; // calls of on_timer() under way, the earliest last
};

inline void endpoint::flush_later() noexcept {
  if (!std::exchange(flush_wanted_, true))
    owner_->flush_later(*this);
}

class join_waiter : public waiter {
public:
  explicit join_waiter(root_frame* joined) noexcept : joined_{joined} {}
  ~join_waiter();
  void on_stop() noexcept override;
  void on_joined() noexcept;

protected:
  void wait(std::coroutine_handle<> frame, root_frame& root);
  root_frame* joined_;
  bool cancelled_ = false;
};

} // namespace weir::detail
