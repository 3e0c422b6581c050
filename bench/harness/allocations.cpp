#include "allocations.hpp"

#include <array>
#include <atomic>
#include <cstdlib>
#include <new>

namespace weir_bench {

namespace {

// What operator new counts has to be global. A thread writes its own slot only; the last slot is for those beyond.
struct alignas(64) slot {
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> watched{0};
};

constexpr std::size_t slot_count = 128;
std::array<slot, slot_count> slots;
std::atomic<std::size_t> slots_taken{0};
std::atomic<std::size_t> watched_size{0};
constinit thread_local slot* own_slot = nullptr;

void add(std::atomic<std::uint64_t>& counter) noexcept {
  if (own_slot != &slots.back())
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); // no other thread writes it
  else
    counter.fetch_add(1, std::memory_order_relaxed);
}

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (own_slot == nullptr) {
    const auto index = slots_taken.fetch_add(1, std::memory_order_relaxed);
    own_slot = &slots[index < slot_count ? index : slot_count - 1];
  }
  add(own_slot->calls);
  if (bytes == watched_size.load(std::memory_order_relaxed))
    add(own_slot->watched);
  void* const memory = alignment <= alignof(std::max_align_t)
                         ? std::malloc(bytes != 0 ? bytes : 1)
                         : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr)
    throw std::bad_alloc{};
  return memory;
}

} // namespace

allocation_count allocations() noexcept {
  allocation_count sum;
  for (const auto& one : slots) {
    sum.calls += one.calls.load(std::memory_order_relaxed);
    sum.watched += one.watched.load(std::memory_order_relaxed);
  }
  return sum;
}

void watch_allocations_of(std::size_t bytes) noexcept {
  watched_size.store(bytes, std::memory_order_relaxed);
}

} // namespace weir_bench

void* operator new(std::size_t bytes) {
  return weir_bench::allocate(bytes, alignof(std::max_align_t));
}
void* operator new[](std::size_t bytes) {
  return weir_bench::allocate(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return weir_bench::allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return weir_bench::allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
