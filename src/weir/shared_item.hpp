#pragma once

#include <weir/batch.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

namespace weir {

/// A lane's item in one place in memory: whoever carries it holds a reference, and nobody copies it. Immutable; references may
/// be taken and let go on any thread, each reference by one thread at a time.
class shared_item {
public:
  shared_item() noexcept = default;

  explicit shared_item(lane_item&& item) : node_{new node{std::move(item), nullptr}} {}
  explicit shared_item(const lane_item& item) : shared_item{lane_item{item}} {}

  shared_item(const shared_item& other) noexcept : node_{other.node_} {
    if (node_ != nullptr)
      add_references(node_->references, 1);
  }
  shared_item(shared_item&& other) noexcept : node_{std::exchange(other.node_, nullptr)} {}
  shared_item& operator=(shared_item other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~shared_item() { reset(); }

  void reset() noexcept {
    if (auto* held = std::exchange(node_, nullptr); held != nullptr && is_last(held->references))
      end_alone(held);
  }

  explicit operator bool() const noexcept { return node_ != nullptr; }
  const lane_item& operator*() const noexcept { return node_->item; }
  const lane_item* operator->() const noexcept { return &node_->item; }

  /// Whether both are references to one item, and not to two that are equal.
  bool is_same_as(const shared_item& other) const noexcept { return node_ == other.node_; }

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
  friend class shared_item_copies;
  friend class shared_item_maker;
  friend class shared_item_releaser;
  struct block;

  struct alignas(64) node { // what everybody looks at is on its first cache line
    template <class Item>
    node(Item&& carried, block* memory) : home{memory},
                                          item{std::forward<Item>(carried)} {
      bytes = size_in_bytes(item);
      at = position_of(item);
    }

    block* home; // null: it was allocated alone
    std::size_t bytes = 0;
    const position* at = nullptr;
    lane_item item;
    std::atomic<std::uint32_t> references{1}; // on a line apart from what everybody reads
  };

  class block_store;

  /// Memory for several nodes, free with the last of them.
  struct block {
    static constexpr std::uint32_t capacity = 32;

    explicit block(block_store& owner) noexcept : store{&owner} {} // the memory stays as it is

    node* place(std::uint32_t index) noexcept { return reinterpret_cast<node*>(&memory) + index; }

    /// Gives up so many of the references.
    void leave(std::uint32_t count) noexcept;

    std::atomic<std::uint32_t> references; // one for each place that may hold a node, one for the maker
    block_store* store;
    block* next = nullptr; // in the store
    alignas(node) std::byte memory[capacity * sizeof(node)];
  };

  /// Keeps a maker's free blocks for its next items, some of them. Lives until the maker and all blocks in use are gone.
  class block_store {
  public:
    block_store() noexcept = default;
    block_store(const block_store&) = delete;
    block_store& operator=(const block_store&) = delete;

    /// Only for the maker, which holds a reference.
    block* take() {
      if (taken_ == nullptr)
        taken_ = free_.exchange(nullptr, std::memory_order_acquire);
      auto* taken = taken_;
      if (taken == nullptr) {
        taken = new block{*this};
      } else {
        taken_ = taken->next;
        kept_.fetch_sub(1, std::memory_order_relaxed);
      }
      users_.fetch_add(1, std::memory_order_relaxed);
      return taken;
    }

    /// On any thread.
    void put(block* unused) noexcept {
      if (kept_.load(std::memory_order_relaxed) < most_kept) {
        kept_.fetch_add(1, std::memory_order_relaxed);
        unused->next = free_.load(std::memory_order_relaxed);
        while (!free_.compare_exchange_weak(unused->next, unused, std::memory_order_release, std::memory_order_relaxed)) {
        }
      } else {
        delete unused;
      }
      leave();
    }

    void leave() noexcept {
      if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1)
        delete this;
    }

  private:
    static constexpr std::uint32_t most_kept = 32; // a lane's usual bound

    ~block_store() {
      for (auto* list : {taken_, free_.load(std::memory_order_relaxed)})
        while (list != nullptr)
          delete std::exchange(list, list->next);
    }

    std::atomic<std::uint32_t> users_{1}; // the maker, and each block that is not in here
    std::atomic<std::uint32_t> kept_{0};
    std::atomic<block*> free_{nullptr};
    block* taken_ = nullptr; // the maker's, out of free_
  };

  explicit shared_item(node* made) noexcept : node_{made} {}

  // Whoever holds the only reference needs no atomic write: nobody else can take or let go of one meanwhile.
  static void add_references(std::atomic<std::uint32_t>& references, std::uint32_t count) noexcept {
    if (references.load(std::memory_order_acquire) == 1)
      references.store(1 + count, std::memory_order_relaxed);
    else
      references.fetch_add(count, std::memory_order_relaxed);
  }
  static bool is_last(std::atomic<std::uint32_t>& references) noexcept {
    return references.load(std::memory_order_acquire) == 1 || references.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

  /// Ends a node that nobody holds; returns the block whose place is free now, if it lay in one.
  [[gnu::always_inline]] static block* end(node* held) noexcept {
    static_assert(std::is_trivially_destructible_v<position> && std::is_trivially_destructible_v<request_id>);
    auto* home = held->home;
    if (home == nullptr)
      delete held;
    else if (auto* live = std::get_if<batch>(&held->item); live != nullptr && !live->walked)
      live->envelopes.reset(); // nothing else in it holds anything, so that its place may be used again as it is
    else
      std::destroy_at(held);
    return home;
  }
  // Apart, so that letting go of nothing, and of what others hold, is short enough to be inlined everywhere.
  [[gnu::noinline]] static void end_alone(node* held) noexcept {
    if (auto* home = end(held))
      home->leave(1);
  }

  node* node_ = nullptr;
};

inline void shared_item::block::leave(std::uint32_t count) noexcept {
  if (references.load(std::memory_order_acquire) == count || references.fetch_sub(count, std::memory_order_acq_rel) == count)
    store->put(this);
}

/// Many references to one item, counted at once. Those that are not taken are let go.
class shared_item_copies {
public:
  shared_item_copies(const shared_item& of, std::uint32_t count) noexcept : node_{of.node_}, left_{count} {
    shared_item::add_references(node_->references, count);
  }
  shared_item_copies(const shared_item_copies&) = delete;
  shared_item_copies& operator=(const shared_item_copies&) = delete;
  ~shared_item_copies() {
    while (left_ > 0)
      take();
  }

  shared_item take() noexcept {
    --left_;
    return shared_item{node_};
  }

private:
  shared_item::node* node_;
  std::uint32_t left_;
};

/// Lets go of many references in a row: the memory that several items share is counted down once for all of them. Not
/// thread-safe.
class shared_item_releaser {
public:
  shared_item_releaser() noexcept = default;
  shared_item_releaser(const shared_item_releaser&) = delete;
  shared_item_releaser& operator=(const shared_item_releaser&) = delete;
  ~shared_item_releaser() { leave(); }

  void release(shared_item&& one) noexcept {
    auto* held = std::exchange(one.node_, nullptr);
    if (held == nullptr || !shared_item::is_last(held->references))
      return;
    auto* home = shared_item::end(held);
    if (home != home_) {
      leave();
      home_ = home;
    }
    ++count_;
  }

private:
  void leave() noexcept {
    if (home_ != nullptr)
      home_->leave(count_);
    count_ = 0;
  }

  shared_item::block* home_ = nullptr; // counted down when another one's item comes
  std::uint32_t count_ = 0;
};

/// Makes shared items for one publisher, 32 in one piece of memory, which is used again when the last of them is let go. Not
/// thread-safe; what it makes is.
class shared_item_maker {
public:
  shared_item_maker() noexcept = default;
  shared_item_maker(shared_item_maker&& other) noexcept
    : store_{std::exchange(other.store_, nullptr)},
      open_{std::exchange(other.open_, nullptr)},
      used_{other.used_} {}
  shared_item_maker& operator=(shared_item_maker&& other) noexcept {
    std::swap(store_, other.store_);
    std::swap(open_, other.open_);
    std::swap(used_, other.used_);
    return *this;
  }
  ~shared_item_maker() {
    finish();
    if (store_ != nullptr)
      store_->leave();
  }

  template <class Item>
  shared_item make(Item&& item) {
    if (open_ == nullptr || used_ == shared_item::block::capacity)
      begin_block();
    auto* made = std::construct_at(open_->place(used_), std::forward<Item>(item), open_);
    ++used_;
    // The next but one is written soon, and lies in no near cache: it was another thread's.
    for (std::size_t line = 0; line < sizeof(*made); line += 64)
      __builtin_prefetch(reinterpret_cast<const std::byte*>(made + 2) + line, 1);
    return shared_item{made};
  }

private:
  [[gnu::noinline]] void begin_block() {
    finish();
    if (store_ == nullptr)
      store_ = new shared_item::block_store;
    open_ = store_->take();
    open_->references.store(shared_item::block::capacity + 1, std::memory_order_relaxed);
    used_ = 0;
  }

  void finish() noexcept {
    if (open_ != nullptr)
      std::exchange(open_, nullptr)->leave(shared_item::block::capacity - used_ + 1);
  }

  shared_item::block_store* store_ = nullptr;
  shared_item::block* open_ = nullptr;
  std::uint32_t used_ = 0;
};

} // namespace weir
