#pragma once

#include <utility>

namespace weir {

/// A handle to an actor of Weir's, on any thread. It keeps the actor's memory, not its life: an actor that has ended ignores
/// what is sent to it. Shows nothing of CAF; <weir/caf.hpp> converts.
class actor_ref {
public:
  actor_ref() noexcept = default;
  actor_ref(const actor_ref& other) noexcept;
  actor_ref(actor_ref&& other) noexcept : control_block_{std::exchange(other.control_block_, nullptr)} {}
  actor_ref& operator=(actor_ref other) noexcept {
    std::swap(control_block_, other.control_block_);
    return *this;
  }
  ~actor_ref();

  explicit operator bool() const noexcept { return control_block_ != nullptr; }
  friend bool operator==(const actor_ref&, const actor_ref&) noexcept = default;

private:
  friend struct actor_ref_access;
  void* control_block_ = nullptr; // a counted caf::actor_control_block
};

} // namespace weir
