#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace weir {

/// A first-in first-out queue in one block of memory that doubles when it is full and is kept when it empties: the steady state
/// allocates nothing. Elements stay where they are until the queue grows. Not thread-safe.
template <class T>
class ring {
public:
  ring() noexcept = default;
  ring(ring&& other) noexcept
    : slots_{std::exchange(other.slots_, nullptr)},
      capacity_{std::exchange(other.capacity_, 0)},
      first_{std::exchange(other.first_, 0)},
      size_{std::exchange(other.size_, 0)} {}
  ring& operator=(ring&& other) noexcept {
    if (this != &other) {
      release();
      slots_ = std::exchange(other.slots_, nullptr);
      capacity_ = std::exchange(other.capacity_, 0);
      first_ = std::exchange(other.first_, 0);
      size_ = std::exchange(other.size_, 0);
    }
    return *this;
  }
  ~ring() { release(); }

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }

  /// The element `index` places behind the front.
  T& operator[](std::size_t index) noexcept {
    assert(index < size_);
    return slots_[(first_ + index) & (capacity_ - 1)];
  }
  const T& operator[](std::size_t index) const noexcept { return const_cast<ring&>(*this)[index]; }

  T& front() noexcept { return (*this)[0]; }
  T& back() noexcept { return (*this)[size_ - 1]; }

  /// The elements from there on that lie side by side: all, or up to where the memory begins again.
  std::span<T> contiguous(std::size_t index) noexcept {
    if (index >= size_)
      return {};
    const auto from = (first_ + index) & (capacity_ - 1);
    return {slots_ + from, std::min(size_ - index, capacity_ - from)};
  }

  /// Makes room for so many elements in all.
  void reserve(std::size_t wanted) {
    if (wanted > capacity_)
      grow(std::bit_ceil(std::max<std::size_t>(wanted, 8)));
  }

  /// The arguments may refer to elements of the ring itself.
  template <class... Args>
  T& emplace_back(Args&&... args) {
    if (size_ == capacity_)
      return grow_and_emplace(std::forward<Args>(args)...);
    T* made = std::construct_at(slots_ + ((first_ + size_) & (capacity_ - 1)), std::forward<Args>(args)...);
    ++size_;
    return *made;
  }

  void pop_front() noexcept {
    std::destroy_at(&front());
    first_ = (first_ + 1) & (capacity_ - 1);
    --size_;
  }

  /// Takes out so many, and calls `visit(element)` for each before it is destroyed.
  template <class F>
  void pop_front(std::size_t count, F&& visit) {
    assert(count <= size_);
    while (count > 0) {
      const auto side_by_side = contiguous(0);
      const auto gone = side_by_side.first(std::min(count, side_by_side.size()));
      for (auto& one : gone) {
        visit(one);
        std::destroy_at(&one);
      }
      first_ = (first_ + gone.size()) & (capacity_ - 1);
      size_ -= gone.size();
      count -= gone.size();
    }
  }

  void clear() noexcept {
    while (!empty())
      pop_front();
  }

private:
  // Apart, so that the usual case is short enough to be inlined.
  template <class... Args>
  [[gnu::noinline]] T& grow_and_emplace(Args&&... args) {
    T added(std::forward<Args>(args)...); // first: it may be made from an element that moves
    reserve(size_ + 1);
    return emplace_back(std::move(added));
  }

  void grow(std::size_t wider) {
    static_assert(std::is_nothrow_move_constructible_v<T>, "elements move when the ring grows");
    T* moved = std::allocator<T>{}.allocate(wider);
    for (std::size_t index = 0; index < size_; ++index)
      std::construct_at(moved + index, std::move((*this)[index]));
    const auto kept = size_;
    release();
    slots_ = moved;
    capacity_ = wider;
    size_ = kept;
  }

  void release() noexcept {
    clear();
    if (slots_ != nullptr)
      std::allocator<T>{}.deallocate(slots_, capacity_);
    slots_ = nullptr;
    capacity_ = first_ = 0;
  }

  T* slots_ = nullptr;
  std::size_t capacity_ = 0; // zero or a power of two
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

} // namespace weir
