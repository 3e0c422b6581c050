#pragma once

#include <weir/batch.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace weir {

/// A lane's item in one place in memory: whoever carries it holds a reference, and nobody copies it. Immutable; references may
/// be taken and let go on any thread.
class shared_item {
public:
  shared_item() noexcept = default;

  explicit shared_item(lane_item&& item) : node_{new node{std::move(item), nullptr}} {}
  explicit shared_item(const lane_item& item) : shared_item{lane_item{item}} {}

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
    if (auto* held = std::exchange(node_, nullptr); held != nullptr && is_last(held->references))
      end(held);
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
  friend class shared_item_maker;
  struct block;

  struct alignas(64) node { // what everybody looks at is on its first cache line
    template <class Item>
    node(Item&& carried, block* memory) : home{memory},
                                          item{std::forward<Item>(carried)} {
      bytes = size_in_bytes(item);
      at = position_of(item);
    }

    std::atomic<std::uint32_t> references{1};
    block* home; // null: it was allocated alone
    std::size_t bytes = 0;
    const position* at = nullptr;
    lane_item item;
  };

  /// Memory for several nodes, which goes with the last of them.
  struct block {
    static constexpr std::uint32_t capacity = 32;

    node* place(std::uint32_t index) noexcept { return reinterpret_cast<node*>(&memory) + index; }

    std::atomic<std::uint32_t> references; // one for each place that may hold a node, one for the maker
    alignas(node) std::byte memory[capacity * sizeof(node)];
  };

  explicit shared_item(node* made) noexcept : node_{made} {}

  /// The last holder needs no atomic write: nobody else can take a reference from it.
  static bool is_last(std::atomic<std::uint32_t>& references) noexcept {
    return references.load(std::memory_order_acquire) == 1 || references.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

  static void end(node* held) noexcept {
    auto* home = held->home;
    if (home == nullptr) {
      delete held;
      return;
    }
    std::destroy_at(held);
    if (is_last(home->references))
      delete home;
  }

  node* node_ = nullptr;
};

/// Makes shared items for one publisher, many in one piece of memory: it is allocated once for 32 items, and goes with the last
/// of them that is held anywhere. Not thread-safe; what it makes is.
class shared_item_maker {
public:
  shared_item_maker() noexcept = default;
  shared_item_maker(shared_item_maker&& other) noexcept : open_{std::exchange(other.open_, nullptr)}, used_{other.used_} {}
  shared_item_maker& operator=(shared_item_maker&& other) noexcept {
    std::swap(open_, other.open_);
    std::swap(used_, other.used_);
    return *this;
  }
  ~shared_item_maker() { finish(); }

  template <class Item>
  shared_item make(Item&& item) {
    if (open_ == nullptr || used_ == shared_item::block::capacity) {
      finish();
      open_ = new shared_item::block; // its memory stays as it is
      open_->references.store(shared_item::block::capacity + 1, std::memory_order_relaxed);
      used_ = 0;
    }
    auto* made = std::construct_at(open_->place(used_), std::forward<Item>(item), open_);
    ++used_;
    return shared_item{made};
  }

private:
  void finish() noexcept {
    if (open_ == nullptr)
      return;
    const auto unused = shared_item::block::capacity - used_ + 1;
    if (open_->references.fetch_sub(unused, std::memory_order_acq_rel) == unused)
      delete open_;
    open_ = nullptr;
  }

  shared_item::block* open_ = nullptr;
  std::uint32_t used_ = 0;
};

} // namespace weir
