#pragma once

#include <weir/batch.hpp>

#include <atomic>
#include <cstddef>
#include <utility>

namespace weir {

/// A lane's item in one place in memory: whoever carries it holds a reference, and nobody copies it. Immutable; references may
/// be taken and let go on any thread.
class shared_item {
public:
  shared_item() noexcept = default;

  explicit shared_item(lane_item item) : node_{new node{std::move(item)}} {}

  shared_item(const shared_item& other) noexcept : node_{other.node_} {
    if (node_ != nullptr)
      node_->references.fetch_add(1, std::memory_order_relaxed);
  }
  shared_item(shared_item&& other) noexcept : node_{std::exchange(other.node_, nullptr)} {}
  shared_item& operator=(shared_item other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~shared_item() { reset(); }

  void reset() noexcept {
    auto* held = std::exchange(node_, nullptr);
    if (held == nullptr)
      return;
    // The last holder needs no atomic write: nobody else can take a reference from it.
    if (held->references.load(std::memory_order_acquire) == 1 || held->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete held;
  }

  explicit operator bool() const noexcept { return node_ != nullptr; }
  const lane_item& operator*() const noexcept { return node_->item; }
  const lane_item* operator->() const noexcept { return &node_->item; }

  /// As size_in_bytes(item), computed once.
  std::size_t bytes() const noexcept { return node_->bytes; }

  /// As position_of(item), found once.
  const position* at() const noexcept { return node_->at; }

  /// Gives the item back to whoever offered it, if this is the only reference; a copy otherwise. Empty afterwards.
  lane_item take() {
    auto taken =
      node_->references.load(std::memory_order_acquire) == 1 ? lane_item{std::move(node_->item)} : lane_item{node_->item};
    reset();
    return taken;
  }

private:
  struct node {
    explicit node(lane_item carried) : item{std::move(carried)}, bytes{size_in_bytes(item)}, at{position_of(item)} {}
    lane_item item;
    std::size_t bytes;
    const position* at;
    std::atomic<std::uint32_t> references{1};
  };

  node* node_ = nullptr;
};

} // namespace weir
