#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace core_tests {

/// A state of a model as bytes, built in place.
class state_bytes {
public:
  void add(std::uint64_t number) { bytes_[size_++] = static_cast<char>(number); }
  void add(std::string_view text) {
    std::copy(text.begin(), text.end(), bytes_ + size_);
    size_ += text.size();
  }
  std::string_view view() const noexcept { return {bytes_, size_}; }

private:
  char bytes_[512];
  std::size_t size_ = 0;
};

/// Numbers the distinct byte strings that it is shown, from 0 on. All of them lie in one block of memory: a search keeps
/// hundreds of thousands.
class state_table {
public:
  state_table() : slots_(1024, empty) {}

  /// The string's number, and whether it was new.
  std::pair<std::uint32_t, bool> number_of(std::string_view bytes) {
    if (2 * places_.size() >= slots_.size())
      grow();
    auto slot = std::hash<std::string_view>{}(bytes) & (slots_.size() - 1);
    for (; slots_[slot] != empty; slot = (slot + 1) & (slots_.size() - 1))
      if (at(slots_[slot]) == bytes)
        return {slots_[slot], false};
    const auto number = static_cast<std::uint32_t>(places_.size());
    slots_[slot] = number;
    places_.emplace_back(text_.size(), bytes.size());
    text_.insert(text_.end(), bytes.begin(), bytes.end());
    return {number, true};
  }

  std::size_t size() const noexcept { return places_.size(); }

private:
  static constexpr std::uint32_t empty = ~std::uint32_t{0};

  std::string_view at(std::uint32_t number) const {
    const auto [offset, size] = places_[number];
    return {text_.data() + offset, size};
  }

  void grow() {
    std::vector<std::uint32_t> wider(slots_.size() * 2, empty);
    for (std::uint32_t number = 0; number < places_.size(); ++number) {
      auto slot = std::hash<std::string_view>{}(at(number)) & (wider.size() - 1);
      while (wider[slot] != empty)
        slot = (slot + 1) & (wider.size() - 1);
      wider[slot] = number;
    }
    slots_ = std::move(wider);
  }

  std::vector<std::uint32_t> slots_; // open addressing; at most half full
  std::vector<std::pair<std::size_t, std::size_t>> places_;
  std::vector<char> text_;
};

} // namespace core_tests
